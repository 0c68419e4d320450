import random
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest

from ingest.lake.tables import TABLES
from spark_jobs.transforms import pressure_arrays
from spark_jobs.transforms.pressure_arrays import ORDER, READ
from tests.fold.recorded import lake_tables
from tests.rows import AWARE, VERTEX, lake_values
from tests.spark_jobs.rows import Row, noon


def windows(samples: Iterable[Row]) -> list[dict[str, Any]]:
    return windows_of(
        pa.Table.from_pylist(
            list(lake_values("vertex_metrics", samples, AWARE)), TABLES["vertex_metrics"].schema
        )
    )


def windows_of(samples: pa.Table) -> list[dict[str, Any]]:
    (batch,) = (
        samples.select(list(READ))
        .sort_by([(name, "ascending") for name in ORDER])
        .combine_chunks()
        .to_batches()
    )
    found: list[dict[str, Any]] = pressure_arrays.windows(batch).to_pylist()
    return found


def only(rows: list[dict[str, Any]]) -> Row:
    (row,) = rows
    return row


def sample(at_s: float = 1, **arrays: Any) -> dict[str, Any]:
    return {"vertex_id": VERTEX, "ts": noon(at_s), "observed_at": noon(at_s)} | arrays


def test_subtasks_are_averaged_over_the_window_before_they_are_compared() -> None:
    row = only(
        windows([sample(1, busy_ms_per_s=[900.0, 0.0]), sample(31, busy_ms_per_s=[100.0, 100.0])])
    )
    assert (row["busy_ms_per_s_max"], row["busy_ms_per_s_mean"], row["busy_ms_per_s_p50"]) == (
        500,
        275,
        275,
    )
    assert (row["busy_share"], row["samples"]) == (0.0, 2)


def test_windows_are_whole_utc_minutes() -> None:
    rows = windows([sample(59.999), sample(60)])
    assert sorted((row["window_start"], row["window_s"]) for row in rows) == [
        (noon(0), 60),
        (noon(60), 60),
    ]


def test_one_spike_is_not_back_pressure() -> None:
    spiky = [
        sample(at, backpressured_ms_per_s=[1000.0 if at == 1 else 0.0, 800.0]) for at in (1, 21, 41)
    ]
    assert only(windows(spiky))["backpressured_share"] == 0.5


def test_time_metrics_decide_over_the_back_pressure_endpoint() -> None:
    assert (
        only(windows([sample(backpressured_ms_per_s=[100.0], backpressured_ratio=[1.0])]))[
            "backpressured_share"
        ]
        == 0.0
    )


def test_the_endpoint_serves_where_there_are_no_time_metrics() -> None:
    row = only(windows([sample(backpressured_ratio=[0.9, 0.1])]))
    assert (row["backpressured_share"], row["backpressured_ms_per_s_max"], row["busy_share"]) == (
        0.5,
        None,
        None,
    )


def test_what_nobody_measured_stays_unknown() -> None:
    row = only(windows([sample(parallelism=3)]))
    known = {name for name, value in row.items() if value is not None} - {
        "readings",
        "newest_ts",
        "counters",
    }
    assert known == {
        "cluster",
        "job_id",
        "vertex_id",
        "window_start",
        "window_s",
        "parallelism",
        "samples",
        "as_of",
    }


def test_tasks_that_do_not_run_are_left_out() -> None:
    row = only(
        windows(
            [
                sample(
                    busy_ms_per_s=[1000.0, 200.0],
                    in_pool_usage=[0.0, 0.5],
                    task_state=["INITIALIZING", "RUNNING"],
                )
            ]
        )
    )
    assert (row["busy_ms_per_s_max"], row["busy_share"], row["in_pool_mean"]) == (200, 0.0, 0.5)


def test_a_full_second_busy_before_records_flow_is_no_busy_time() -> None:
    nothing: dict[str, Any] = {
        "records_in_per_s": [0.0],
        "records_out_per_s": [0.0],
        "in_pool_usage": [0.0],
        "task_state": ["RUNNING"],
    }
    idle = sample(busy_ms_per_s=[1000.0], **nothing)
    assert only(windows([idle]))["busy_share"] is None
    assert only(windows([idle | {"in_pool_usage": [0.9]}]))["busy_share"] == 1.0


def test_arrays_of_unequal_length_and_with_holes_are_taken_by_index() -> None:
    row = only(
        windows(
            [sample(in_pool_usage=[0.2, None, 0.8], busy_ms_per_s=[None, 900.0], out_pool_usage=[])]
        )
    )
    assert (row["in_pool_mean"], row["busy_ms_per_s_max"], row["out_pool_mean"]) == (0.5, 900, None)


def test_skew_is_the_largest_over_the_median() -> None:
    row = only(windows([sample(records_in_per_s=[10.0, 10.0, 10.0, 970.0])]))
    assert (row["records_in_per_s"], row["records_in_max_over_median"]) == (1000, 97)


def test_all_on_one_subtask_has_no_ratio_to_a_median_of_nothing() -> None:
    assert (
        only(windows([sample(records_in_per_s=[0.0, 0.0, 9.0])]))["records_in_max_over_median"]
        is None
    )


