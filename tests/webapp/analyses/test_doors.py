"""An analysis of ten lines stands at every door: job page, own page, API, OpenAPI, command, report and menu."""

import json
from collections.abc import Iterator
from io import StringIO
from types import ModuleType

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import clear_url_caches, include, path, reverse
from django.utils import timezone
from drf_spectacular.generators import SchemaGenerator

from ingest.messages import message
from tests.webapp.builders import cluster, job
from webapp.analyses import api, registry, views
from webapp.analyses.document import Asked, Column, Document, Drawn, Fact, Facts, Table, Verdict
from webapp.fleet.models import JobCurrent
from webapp.reports.gathering import analysis_tables
from webapp.site import urls as site_urls

pytestmark = pytest.mark.django_db
SENTENCE = message("Ten lines are enough.")


@pytest.fixture
def ten_lines(settings, monkeypatch) -> Iterator[None]:
    """Declared as a module of ``webapp.analyses.job`` would declare it, and addresses made again."""
    monkeypatch.setattr(registry, "_DECLARED", dict(registry.all_analyses()))

    @registry.analysis("ten-lines", title=message("Ten lines"), summary=message("a test"), tab="more", in_report=True)
    def ten_lines(job: JobCurrent, asked: Asked) -> Document:
        named = Facts((Fact("name", message("Name"), job.name),))
        columns = (Column("size_bytes", message("Size"), "bytes"),)
        return Document(Verdict("warn", SENTENCE), (named, Table("sizes", message("Sizes"), columns, ((2_000,),))))

    @ten_lines.draws("drawn")
    def drawn(job: JobCurrent, asked: Asked) -> Drawn:
        return Drawn({"data": []})

    addresses = ModuleType("addresses_of_ten_lines")
    own_api = path("api/v1/", include(api.urlpatterns()))
    addresses.urlpatterns = [own_api, *views.urlpatterns(), *site_urls.urlpatterns]  # type: ignore[attr-defined]
    settings.ROOT_URLCONF = addresses
    clear_url_caches()
    yield
    clear_url_caches()


def test_an_analysis_of_ten_lines_stands_at_every_door(ten_lines: None, viewer: Client) -> None:
    now = timezone.now()
    cluster("prod-eu", at=now)
    own = job("prod-eu", at=now, name="orders")
    page = reverse("ten-lines", args=("prod-eu", own.job_id))

    assert SENTENCE in viewer.get(page).content.decode()
    assert f'href="{page}"' in viewer.get(reverse("job", args=("prod-eu", own.job_id))).content.decode()
    chart = reverse("ten-lines-chart-drawn", args=("prod-eu", own.job_id))
    assert viewer.get(chart).json()["figure"] == {"data": []}

    document = viewer.get(reverse("api-job-analysis-ten-lines", args=("prod-eu", own.job_id))).json()
    assert document["verdict"] == {"tone": "warn", "sentence": SENTENCE}
    assert document["blocks"][1]["rows"] == [{"size_bytes": 2_000}]
    listed = viewer.get(reverse("api-job-analyses", args=("prod-eu", own.job_id))).json()
    assert "ten-lines" in {one["name"] for one in listed}
    described = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    assert "/api/v1/jobs/{cluster}/{job_id}/analyses/ten-lines/" in described

    assert json.loads(printed("prod-eu", own.job_id, "ten-lines", "--json")) == document
    assert "2.0 kB" in printed("prod-eu", own.job_id, "ten-lines")
    titles = [table.title for table in analysis_tables.tables(own, now, now, now)]
    assert "Ten lines" in titles


def printed(*arguments: str) -> str:
    out = StringIO()
    call_command("analyse", *arguments, stdout=out)
    return out.getvalue()
