"""An analysis of ten lines stands at every door: page of the job or root, own page, API, OpenAPI,
command, report and menu.
"""

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
from tests.webapp.reports.stories import told
from tests.webapp.storage.builders import ROOT, audit, root_figures
from webapp.analyses import api, declaration, views
from webapp.analyses.document import Column, Document, Drawn, Fact, Facts, Inputs, Table, Verdict
from webapp.analyses.presentation import plain
from webapp.fleet.models import JobCurrent
from webapp.lib.filter_sets import ListFilters
from webapp.lib.query_parameters import Text
from webapp.site import urls as site_urls
from webapp.storage.models import RootFigures

pytestmark = pytest.mark.django_db
SENTENCE = message("Ten lines are enough.")


class OneParameter(ListFilters):
    word = Text(about="any word")


@pytest.fixture
def ten_lines(settings, monkeypatch) -> Iterator[None]:
    """Declared as a module of ``webapp.analyses.job`` would declare it, and addresses made again."""
    monkeypatch.setitem(declaration.DECLARED["job"], "ten-lines", None)  # gone after the test

    @declaration.analysis(
        "ten-lines",
        title=message("Ten lines"),
        summary=message("a test"),
        tab="more",
        in_report=True,
    )
    def ten_lines(job: JobCurrent, inputs: Inputs) -> Document:
        named = Facts((Fact("name", message("Name"), job.name),))
        columns = (Column("size_bytes", message("Size"), "bytes"),)
        return Document(
            Verdict("warn", SENTENCE),
            (named, Table("sizes", message("Sizes"), columns, ((2_000,),))),
        )

    @ten_lines.draws("drawn")
    def drawn(job: JobCurrent, inputs: Inputs) -> Drawn:
        return Drawn({"data": [], "layout": {}})

    monkeypatch.setitem(declaration.DECLARED["root"], "ten-lines", None)

    @declaration.analysis(
        "ten-lines",
        subject="root",
        title=message("Ten lines"),
        summary=message("a test"),
        parameters=OneParameter,
    )
    def of_root(figures: RootFigures, inputs: Inputs) -> Document:
        return Document(
            Verdict("ok", SENTENCE),
            (Facts((Fact("word", message("Name"), inputs.parameters.values.get("word")),)),),
        )

    @of_root.draws("drawn")
    def drawn_of_root(figures: RootFigures, inputs: Inputs) -> Drawn:
        return Drawn({"data": [{"type": "scatter", "name": figures.root}], "layout": {}})

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
    more = viewer.get(reverse("job", args=("prod-eu", own.job_id)), {"tab": "more"})
    assert f'href="{page}"' in more.content.decode()
    chart = reverse("ten-lines-chart-drawn", args=("prod-eu", own.job_id))
    assert viewer.get(chart).json()["figure"]["data"] == []

    document = viewer.get(
        reverse("api-job-analysis-ten-lines", args=("prod-eu", own.job_id))
    ).json()
    assert document["verdict"] == {"tone": "warn", "sentence": SENTENCE}
    assert document["blocks"][1]["rows"] == [{"size_bytes": 2_000}]
    described = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    assert "/api/v1/jobs/{cluster}/{job_id}/analyses/ten-lines/" in described

    assert json.loads(printed("prod-eu", own.job_id, "ten-lines", "--json")) == document
    assert "2.0 kB" in printed("prod-eu", own.job_id, "ten-lines")
    assert [part.key for part in told(own).appendix if part.key.startswith("ten-lines-")]


def test_an_analysis_of_a_root_stands_at_every_door(ten_lines: None, viewer: Client) -> None:
    figures = root_figures(audit())
    page = viewer.get(reverse("storage-ten-lines"), {"uri": ROOT, "word": "snow"}).content.decode()
    assert SENTENCE in page and "snow" in page
    assert f'<input type="hidden" name="uri" value="{ROOT}">' in page
    assert "● " not in page, "its audit is late"
    address = reverse("storage-ten-lines")
    assert (
        f'href="{address}?' in viewer.get(reverse("storage-root"), {"uri": ROOT}).content.decode()
    )
    figure = viewer.get(reverse("storage-ten-lines-chart-drawn"), {"uri": ROOT}).json()["figure"]
    assert figure["data"][0]["name"] == ROOT

    asked = {"root": ROOT, "word": "snow"}
    document = viewer.get(reverse("api-storage-analysis-ten-lines"), asked).json()
    assert document["verdict"] == {"tone": "ok", "sentence": SENTENCE}
    assert document["as_of"] == plain(figures.as_of)
    described = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    of_root = described["/api/v1/storage-analyses/ten-lines/"]["get"]["parameters"]
    assert {(one["name"], one.get("required", False)) for one in of_root} == {
        ("root", True),
        ("word", False),
    }

    assert json.loads(printed(ROOT, "ten-lines", "--json", "--set", "word=snow")) == document
    assert SENTENCE in printed(ROOT, "ten-lines")
    assert "ROOT ten-lines" in printed(ROOT)


def printed(*arguments: str) -> str:
    out = StringIO()
    call_command("analyse", *arguments, stdout=out)
    return out.getvalue()