def test_the_watermark_is_the_lowest_last_one() -> None:
    rows = [
        sample(1, watermark_ms=[100, 50]),
        sample(31, watermark_ms=[300, 250]),
        sample(41, watermark_ms=[None, 400]),
    ]
    assert only(windows(rows))["watermark_ms"] == 300


def test_a_lag_is_that_of_the_newest_sample_and_of_the_subtasks_that_report_it() -> None:
    rows = [
        sample(1, pending_records=[10.0, 500.0, None], source_idle_ms=[0.0, 9.0, 70_000.0]),
        sample(31, pending_records=[30.0, None, None], emit_lag_ms=[5.0, 8.0, None]),
    ]
    row = only(windows(rows))
    assert (row["pending_records"], row["pending_records_max"]) == (530, 500)
    assert (row["pending_subtasks"], row["most_pending_subtask"]) == (2, 1)
    assert (row["emit_lag_ms"], row["source_idle_ms"]) == (8, 70_000)
    assert row["fetch_lag_ms"] is None
    assert row["readings"]["pending_records"] == [30, 500, None]
    nothing = only(windows([sample(1, busy_ms_per_s=[1.0])]))
    assert (nothing["pending_records"], nothing["pending_subtasks"]) == (None, None)


def test_samples_for_the_rules_are_means_by_subtask_and_where_these_ran() -> None:
    place = {
        "parallelism": 2,
        "host": ["a", "b"],
        "taskmanager_id": ["tm-a", "tm-b"],
        "backpressured_ratio": [0.5, 0.1],
    }
    metrics = [
        sample(1, busy_ms_per_s=[900.0, None], **place),
        sample(31, busy_ms_per_s=[100.0, None], **place),
    ]
    row = only(windows(metrics))
    told = row["readings"]
    assert (told["busy_ratio"], told["backpressured_ratio"], told["in_pool_usage"]) == (
        [0.5, None],
        [0.5, 0.1],
        [None, None],
    )
    assert (told["samples"], told["parallelism"], told["host"], told["taskmanager_id"]) == (
        2,
        2,
        ["a", "b"],
        ["tm-a", "tm-b"],
    )
    assert (row["window_start"], row["newest_ts"]) == (noon(0), noon(31))


def test_a_replayed_sample_counts_once_and_order_does_not_matter() -> None:
    samples = [
        sample(at, in_pool_usage=[random.Random(at).random() for _ in range(5)])
        for at in range(0, 60, 5)
    ]
    again = [one | {"observed_at": noon(99), "commit_seq": 2} for one in samples[:3]]
    one, other = only(windows(samples + again)), only(windows(again + samples[::-1]))
    assert one == other
    assert (one["samples"], one["as_of"]) == (12, noon(99))


def test_it_holds_at_parallelism_5000() -> None:
    wide = {
        "in_pool_usage": [n / 4999 for n in range(5000)],
        "records_in_per_s": [1.0] * 4999 + [5000.0],
        "parallelism": 5000,
    }
    row = only(windows([sample(1, **wide), sample(31, **wide)]))
    assert (row["in_pool_p50"], row["in_pool_max"], row["parallelism"]) == (
        pytest.approx(0.5),
        1.0,
        5000,
    )
    assert row["records_in_max_over_median"] == 5000


def recorded_windows(recording: str, vertex: str) -> list[dict[str, Any]]:
    """Windows of one vertex, oldest first."""
    tables = lake_tables(recording)
    plans = (vertex for row in tables["jobs"].to_pylist() for vertex in row["vertices"] or ())
    ids = {one["vertex_id"] for one in plans if one["name"] == vertex}
    found = (row for row in windows_of(tables["vertex_metrics"]) if row["vertex_id"] in ids)
    return sorted(found, key=lambda row: row["window_start"])


def test_recorded_back_pressure_is_on_the_vertices_above_the_slow_one() -> None:
    """1.20.5/B: source and parse are held up by slow-enrich, which is busy and sends on freely."""
    slow, parse = (recorded_windows("1.20.5/B", name)[-1] for name in ("slow-enrich", "parse"))
    assert slow["in_pool_mean"] > 0.85
    assert slow["out_pool_max"] == pytest.approx(0.17, abs=0.02)
    assert (slow["busy_share"], slow["backpressured_share"]) == (1.0, 0.0)
    assert 0.85 < parse["out_pool_mean"] <= 1.0
    assert (parse["busy_share"], parse["backpressured_share"]) == (0.0, 1.0)


def test_recorded_hot_key_shows_on_one_subtask() -> None:
    """1.20.5/C2: slow-enrich/0 has its floating buffers taken and few exclusive ones; its siblings
    idle.
    """
    row = recorded_windows("1.20.5/C2", "slow-enrich")[-1]
    floating = row["readings"]["floating_usage"]
    assert (floating[0] > 0.9, max(floating[1:]) < 0.1) == (True, True)
    assert row["busy_share"] == 0.25


def test_recorded_1_12_has_back_pressure_but_no_busy_time() -> None:
    row = recorded_windows("1.12.5/G", "enrich")[-1]
    assert row["busy_share"] is None
    assert row["backpressured_share"] is not None


def test_recorded_restarts_do_not_look_busy() -> None:
    """1.20.5/J fails every ten seconds; most samples show a full busy second of tasks that have not
    begun.
    """
    assert {row["busy_share"] for row in recorded_windows("1.20.5/J", "enrich")} <= {0.0, None}
