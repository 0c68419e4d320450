"""Flink's own counters beside what Weir knows: why they differ, and jobs of which nobody knows
them.
"""

from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from spark_jobs.serving import CHECKPOINT_FACT, JOB_ANNOTATION, JOB_CURRENT, LOG_EVENT
from tests.acceptance.recount import counters, refusals
from tests.first_cycles import served_tables
from tests.webapp.builders import cluster, fact, job
from tests.webapp.placement.recorded import FIXTURES
from webapp.checkpoints.flink_counters import Counts, counters_of, why
from webapp.checkpoints.models import CheckpointFact, CheckpointRollup
from webapp.fleet.models import JobAnnotation, JobCurrent, LogEvent

MODELS = {
    JOB_CURRENT: JobCurrent,
    CHECKPOINT_FACT: CheckpointFact,
    JOB_ANNOTATION: JobAnnotation,
    LOG_EVENT: LogEvent,
}


@pytest.mark.parametrize(
    ("flink", "weir", "told"),
    [
        (Counts(completed=5, failed=2), Counts(completed=5, failed=2, dropped=0, refused=0), ""),
        # Before 1.14 refusals are no failures of Flink's either.
        (Counts(completed=5, failed=2), Counts(completed=5, failed=2, dropped=0, refused=4), ""),
        (
            Counts(completed=5, failed=9),
            Counts(completed=5, failed=2, dropped=1, refused=4),
            "Flink also counts 1 aborted or superseded and 4 refused before the start as failed; 2 "
            "more failed ones are known to Flink only, such as refusals that no log has.",
        ),
        (
            Counts(completed=50, failed=0),
            Counts(completed=48, failed=0, dropped=0, refused=0),
            "2 more completed ones are known to Flink only, from before Weir saw the job.",
        ),
        (
            Counts(completed=2, failed=0),
            Counts(completed=48, failed=1, dropped=0, refused=3),
            (
                "46 completed and 1 failed ones are no longer in its counters, which start from 0 "
                "with each JobManager."
            ),
        ),
        (Counts(completed=None, failed=2), Counts(completed=48, failed=1), ""),
    ],
)
def test_why_they_differ_is_one_sentence(flink: Counts, weir: Counts, told: str) -> None:
    assert why(flink, weir) == told


@pytest.mark.parametrize("counts", [None, {}, {"at": None, "total": 3}, []])
def test_counters_that_are_not_known_are_no_zero(viewer, counts) -> None:
    """A job of an instance that was upgraded has none until its next cycle."""
    now = timezone.now()
    cluster(at=now)
    of = job(at=now, flink_counts=counts)
    assert counters_of(of) is None
    page = viewer.get(reverse("job", args=(of.cluster, of.job_id))).content.decode()
    assert "Flink's counters are unknown" in page
    assert (
        viewer.get(reverse("api-job", args=(of.cluster, of.job_id))).json()["checkpoint_counters"]
        is None
    )


def test_of_a_job_without_roll_ups_only_flinks_are_known(viewer) -> None:
    now = timezone.now()
    cluster(at=now)
    counted = {
        "at": now.timestamp() * 1000,
        "total": 7,
        "completed": 6,
        "failed": 1,
        "in_progress": 0,
        "restored": None,
    }
    of = job(at=now, flink_counts=counted)
    counters = counters_of(of)
    assert counters is not None and counters.weir is None and not counters.why
    assert (
        "no checkpoint known yet"
        in viewer.get(reverse("job", args=(of.cluster, of.job_id))).content.decode()
    )


@pytest.mark.django_db
@pytest.mark.parametrize("recording", ["1.20.5/E", "1.20.5/F", "1.12.5/G"])
def test_checkpoints_of_days_that_are_not_summed_up_yet_count(home, recording: str) -> None:
    """Or Flink would seem to know more than Weir, until the slow lane has run."""
    for model, rows in zip(
        MODELS.values(),
        served_tables(FIXTURES / "recordings" / recording, home, *MODELS),
        strict=True,
    ):
        model.objects.bulk_create(model(**row) for row in rows)
    told = counters(FIXTURES / "recordings" / recording)
    assert told
    for job_id, (at, raw) in told.items():
        found = counters_of(JobCurrent.objects.get(job_id=job_id))
        assert found is not None and found.weir is not None
        refused = refusals(FIXTURES / "recordings" / recording, job_id, at)
        names = ("completed", "in_progress", "total", "restored")
        assert {name: getattr(found.weir, name) for name in names} == {
            name: raw[name] for name in names
        }, job_id
        assert (found.weir.failed or 0) + (found.weir.dropped or 0) + refused == raw["failed"]
        assert found.weir.refused == refused


def rolled_up(of: JobCurrent, day: datetime, completed: int, expired: int = 0) -> CheckpointRollup:
    counts = {
        f"{name}_count": 0
        for name in (
            "declined",
            "subsumed",
            "aborted",
            "failed",
            "preflight",
            "in_progress",
            "savepoint",
        )
    }
    start = day.replace(hour=0, minute=0, second=0, microsecond=0)
    counted = {**counts, "completed_count": completed, "expired_count": expired}
    return CheckpointRollup.objects.create(
        cluster=of.cluster, job_id=of.job_id, period="day", period_start=start, as_of=day, **counted
    )


@pytest.mark.django_db
def test_each_day_counts_once_by_whichever_knows_more_of_it() -> None:
    """Of a day long ago only what was summed up, of today what was not summed up yet, of yesterday
    what is no longer kept.
    """
    at = datetime(2026, 11, 27, 12, tzinfo=UTC)
    of = job(
        at=at,
        flink_counts={
            "at": at.timestamp() * 1000,
            "total": 118,
            "completed": 117,
            "failed": 1,
            "in_progress": 0,
            "restored": 0,
        },
    )
    rolled_up(of, at - timedelta(days=9), completed=100, expired=1)
    rolled_up(of, at - timedelta(days=1), completed=12)
    rolled_up(of, at, completed=2)
    for number in range(3):
        fact(of, 50 + number, at - timedelta(days=1, minutes=number))
    for number in range(5):
        fact(of, 90 + number, at - timedelta(minutes=10 + number))
    found = counters_of(of)
    assert found is not None and found.weir is not None
    assert (found.weir.completed, found.weir.failed, found.weir.total, found.why) == (
        117,
        1,
        118,
        "",
    )
