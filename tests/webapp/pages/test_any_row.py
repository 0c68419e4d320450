"""Rows that an older version of Weir stored, whatever stands in them, cost nobody else their
pages.
"""

import re
from datetime import UTC, datetime, timedelta
from html import unescape

import pytest
from django.db.models import BigIntegerField
from django.urls import reverse
from django.utils import timezone

from tests.webapp.alerting import builders as alerts
from tests.webapp.builders import (
    cluster,
    event,
    exception,
    expired,
    fact,
    finding,
    job,
    occurrences,
)
from tests.webapp.storage.builders import audit, job_storage, root, root_figures
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobCurrent
from webapp.job_page.tabs import TABS
from webapp.lib.instants import epoch_ms

pytestmark = pytest.mark.django_db

HOSTILE = [
    "../../etc",
    "..",
    ".",
    "",
    "~",
    "~2F",
    "%2e%2e%2f",
    "a\nb",
    "\\..\\x",
    "?x=#y",
    "<script>alert(1)</script>",
    "/",
    "😀" * 16,
    "x" * 64,
]
LISTS = ("fleet", "findings", "alerts", "storage", "clusters", "pipeline", "reports")
_LINK = re.compile(r'href="(/jobs/[^"]*)"')


def links(page: bytes) -> set[str]:
    return {unescape(link).partition("?")[0] for link in _LINK.findall(page.decode())}


@pytest.mark.parametrize("job_id", HOSTILE)
def test_every_list_shows_the_honest_job_beside_a_hostile_one_and_both_open(viewer, job_id):
    now = timezone.now()
    cluster(at=now)
    honest = job(at=now, name="honest")
    hostile = job(at=now, name="hostile", job_id=job_id, state="FAILED")
    for row in (honest, hostile):
        finding(row, at=now)
    hit = audit(as_of=now, roots=["s3://bucket/checkpoints"])
    root()
    root_figures(hit)
    for row in (honest, hostile):
        job_storage(hit, job_id=row.job_id, job_name=row.name)
    alerts.evaluate(now + timedelta(minutes=20))
    for name in LISTS:
        assert viewer.get(reverse(name)).status_code == 200, name
    page = viewer.get("/")
    assert b">honest<" in page.content
    assert b">hostile<" in page.content
    opened = [viewer.get(link) for link in links(page.content) if link.count("/") <= 4]
    assert {answer.context["job"].name for answer in opened} == {"honest", "hostile"}


@pytest.mark.parametrize("name", [name for name in HOSTILE if name])
def test_a_cluster_of_any_name_is_listed_and_opens(operator, name):
    now = timezone.now()
    cluster(name, at=now)
    row = job(name, at=now, name="hostile")
    for page in ("fleet", "clusters", "findings"):
        assert operator.get(reverse(page)).status_code == 200
    assert (
        operator.get(reverse("cluster-edit", args=(name,))).context["form"].initial["name"] == name
    )
    assert operator.get(reverse("job", args=(name, row.job_id))).context["job"].cluster == name


EDGES = [
    datetime(1, 1, 2, tzinfo=UTC),
    datetime(1969, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, tzinfo=UTC),
]


@pytest.mark.parametrize("at", EDGES, ids=["year 1", "before 1970", "year 9999"])
def test_times_at_the_ends_of_the_calendar_cost_no_page(viewer, at):
    now = timezone.now()
    cluster(at=now)
    row = job(
        at=now, start_time=at, end_time=at, restored_at=at, last_completed_at=at, first_seen_at=at
    )
    ended = job(
        at=now,
        start_time=at,
        end_time=at,
        last_seen_at=at,
        as_of=at,
        judged_at=at,
        terminal=True,
        state="FAILED",
    )
    for of in (row, ended):
        fact(of, 1, at, end_time=at)
        expired(of, 2, at, end_time=at, late_messages=[])
        event(of, "job_state", at)
        exception(of, at)
        occurrences(finding(of, at=at, lasted=timedelta(), first_seen=at))
    for name in LISTS:
        assert viewer.get(reverse(name)).status_code == 200, name
    for of in (row, ended):
        where = (of.cluster, of.job_id)
        for name in ("job-advice", "job-chart-strip"):
            assert viewer.get(reverse(name, args=where)).status_code == 200, name
        for tab in TABS:
            assert viewer.get(reverse("job", args=where), {"tab": tab}).status_code == 200, tab
        assert viewer.get(f"/api/v1/checkpoints/?job_id={of.job_id}").status_code == 200
    for found in CheckpointFact.objects.all():
        assert (
            viewer.get(
                reverse(
                    "checkpoint",
                    args=(found.cluster, found.job_id, found.checkpoint_id, epoch_ms(at)),
                )
            ).status_code
            == 200
        )


@pytest.mark.parametrize("number", [-1, -(2**63), 2**63 - 1])
def test_numbers_at_the_ends_of_64_bits_cost_no_page(viewer, number):
    now = timezone.now()
    cluster(at=now)
    figures = {
        field.name: number for field in JobCurrent._meta.fields if type(field) is BigIntegerField
    }
    assert figures
    row = job(at=now, **figures, end_to_end_p95_ms=1e308, pressured_share=-1e308)
    fact(
        row,
        number,
        now,
        end_to_end_ms=number,
        state_bytes=number,
        subtasks=number,
        acknowledged=number,
        start_delay_ms=number,
    )
    finding(row, at=now)
    for name in LISTS:
        assert viewer.get(reverse(name)).status_code == 200, name
    where = (row.cluster, row.job_id)
    for name in ("job-advice", "job-chart-strip"):
        assert viewer.get(reverse(name, args=where)).status_code == 200, name
    for tab in TABS:
        assert viewer.get(reverse("job", args=where), {"tab": tab}).status_code == 200, tab
