"""Which windows are judged, and what each of them knows."""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.jobs.windows import windows_in
from spark_jobs.transforms import diagnosed, job_windows, judging
from spark_jobs.transforms.pressure import vertex_windows
from tests.spark_jobs.rows import JOB, VERTEX, Row, collected, events, facts, lake_rows, noon, serving_frame

OTHER = "0" * 31 + "2"
GRAPH = json.dumps({"vertices": [{"vertex_id": VERTEX, "name": "map", "parallelism": 2}], "edges": []})

ORDERS: Row = {"name": "orders", "state": "RUNNING", "graph": GRAPH}


def told(spark: SparkSession, at: Iterable[datetime], **given: Any) -> job_windows.Told:
    """Something new at these instants; everything else is empty unless given as rows."""

    def serving(name: str) -> Any:
        return serving_frame(spark, name, given.get(name, ()))

    metrics, jobs = lake_rows(spark, "vertex_metrics", given.get("vertex_metrics", ())), lake_rows(spark, "jobs", given.get("jobs", ()))
    checkpoints, windows = facts(spark, given.get("facts", ())), vertex_windows(metrics, jobs)
    new = spark.createDataFrame([("c", given.get("job_id", JOB), instant) for instant in at], "cluster string, job_id string, at timestamp")
    parts = lake_rows(spark, "vertex_checkpoints", given.get("vertex_checkpoints", ()))
    none = spark.createDataFrame([], job_windows.VERTEX_STATES_SCHEMA)
    return job_windows.Told(
        instants=job_windows.instants([(new, "at")]),
        judged=spark.createDataFrame([("c", JOB, *one) for one in given.get("judged", ())], job_windows.JUDGED_SCHEMA),
        job_current=serving_frame(spark, "job_current", given.get("job_current", (ORDERS,))),
        jobs=jobs,
        events=events(spark, given.get("events", ())),
        facts=checkpoints,
        annotations=serving("job_annotation"),
        failures=serving("job_exception"),
        size_trends=serving("size_trend"),
        vertex_windows=windows,
        pressure=serving("pressure_window"),
        vertex_states=job_windows.vertex_states(parts, checkpoints, none),
        uploads=serving("checkpoint_upload"),
    )  # fmt: skip


def windows(spark: SparkSession, at: Iterable[datetime], **given: Any) -> list[JobWindow]:
    return list(windows_in(job_windows.job_windows(told(spark, at, **given))))


def starts(found: Iterable[JobWindow]) -> list[float]:
    """Seconds after noon."""
    return [window.window_start_ms / 1000 - noon().timestamp() for window in found]


def at_s(window: JobWindow) -> float:
    return window.at_ms / 1000 - noon().timestamp()


def test_each_minute_into_which_something_new_falls_is_judged_once(spark: SparkSession) -> None:
    assert starts(windows(spark, [noon(1), noon(59.9), noon(60), noon(700)])) == [0, 60, 660]


def test_a_window_that_still_runs_is_judged_at_its_newest_data(spark: SparkSession) -> None:
    first, last = windows(spark, [noon(1), noon(85)])
    assert (at_s(first), at_s(last)) == (60, 85)


def test_the_window_that_was_running_before_is_judged_again_at_its_end(spark: SparkSession) -> None:
    found = windows(spark, [noon(61)], judged=[(noon(0), noon(30))])
    assert [at_s(window) for window in found] == [60, 61]


def test_what_comes_late_does_not_touch_the_newest_window(spark: SparkSession) -> None:
    (late,) = windows(spark, [noon(5)], judged=[(noon(300), noon(330))])
    assert (starts([late]), at_s(late)) == ([0], 60)


def test_nothing_is_judged_after_the_end_of_a_job(spark: SparkSession) -> None:
    ended: Row = {"state": "FINISHED", "terminal": True, "end_time": noon(70)}
    found = windows(spark, [noon(5), noon(65), noon(4000)], job_current=[ended])
    assert [(start, window.terminal) for start, window in zip(starts(found), found, strict=True)] == [(0, None), (60, True)]


def test_a_job_was_running_in_the_windows_before_its_end(spark: SparkSession) -> None:
    ended: Row = {"state": "FINISHED", "terminal": True, "end_time": noon(70)}
    entered = [{"state": "RUNNING", "since": noon(-100)}, {"state": "FINISHED", "since": noon(70)}]
    found = windows(spark, [noon(5), noon(65)], job_current=[ended], jobs=[{"state_since": entered}])
    assert [(window.state, window.terminal) for window in found] == [("RUNNING", False), ("FINISHED", True)]


def test_a_window_knows_checkpoints_up_to_its_end_and_not_what_became_of_them_later(spark: SparkSession) -> None:
    rows = [
        {"checkpoint_id": 1, "trigger_time": noon(-50), "end_to_end_ms": 1000},
        {"checkpoint_id": 2, "trigger_time": noon(30), "end_to_end_ms": 60_000, "outcome": "expired", "state_bytes": 5},
        {"checkpoint_id": 3, "trigger_time": noon(61), "end_to_end_ms": 1000},
    ]
    first, second = windows(spark, [noon(1), noon(90)], facts=rows)
    assert [(one.checkpoint_id, one.outcome, one.state_bytes) for one in first.checkpoints] == [
        (1, "completed", None),
        (2, "in_progress", None),
    ]
    assert [(one.checkpoint_id, one.outcome, one.state_bytes) for one in second.checkpoints] == [
        (1, "completed", None), (2, "expired", 5), (3, "completed", None),
    ]  # fmt: skip


