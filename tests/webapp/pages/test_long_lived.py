"""Pages of what lasts for months, for years, or for no time at all."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.webapp.alerting.builders import opened, the_alert
from tests.webapp.builders import cluster, fact, finding, job
from webapp.alerting.evaluation import evaluate
from webapp.alerting.models import Alert

pytestmark = pytest.mark.django_db
CUT = "last 90 days"
FIRST_DAY = datetime(1, 1, 1, tzinfo=UTC)
LAST_DAY = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)


@pytest.fixture
def now():
    at = timezone.now()
    cluster(at=at)
    return at


def alert(start, end=None) -> Alert:
    """What alerts from ``start`` to ``end``, of a job that is there."""
    opened()
    evaluate(timezone.now())
    found = the_alert()
    job(at=timezone.now(), job_id=found.job_id)
    Alert.objects.update(starts_at=start, ends_at=end)
    found.refresh_from_db()
    return found


def job_link(page: str, of) -> str:
    """Where the page leads to the job at that time."""
    address = reverse("job", args=(of.cluster, of.job_id))
    return address + page.split(f'href="{address}?')[1].split('"')[0].join(("?", "")).replace(
        "&amp;", "&"
    )


@pytest.mark.parametrize("days", [0, 29, 31, 89, 91, 730])
def test_a_finding_has_its_page_however_long_it_lasts(viewer, now, days):
    of = job(at=now)
    found = finding(of, at=now, lasted=timedelta(days=days))
    page = viewer.get(reverse("finding", args=(found.pk,)))
    assert page.status_code == 200
    assert (CUT in page.content.decode()) == (days > 90)
    beside = viewer.get(job_link(page.content.decode(), of))
    assert beside.status_code == 200 and not beside.context["time_range"].note
    assert beside.context["time_range"].from_time <= now <= beside.context["time_range"].to_time


@pytest.mark.parametrize("at", [FIRST_DAY, LAST_DAY])
def test_a_finding_of_the_first_or_last_day_there_is_has_its_page(viewer, now, at):
    found = finding(job(at=now), at=at, lasted=timedelta())
    assert viewer.get(reverse("finding", args=(found.pk,))).status_code == 200


@pytest.mark.parametrize("days", [0, 91, 730])
@pytest.mark.parametrize("is_over", [True, False])
def test_an_alert_has_its_page_however_long_it_lasts(viewer, now, days, is_over):
    start = now - timedelta(days=days)
    found = alert(start, now if is_over else None)
    page = viewer.get(reverse("alert", args=(found.uid,)))
    assert page.status_code == 200
    assert (CUT in page.content.decode()) == (days > 90)
    assert not viewer.get(job_link(page.content.decode(), found)).context["time_range"].note


@pytest.mark.parametrize("at", [FIRST_DAY, LAST_DAY])
def test_an_alert_of_the_first_or_last_day_there_is_has_its_page(viewer, now, at):
    found = alert(at, at)
    assert viewer.get(reverse("alert", args=(found.uid,))).status_code == 200


@pytest.mark.parametrize("at", [FIRST_DAY, LAST_DAY])
def test_a_report_of_an_alert_of_the_first_or_last_day_there_is_is_made_or_refused(
    operator, now, at
):
    found = alert(at, at)
    assert operator.post(f"{reverse('reports-new')}?alert={found.uid}").status_code in (200, 302)


@pytest.mark.parametrize(
    ("start", "days"), [(None, 0), (None, 1_100), (FIRST_DAY, 0), (LAST_DAY, 0)]
)
@pytest.mark.parametrize("name", ["job", "job-chart-strip"])
def test_a_job_that_ended_has_its_pages_however_long_it_lived(viewer, now, start, days, name):
    start = start or now - timedelta(days=days)
    of = job(
        at=now,
        terminal=True,
        state="FINISHED",
        start_time=start,
        end_time=start + timedelta(days=days),
        first_seen_at=start,
    )
    fact(of, 1, min(start, LAST_DAY - timedelta(seconds=3)))
    assert viewer.get(reverse(name, args=(of.cluster, of.job_id))).status_code == 200


def test_of_a_long_life_the_page_says_which_part_it_shows(viewer, now):
    of = job(
        at=now,
        terminal=True,
        state="FINISHED",
        start_time=now - timedelta(days=1_100),
        end_time=now,
    )
    assert CUT in viewer.get(reverse("job", args=(of.cluster, of.job_id))).content.decode()


def test_a_clock_that_was_ahead_gives_no_time_below_zero(viewer, now):
    ahead = now + timedelta(days=400)
    found = alert(ahead)
    of = job(at=now, start_time=ahead, last_completed_at=ahead, last_seen_at=ahead)
    row = finding(of, at=ahead)
    for address in (
        reverse("job", args=(of.cluster, of.job_id)),
        reverse("finding", args=(row.pk,)),
        reverse("alert", args=(found.uid,)),
        "/",
    ):
        page = viewer.get(address)
        assert page.status_code == 200 and not re.search(
            r"[−-]\d+ (ms|s|min|h|d)\b", page.content.decode()
        ), address


def test_of_a_life_that_is_shown_whole_nothing_is_said_to_be_missing(viewer, now):
    of = job(
        at=now, terminal=True, state="FINISHED", start_time=now - timedelta(days=80), end_time=now
    )
    assert CUT not in viewer.get(reverse("job", args=(of.cluster, of.job_id))).content.decode()
