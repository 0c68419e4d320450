"""Kept facts of checkpoints → the hours and days of their job."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest

from ingest.lake.derived import CHECKPOINT_FACTS, REFUSED
from spark_jobs.small.tables import group_rows, map_rows
from spark_jobs.steps.rollups import NEW, ROLLUP, rollup_batches
from tests.rows import AWARE as noon
from tests.rows import Row, lake_values


def kept(rows: Iterable[Row]) -> pa.Table:
    """Rows of the lake's kept facts: completed checkpoints, one a minute from noon, unless a test
    says otherwise.
    """
    filled: list[dict[str, Any]] = []
    for number, row in enumerate(rows, start=1):
        at = row.get("trigger_time", noon(60 * (row.get("checkpoint_id") or number)))
        default = {
            "checkpoint_id": number,
            "trigger_time": at,
            "retracted": False,
            "is_savepoint": False,
            "outcome": "completed",
            "final": row.get("outcome") != "in_progress",
            "observed_at": at,
        }
        filled.append(default | dict(row))
    return pa.Table.from_pylist(
        list(lake_values(CHECKPOINT_FACTS.name, filled, noon)), CHECKPOINT_FACTS.schema
    )


def rolled_up(rows: Iterable[Row]) -> list[dict[str, Any]]:
    every = kept(rows)
    found: list[dict[str, Any]] = map_rows(
        group_rows({"new": every.select(list(NEW)), "kept": every}), rollup_batches, ROLLUP
    ).to_pylist()
    return found


def hours(rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [row for row in rolled_up(rows) if row["period"] == "hour"]


def only(rows: list[dict[str, Any]]) -> dict[str, Any]:
    (row,) = rows
    return row


def refused(**values: Any) -> Row:
    return {
        "outcome": REFUSED,
        "checkpoint_id": None,
        "is_savepoint": None,
        "line": "jm/h/0",
        **values,
    }


def back(**values: Any) -> Row:
    return (
        dict.fromkeys(("outcome", "final", "is_savepoint", "observed_at"))
        | {"retracted": True, "commit_seq": 2}
        | values
    )


def test_it_counts_every_outcome_and_the_savepoints() -> None:
    row = only(
        hours(
            [
                {},
                {},
                {"outcome": "declined"},
                {"outcome": "expired"},
                {"is_savepoint": True},
                {"outcome": "in_progress"},
            ]
        )
    )
    assert (
        row["completed_count"],
        row["declined_count"],
        row["expired_count"],
        row["in_progress_count"],
    ) == (3, 1, 1, 1)
    assert (row["savepoint_count"], row["failed_count"]) == (1, 0)


def test_a_checkpoint_belongs_to_the_hour_and_the_day_of_its_trigger() -> None:
    late = {"trigger_time": noon(3599.999), "end_to_end_ms": 60_000}
    rows = rolled_up([late, {"trigger_time": noon(12 * 3600)}])
    starts = {
        (row["period"], row["period_start"].strftime("%d %H:%M")): row["completed_count"]
        for row in rows
    }
    assert starts == {
        ("hour", "21 12:00"): 1,
        ("day", "21 00:00"): 1,
        ("hour", "22 00:00"): 1,
        ("day", "22 00:00"): 1,
    }


def test_the_percentile_is_exact_and_of_completed_checkpoints_only() -> None:
    durations = [
        {"checkpoint_id": n, "trigger_time": noon(n), "end_to_end_ms": n} for n in range(1, 101)
    ]
    others: list[dict[str, Any]] = [
        {"outcome": "expired", "checkpoint_id": 200, "end_to_end_ms": 10_000},
        {"is_savepoint": True, "checkpoint_id": 201, "end_to_end_ms": 10_000},
    ]
    row = only(hours([*durations, *(other | {"trigger_time": noon(5)} for other in others)]))
    assert row["end_to_end_p95_ms"] == pytest.approx(95.05)


def test_the_size_of_an_hour_is_its_last() -> None:
    growing = [
        {
            "trigger_time": noon(60 * n),
            "checkpoint_id": n,
            "state_bytes": 1000 + 10 * n,
            "checkpointed_bytes": 1,
        }
        for n in range(31)
    ]
    row = only(hours(growing))
    assert (row["state_bytes_last"], row["checkpointed_bytes_sum"]) == (1300, 31)


def test_refusals_without_an_id_are_counted_apart_even_in_an_hour_without_checkpoints() -> None:
    rows = hours([{}, refused(trigger_time=noon(7200))])
    by_hour = {
        row["period_start"].hour: (row["completed_count"], row["preflight_refusals"])
        for row in rows
    }
    assert by_hour == {12: (1, None), 14: (0, 1)}


def test_a_repeated_fact_and_a_repeated_refusal_count_once_whatever_the_order() -> None:
    fact = {"trigger_time": noon(1), "checkpoint_id": 1, "observed_at": noon(5)}
    earlier = fact | {"outcome": "in_progress", "observed_at": noon(4), "commit_seq": 3}
    refusal = refused(trigger_time=noon(3))
    once = rolled_up([fact, earlier, refusal])
    twice = rolled_up(
        [earlier, refusal, fact, fact | {"commit_seq": 9}, {**refusal, "observed_at": noon(2)}]
    )
    for one, other in zip(sorted(once, key=str), sorted(twice, key=str), strict=True):
        assert one == other
        assert (one["completed_count"], one["in_progress_count"], one["preflight_refusals"]) == (
            1,
            0,
            1,
        )


def test_as_of_is_the_newest_of_checkpoints_and_refusals() -> None:
    assert only(
        hours([{"observed_at": noon(100)}, refused(trigger_time=noon(9), observed_at=noon(200))])
    )["as_of"] == noon(200)


def test_what_is_taken_back_counts_no_more_and_leaves_an_hour_of_nothing_as_new_as_it_was() -> None:
    key = {"checkpoint_id": 7, "trigger_time": noon(7200)}
    rows = hours([{}, {**key, "observed_at": noon(9000), "state_bytes": 5}, back(**key)])
    by_hour = {
        row["period_start"].hour: (row["completed_count"], row["state_bytes_last"], row["as_of"])
        for row in rows
    }
    assert by_hour == {12: (1, None, noon(60)), 14: (0, None, noon(9000))}


def test_what_is_told_again_after_it_was_taken_back_counts() -> None:
    key = {"checkpoint_id": 7, "trigger_time": noon(60)}
    again = {**key, "outcome": "in_progress", "observed_at": noon(5), "commit_seq": 2}
    row = only(hours([{**key, "observed_at": noon(9)}, back(**key), again]))
    assert (row["completed_count"], row["in_progress_count"]) == (0, 1)
