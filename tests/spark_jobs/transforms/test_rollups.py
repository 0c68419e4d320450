from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.fold.job import fold
from spark_jobs.fold.judging import Settings
from spark_jobs.fold.state import JobState
from spark_jobs.serving import CHECKPOINT_FACT
from spark_jobs.transforms.rollups import rollups
from tests.fold.recorded import recorded_job
from tests.spark_jobs.recorded import recorded_events
from tests.spark_jobs.rows import Row, collected, events, facts, noon, only


def hours(spark: SparkSession, fact_rows: Iterable[Row], event_rows: Iterable[Row] = ()) -> DataFrame:
    df = rollups(facts(spark, fact_rows), events(spark, event_rows))
    return df.filter("period = 'hour'")


def test_it_counts_every_outcome_and_the_savepoints(spark: SparkSession) -> None:
    row = only(hours(spark, [{}, {}, {"outcome": "declined"}, {"outcome": "expired"}, {"is_savepoint": True}, {"outcome": "in_progress"}]))
    assert (row["completed_count"], row["declined_count"], row["expired_count"], row["in_progress_count"]) == (3, 1, 1, 1)
    assert (row["savepoint_count"], row["failed_count"]) == (1, 0)


def test_a_checkpoint_belongs_to_the_hour_and_the_day_of_its_trigger(spark: SparkSession) -> None:
    late = {"trigger_time": noon(3599.999), "end_to_end_ms": 60_000}
    rows = collected(rollups(facts(spark, [late, {"trigger_time": noon(12 * 3600)}]), events(spark, [])))
    starts = {(row["period"], row["period_start"].strftime("%d %H:%M")): row["completed_count"] for row in rows}
    assert starts == {("hour", "21 12:00"): 1, ("day", "21 00:00"): 1, ("hour", "22 00:00"): 1, ("day", "22 00:00"): 1}


def test_percentiles_are_exact_and_of_completed_checkpoints_only(spark: SparkSession) -> None:
    durations = [{"checkpoint_id": n, "trigger_time": noon(n), "end_to_end_ms": n} for n in range(1, 101)]
    others: list[dict[str, Any]] = [
        {"outcome": "expired", "checkpoint_id": 200, "end_to_end_ms": 10_000},
        {"is_savepoint": True, "checkpoint_id": 201, "end_to_end_ms": 10_000},
    ]
    row = only(hours(spark, [*durations, *(other | {"trigger_time": noon(5)} for other in others)]))
    assert row["end_to_end_p50_ms"] == 50.5
    assert row["end_to_end_p95_ms"] == pytest.approx(95.05)
    assert row["end_to_end_p99_ms"] == pytest.approx(99.01)


def test_the_slope_is_bytes_per_hour(spark: SparkSession) -> None:
    growing = [{"trigger_time": noon(60 * n), "checkpoint_id": n, "state_bytes": 1000 + 10 * n, "checkpointed_bytes": 1} for n in range(30)]
    row = only(hours(spark, growing))
    assert row["state_bytes_per_h"] == pytest.approx(600)
    assert (row["state_bytes_first"], row["state_bytes_last"], row["state_bytes_max"]) == (1000, 1290, 1290)
    assert row["checkpointed_bytes_sum"] == 30


def test_sizes_that_may_be_uploads_have_no_slope(spark: SparkSession) -> None:
    row = only(hours(spark, [{"state_bytes": 80_000_000}, {"state_bytes": 250_000}, {"state_bytes": 260_000}]))
    assert row["state_bytes_per_h"] is None
    assert row["checkpointed_bytes_sum"] is None
    assert row["state_bytes_max"] == 80_000_000


def test_one_checkpoint_has_no_slope(spark: SparkSession) -> None:
    assert only(hours(spark, [{"state_bytes": 5, "checkpointed_bytes": 5}]))["state_bytes_per_h"] is None


def test_refusals_without_an_id_are_counted_apart_even_in_an_hour_without_checkpoints(spark: SparkSession) -> None:
    refusal = {"kind": "trigger_refused", "reason": "NOT_ALL_REQUIRED_TASKS_RUNNING", "ts": noon(7200)}
    rows = collected(hours(spark, [{}], [refusal, refusal | {"checkpoint_id": 4}]))
    by_hour = {row["period_start"].hour: (row["completed_count"], row["preflight_refusals"]) for row in rows}
    assert by_hour == {12: (1, None), 14: (0, 1)}


def test_a_replayed_fact_and_a_replayed_event_count_once_whatever_the_order(spark: SparkSession) -> None:
    fact = {"trigger_time": noon(1), "checkpoint_id": 1, "as_of": noon(5)}
    earlier = fact | {"outcome": "in_progress", "as_of": noon(9)}
    refusal = {"kind": "trigger_refused", "record_hash": "same", "ts": noon(3)}
    once = rollups(facts(spark, [fact, earlier]), events(spark, [refusal]))
    twice = rollups(facts(spark, [earlier, fact, fact]), events(spark, [refusal | {"observed_at": noon(90)}, refusal]))
    for one, other in zip(sorted(collected(once), key=str), sorted(collected(twice), key=str), strict=True):
        one.pop("as_of"), other.pop("as_of")
        assert one == other
        assert (one["completed_count"], one["in_progress_count"], one["preflight_refusals"]) == (1, 0, 1)


def test_as_of_is_the_newest_of_both_sources(spark: SparkSession) -> None:
    row = only(hours(spark, [{"as_of": noon(100)}], [{"kind": "trigger_refused", "ts": noon(9), "observed_at": noon(200)}]))
    assert row["as_of"] == noon(200)


def test_the_refusals_of_its_start_are_in_the_hour(spark: SparkSession) -> None:
    """1.20.5/J: 17 completed; REST counted 20, as three refusals took no id."""
    job = recorded_job("1.20.5/J")
    told = [_with_datetimes(fact) | {"job_id": job.job_id} for fact in fold(job, JobState(), Settings()).facts]
    df = rollups(facts(spark, told), recorded_events(spark, "1.20.5/J"))
    row = only(df.filter("period = 'hour'"))
    assert (row["completed_count"], row["preflight_refusals"]) == (17, 3)


def _with_datetimes(fact: Row) -> dict[str, Any]:
    instants = [column.name for column in CHECKPOINT_FACT.columns if column.kind == "instant" and fact[column.name] is not None]
    return {**fact, **{name: datetime.fromtimestamp(fact[name] / 1000, UTC) for name in instants}}
