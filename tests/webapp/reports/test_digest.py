"""The digest of the fleet, and the one that comes by itself every week."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.webapp.builders import T0, finding, job
from tests.webapp.reports.stories import expiring, facts, part, rows, seen
from tests.webapp.storage.builders import audit, root_figures
from webapp.alerting.evaluation import evaluate
from webapp.checkpoints.models import CheckpointRollup
from webapp.reports import weekly_digest, work_keys
from webapp.reports.choices import ReportState
from webapp.reports.gathering import digest
from webapp.reports.models import IncidentReport
from webapp.reports.renderers.html import charts_of
from webapp.work.perform import perform

pytestmark = pytest.mark.django_db
START, END = T0 - timedelta(days=4), T0 + timedelta(days=3)


def week():
    return digest.gather(START, END, uid="rep_x", made_at=END, made_by="Weir")


def hours(of, completed, failed, at=T0):
    counts = {
        f"{outcome}_count": 0
        for outcome in ("declined", "expired", "subsumed", "aborted", "failed", "preflight")
    }
    CheckpointRollup.objects.create(
        cluster=of.cluster,
        job_id=of.job_id,
        period="hour",
        period_start=at.replace(minute=0),
        as_of=at,
        in_progress_count=0,
        savepoint_count=0,
        completed_count=completed,
        **{**counts, "failed_count": failed},
    )


def test_it_tells_the_worst_jobs_first_with_their_reason():
    seen()
    of, calm = expiring(), job(at=T0 + timedelta(minutes=30), name="calm")
    finding(calm, "data.skew", T0, severity="warning", title="uneven")
    first, second = rows(week().pages, "jobs")
    assert (first["job"], second["job"]) == ("clickstream", "calm")
    assert (first["critical"], first["warning"], first["cluster"]) == (2, 0, of.cluster)


def test_new_and_ended_findings_are_counted():
    of = job(at=T0)
    finding(of, at=T0, subject_id="a")
    finding(of, at=T0, subject_id="b", state="closed")
    finding(of, at=T0, subject_id="c", lasted=timedelta(days=30))
    document = week()
    headline = "1 of 1 job in trouble; 2 new findings, 1 ended"
    assert document.pages.verdict.sentence == headline
    assert part(document, "new-findings").verdict.sentence == "2 began, 1 ended, 2 are open"


def test_success_is_told_by_day():
    one, other = job(at=T0), job("prod-us", at=T0)
    hours(one, 90, 10)
    hours(other, 100, 0, T0 - timedelta(days=1))
    document = week()
    days = [(day["completed"], day["failed"]) for day in rows(part(document, "days"), "days")]
    assert days == [(100, 0), (90, 10)]
    assert facts(document.pages)["completed"] == 0.95
    assert charts_of(document)["days"].figure["data"]


def test_storage_grows_from_the_last_audit_before_the_week_to_the_last_in_it():
    for name, at, size in (
        ("a", START - timedelta(days=1), 100),
        ("b", T0 - timedelta(days=1), 300),
        ("c", T0, 2_000_100),
    ):
        root_figures(audit(name, as_of=at, state="loaded"), as_of=at, bytes=size)
    document = week()
    (root,) = rows(part(document, "storage"), "storage")
    assert (root["bytes"], root["grown"]) == (2_000_100, 2_000_000)
    assert facts(document.pages)["grown_bytes"] == 2_000_000


def test_alerts_are_counted():
    seen()
    expiring()
    evaluate(T0)
    assert facts(week().pages)["alerts"] == 2


def test_an_empty_fleet_has_a_digest_that_says_so():
    assert week().pages.verdict.sentence == "No job was seen in this time"


def test_its_queries_do_not_grow_with_the_fleet(django_assert_max_num_queries):
    finding(job(at=T0), at=T0)
    with django_assert_max_num_queries(25) as few:
        week()
    for _number in range(30):
        finding(job(at=T0), at=T0)
    with django_assert_max_num_queries(len(few)):
        week()


@pytest.mark.parametrize(
    ("now", "end"),
    [
        (datetime(2026, 3, 2, 6, 0, tzinfo=UTC), datetime(2026, 3, 2, 6, 0, tzinfo=UTC)),
        (datetime(2026, 3, 2, 5, 59, tzinfo=UTC), datetime(2026, 2, 23, 6, 0, tzinfo=UTC)),
        (datetime(2026, 3, 8, 23, 0, tzinfo=UTC), datetime(2026, 3, 2, 6, 0, tzinfo=UTC)),
    ],
)
def test_a_week_ends_on_monday_at_six(now, end):
    assert weekly_digest.latest_end("mon 06:00", now) == end


MONDAY = datetime(2026, 3, 2, 6, 0, tzinfo=UTC)


def test_the_digest_of_a_week_comes_once_however_often_somebody_looks():
    seen()
    expiring()
    assert weekly_digest.request_where_due(MONDAY + timedelta(minutes=1))
    assert not weekly_digest.request_where_due(MONDAY + timedelta(minutes=16))
    report = IncidentReport.objects.get()
    assert (report.start, report.end, report.digest_of) == (
        MONDAY - timedelta(days=7),
        MONDAY,
        MONDAY,
    )
    perform(work_keys.key_of(report.pk), even_if_not_due=True)
    report.refresh_from_db()
    assert (report.state, report.title) == (
        ReportState.DONE,
        "Fleet digest, 2026-02-23 to 2026-03-02",
    )


def test_a_week_without_any_job_one_long_past_and_one_switched_off_bring_none(weir):
    assert not weekly_digest.request_where_due(MONDAY)
    seen()
    expiring()
    assert not weekly_digest.request_where_due(MONDAY + timedelta(days=4))
    weir(weekly_digest="off")
    assert not weekly_digest.request_where_due(MONDAY)
