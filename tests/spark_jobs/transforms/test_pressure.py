import random
from collections.abc import Iterable
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.transforms.pressure import vertex_windows
from tests.spark_jobs.recorded import recorded_rows
from tests.spark_jobs.rows import VERTEX, Row, collected, lake_rows, noon, only


def windows(spark: SparkSession, samples: Iterable[Row]) -> DataFrame:
    return vertex_windows(lake_rows(spark, "vertex_metrics", samples))


def sample(at_s: float = 1, **arrays: Any) -> dict[str, Any]:
    return {"vertex_id": VERTEX, "ts": noon(at_s), "observed_at": noon(at_s)} | arrays


def test_subtasks_are_averaged_over_the_window_before_they_are_compared(spark: SparkSession) -> None:
    row = only(windows(spark, [sample(1, busy_ms_per_s=[900.0, 0.0]), sample(31, busy_ms_per_s=[100.0, 100.0])]))
    assert (row["busy_ms_per_s_max"], row["busy_ms_per_s_mean"], row["busy_ms_per_s_p50"]) == (500, 275, 275)
    assert (row["busy_share"], row["samples"]) == (0.0, 2)


def test_windows_are_whole_utc_minutes(spark: SparkSession) -> None:
    rows = collected(windows(spark, [sample(59.999), sample(60)]))
    assert sorted((row["window_start"], row["window_s"]) for row in rows) == [(noon(0), 60), (noon(60), 60)]


def test_one_spike_is_not_back_pressure(spark: SparkSession) -> None:
    spiky = [sample(at, backpressured_ms_per_s=[1000.0 if at == 1 else 0.0, 800.0]) for at in (1, 21, 41)]
    assert only(windows(spark, spiky))["backpressured_share"] == 0.5


def test_time_metrics_decide_over_the_back_pressure_endpoint(spark: SparkSession) -> None:
    assert only(windows(spark, [sample(backpressured_ms_per_s=[100.0], backpressured_ratio=[1.0])]))["backpressured_share"] == 0.0


def test_the_endpoint_serves_where_there_are_no_time_metrics(spark: SparkSession) -> None:
    row = only(windows(spark, [sample(backpressured_ratio=[0.9, 0.1])]))
    assert (row["backpressured_share"], row["backpressured_ms_per_s_max"], row["busy_share"]) == (0.5, None, None)


def test_what_nobody_measured_stays_unknown(spark: SparkSession) -> None:
    row = only(windows(spark, [sample(parallelism=3)]))
    known = {name for name, value in row.items() if value is not None} - {"readings", "newest_ts"}
    assert known == {"cluster", "job_id", "vertex_id", "window_start", "window_s", "parallelism", "samples", "as_of"}


def test_tasks_that_do_not_run_are_left_out(spark: SparkSession) -> None:
    row = only(windows(spark, [sample(busy_ms_per_s=[1000.0, 200.0], in_pool_usage=[0.0, 0.5], task_state=["INITIALIZING", "RUNNING"])]))
    assert (row["busy_ms_per_s_max"], row["busy_share"], row["in_pool_mean"], row["hottest_subtask"]) == (200, 0.0, 0.5, 1)


def test_a_full_second_busy_before_records_flow_is_no_busy_time(spark: SparkSession) -> None:
    nothing: dict[str, Any] = {"records_in_per_s": [0.0], "records_out_per_s": [0.0], "in_pool_usage": [0.0], "task_state": ["RUNNING"]}
    idle = sample(busy_ms_per_s=[1000.0], **nothing)
    assert only(windows(spark, [idle]))["busy_share"] is None
    assert only(windows(spark, [idle | {"in_pool_usage": [0.9]}]))["busy_share"] == 1.0


def test_arrays_of_unequal_length_and_with_holes_are_taken_by_index(spark: SparkSession) -> None:
    row = only(windows(spark, [sample(in_pool_usage=[0.2, None, 0.8], busy_ms_per_s=[None, 900.0], out_pool_usage=[])]))
    assert (row["in_pool_mean"], row["busy_ms_per_s_max"], row["hottest_subtask"], row["out_pool_mean"]) == (0.5, 900, 1, None)


def test_skew_is_told_by_max_over_median_and_gini(spark: SparkSession) -> None:
    row = only(windows(spark, [sample(records_in_per_s=[10.0, 10.0, 10.0, 970.0])]))
    assert (row["records_in_per_s"], row["records_in_max_over_median"], row["hottest_subtask"]) == (1000, 97, 3)
    assert row["records_in_gini"] == pytest.approx(0.96)


@pytest.mark.parametrize(
    ("rates", "gini"), [([5.0, 5.0, 5.0], 0.0), ([0.0, 0.0, 9.0], 1.0), ([7.0], 0.0), ([0.0, 0.0], None), ([1.0, 3.0], 0.5)]
)
def test_gini_goes_from_even_to_all_on_one(spark: SparkSession, rates: list[float], gini: float | None) -> None:
    assert only(windows(spark, [sample(records_in_per_s=rates)]))["records_in_gini"] == (gini if gini is None else pytest.approx(gini))