def test_only_the_last_checkpoints_are_given_oldest_first(spark: SparkSession) -> None:
    rows = [{"checkpoint_id": number, "trigger_time": noon(number - 1000), "end_to_end_ms": 1} for number in range(1, 101)]
    (window,) = windows(spark, [noon(1)], facts=rows)
    assert [one.checkpoint_id for one in window.checkpoints] == list(range(41, 101))


def test_documents_arrive_as_what_they_hold(spark: SparkSession) -> None:
    declined = {"checkpoint_id": 1, "trigger_time": noon(1), "outcome": "declined", "declines": '[{"subtask": 1}]'}
    savepoint = {"at": noon(2), "kind": "savepoint", "subject": "7", "detail": '{"checkpoint_id": 7}'}
    (window,) = windows(spark, [noon(1)], facts=[declined], job_annotation=[savepoint])
    assert window.checkpoints[0].declines == ({"subtask": 1},)
    assert window.annotations[0].detail == {"checkpoint_id": 7}


def test_vertices_have_their_means_by_subtask_and_where_these_ran(spark: SparkSession) -> None:
    sample = {"vertex_id": VERTEX, "parallelism": 2, "host": ["a", "b"], "taskmanager_id": ["tm-a", "tm-b"]}
    metrics = [
        sample | {"ts": noon(1), "busy_ms_per_s": [900.0, None], "backpressured_ratio": [0.5, 0.1]},
        sample | {"ts": noon(31), "busy_ms_per_s": [100.0, None], "backpressured_ratio": [0.5, 0.1]},
    ]
    (window,) = windows(spark, [noon(1)], vertex_metrics=metrics)
    (vertex,) = window.vertex_windows
    assert (vertex.busy_ratio, vertex.backpressured_ratio, vertex.in_pool_usage) == ((0.5, None), (0.5, 0.1), ())
    assert (vertex.samples, vertex.parallelism, vertex.host, vertex.taskmanager_id) == (2, 2, ("a", "b"), ("tm-a", "tm-b"))
    assert window.vertex_name(VERTEX) == "map"


def test_the_windows_before_are_its_past(spark: SparkSession) -> None:
    before = [{"vertex_id": VERTEX, "window_start": noon(60 * number), "records_in_per_s": float(number)} for number in range(-12, 2)]
    (window,) = windows(spark, [noon(1)], pressure_window=before)
    assert [one.records_in_per_s for one in window.past] == [float(number) for number in range(-10, 0)]


def test_the_state_is_that_of_the_newest_completed_checkpoint_by_then(spark: SparkSession) -> None:
    def part(checkpoint_id: int, at: datetime) -> Row:
        sizes = {"subtask_state_bytes": [checkpoint_id, 0], "subtask_checkpointed_bytes": [1, 0]}
        return {"checkpoint_id": checkpoint_id, "trigger_time": at, "vertex_id": VERTEX, "status": "COMPLETED", "acknowledged": 2} | sizes

    done = [{"checkpoint_id": number, "trigger_time": noon(at)} for number, at in ((1, 10), (2, 610), (3, 1230))]
    parts = [part(1, noon(10)), part(2, noon(610)), part(3, noon(1230))]
    found = windows(spark, [noon(1), noon(601), noon(605), noon(1205)], facts=done, vertex_checkpoints=parts)
    assert [window.vertex_states[0].subtask_state_bytes[0] for window in found] == [1, 2, 3]


def test_a_job_of_which_nothing_else_is_known_is_judged_all_the_same(spark: SparkSession) -> None:
    (window,) = windows(spark, [noon(1)], job_id=OTHER)
    assert (window.job_id, window.job_name, window.state, window.checkpoints, window.vertices) == (OTHER, None, None, (), ())


def test_an_import_of_long_ago_judges_no_more_windows_than_a_run_may(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_windows, "WINDOWS_PER_RUN", 3)
    assert starts(windows(spark, [noon(60 * number) for number in range(10)])) == [420, 480, 540]


def test_judgements_name_the_windows_in_runs(spark: SparkSession) -> None:
    rows = job_windows.job_windows(told(spark, [noon(0), noon(60), noon(540), noon(600), noon(900)]))
    (judgement,) = collected(diagnosed.job_judgements(diagnosed.diagnosed(rows)))
    at = round(noon().timestamp())
    runs = [(0, 60), (540, 540), (600, 600), (900, 900)]
    assert judgement["windows"] == "[" + ",".join(f'{{"first":{at + first},"last":{at + last}}}' for first, last in runs) + "]"
    assert judgement["judged_to"] == noon(900)


def test_a_row_that_cannot_be_judged_stops_only_itself(spark: SparkSession) -> None:
    good = job_windows.job_windows(told(spark, [noon(1)])).toArrow().to_batches()[0]
    broken = good.set_column(good.schema.get_field_index("job_id"), "job_id", pa.array([OTHER]))
    graph = good.column("job").flatten()
    names = [field.name for field in good.schema.field("job").type]
    graph[names.index("graph")] = pa.array(["no JSON"])
    broken = broken.set_column(broken.schema.get_field_index("job"), "job", pa.StructArray.from_arrays(graph, names))
    whole = pa.Table.from_batches([broken, good]).combine_chunks().to_batches()
    (judged,) = judging.judged_batches(whole, [])
    assert judged.column("job_id").to_pylist() == [JOB]
