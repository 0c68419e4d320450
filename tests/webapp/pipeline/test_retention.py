"""What is kept how long, and that recordings do not age."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from tests.webapp.pipeline.runs import fact, row
from webapp.checkpoints.models import CheckpointFact, CheckpointRollup
from webapp.fleet.models import Cluster, LogEvent
from webapp.pipeline import retention
from webapp.pipeline.due_work import RETENTION
from webapp.pipeline.table_models import SERVED
from webapp.work.lease import Lease
from webapp.work.models import DueWork, Manifest, PipelineRun
from webapp.work.perform import perform
from webapp.work.upserts import upsert

NOW = datetime(2025, 3, 1, 12, tzinfo=UTC)


def days_ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def store(table: str, *rows: dict[str, object]) -> None:
    upsert(SERVED[table].table, SERVED[table].model, rows, SERVED[table].derived)


def kept() -> set[int]:
    return set(CheckpointFact.objects.values_list("checkpoint_id", flat=True))


def test_routine_checkpoints_go_after_a_week_notable_ones_after_three_months(lease: Lease) -> None:
    Cluster.objects.create(name="c")
    store(
        "checkpoint_fact",
        fact(1, trigger_time=days_ago(6.9)),
        fact(2, trigger_time=days_ago(7.1)),
        fact(3, trigger_time=days_ago(7.1), outcome="expired"),
        fact(4, trigger_time=days_ago(7.1), is_savepoint=True),
        fact(5, trigger_time=days_ago(7.1), end_to_end_ms=60_000),
        fact(6, trigger_time=days_ago(91), outcome="declined"),
        fact(
            7, trigger_time=days_ago(7.1), is_savepoint=False, end_to_end_ms=10, outcome="aborted"
        ),
    )
    retention.purge(NOW, lease)
    assert kept() == {1, 3, 4, 5}


def test_recordings_do_not_age(lease: Lease) -> None:
    Cluster.objects.create(name="c", kind="recording")
    store("checkpoint_fact", fact(1, trigger_time=days_ago(900)))
    retention.purge(NOW, lease)
    assert kept() == {1}


def test_rollups_of_days_outlive_those_of_hours(lease: Lease) -> None:
    store(
        "checkpoint_rollup",
        *(
            row("checkpoint_rollup", period=period, period_start=days_ago(100))
            for period in ("hour", "day")
        ),
    )
    retention.purge(NOW, lease)
    assert [rollup.period for rollup in CheckpointRollup.objects.all()] == ["day"]


def test_many_rows_go_in_many_short_transactions(
    lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "ROWS_PER_DELETE", 10)
    store("log_event", *(row("log_event", ordinal=n, ts=days_ago(8)) for n in range(35)))
    assert retention.purge(NOW, lease)["logevent"] == 35
    assert not LogEvent.objects.exists()


def test_the_manifest_the_next_run_needs_is_never_purged(lease: Lease) -> None:
    for name in ("old", "last"):
        Manifest.objects.create(attempt=name, path="x", state="loaded", loaded_at=days_ago(60))
    PipelineRun.objects.create(
        kind="spark", key="spark/cycle", attempt="a", started_at=days_ago(31), state="done"
    )
    retention.purge(NOW, lease)
    assert [manifest.attempt for manifest in Manifest.objects.all()] == ["last"]
    assert not PipelineRun.objects.exists()


def test_a_clock_that_is_far_ahead_takes_a_days_rows_with_each_run(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    Cluster.objects.create(name="c")
    store("checkpoint_fact", *(fact(number, trigger_time=days_ago(number)) for number in (2, 6, 8)))
    DueWork.objects.ensure({RETENTION: 3_600}, NOW)

    def run(at: datetime) -> set[int]:
        monkeypatch.setattr(timezone, "now", lambda: at)
        perform(RETENTION, even_if_not_due=True)
        return kept()

    assert run(NOW) == {2, 6}
    assert run(NOW + timedelta(days=400)) == {2, 6}
    assert run(NOW + timedelta(days=400, hours=1)) == {2}
    assert run(NOW + timedelta(hours=2)) == {2}
    assert run(NOW + timedelta(days=1)) == {2}