def test_all_on_one_subtask_has_no_ratio_to_a_median_of_nothing(spark: SparkSession) -> None:
    assert only(windows(spark, [sample(records_in_per_s=[0.0, 0.0, 9.0])]))["records_in_max_over_median"] is None


def test_the_watermark_is_the_lowest_last_one(spark: SparkSession) -> None:
    rows = [sample(1, watermark_ms=[100, 50]), sample(31, watermark_ms=[300, 250]), sample(41, watermark_ms=[None, 400])]
    assert only(windows(spark, rows))["watermark_ms"] == 300


def test_samples_for_the_rules_are_means_by_subtask_and_where_these_ran(spark: SparkSession) -> None:
    place = {"parallelism": 2, "host": ["a", "b"], "taskmanager_id": ["tm-a", "tm-b"], "backpressured_ratio": [0.5, 0.1]}
    metrics = [sample(1, busy_ms_per_s=[900.0, None], **place), sample(31, busy_ms_per_s=[100.0, None], **place)]
    row = only(windows(spark, metrics))
    told = row["readings"]
    assert (told["busy_ratio"], told["backpressured_ratio"], told["in_pool_usage"]) == ([0.5, None], [0.5, 0.1], [None, None])
    assert (told["samples"], told["parallelism"], told["host"], told["taskmanager_id"]) == (2, 2, ["a", "b"], ["tm-a", "tm-b"])
    assert (row["window_start"], row["newest_ts"]) == (noon(0), noon(31))


def test_a_replayed_sample_counts_once_and_order_does_not_matter(spark: SparkSession) -> None:
    samples = [sample(at, in_pool_usage=[random.Random(at).random() for _ in range(5)]) for at in range(0, 60, 5)]
    again = [one | {"observed_at": noon(99), "commit_seq": 2} for one in samples[:3]]
    one, other = only(windows(spark, samples + again)), only(windows(spark, again + samples[::-1]))
    assert one == other
    assert (one["samples"], one["as_of"]) == (12, noon(99))


def test_it_holds_at_parallelism_5000(spark: SparkSession) -> None:
    wide = {"in_pool_usage": [n / 4999 for n in range(5000)], "records_in_per_s": [1.0] * 4999 + [5000.0], "parallelism": 5000}
    row = only(windows(spark, [sample(1, **wide), sample(31, **wide)]))
    assert (row["in_pool_p50"], row["in_pool_max"], row["parallelism"]) == (pytest.approx(0.5), 1.0, 5000)
    assert row["in_pool_high_share"] == pytest.approx(0.2, abs=0.001)
    assert row["records_in_max_over_median"] == 5000


def recorded_windows(spark: SparkSession, recording: str, vertex: str) -> list[dict[str, Any]]:
    """Windows of one vertex, oldest first."""
    plans = (vertex for row in collected(recorded_rows(spark, recording, "jobs")) for vertex in row["vertices"] or ())
    ids = {one["vertex_id"] for one in plans if one["name"] == vertex}
    found = vertex_windows(recorded_rows(spark, recording, "vertex_metrics"))
    return collected(found.filter(F.col("vertex_id").isin(*ids)).orderBy("window_start"))


def test_recorded_back_pressure_is_on_the_vertices_above_the_slow_one(spark: SparkSession) -> None:
    """1.20.5/B: source and parse are held up by slow-enrich, which is busy and sends on freely."""
    slow, parse = (recorded_windows(spark, "1.20.5/B", name)[-1] for name in ("slow-enrich", "parse"))
    assert slow["in_pool_mean"] > 0.85
    assert slow["out_pool_max"] == pytest.approx(0.17, abs=0.02)
    assert (slow["busy_share"], slow["backpressured_share"]) == (1.0, 0.0)
    assert 0.85 < parse["out_pool_mean"] <= 1.0
    assert (parse["busy_share"], parse["backpressured_share"]) == (0.0, 1.0)


def test_recorded_hot_key_shows_on_one_subtask(spark: SparkSession) -> None:
    """1.20.5/C2: slow-enrich/0 has its floating buffers taken and few exclusive ones; its siblings idle."""
    row = recorded_windows(spark, "1.20.5/C2", "slow-enrich")[-1]
    assert (row["floating_max"] > 0.9, row["hottest_subtask"]) == (True, 0)
    assert row["exclusive_max"] == pytest.approx(0.17, abs=0.05)
    assert row["floating_p50"] < 0.1
    assert row["busy_share"] == 0.25


def test_recorded_1_12_has_back_pressure_but_no_busy_time(spark: SparkSession) -> None:
    row = recorded_windows(spark, "1.12.5/G", "enrich")[-1]
    assert row["busy_share"] is None
    assert row["backpressured_share"] is not None


def test_recorded_restarts_do_not_look_busy(spark: SparkSession) -> None:
    """1.20.5/J fails every ten seconds; most samples show a full busy second of tasks that have not begun."""
    assert {row["busy_share"] for row in recorded_windows(spark, "1.20.5/J", "enrich")} <= {0.0, None}
