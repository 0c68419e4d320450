"""From frames to plain rows and back: what one job is folded from, and what comes out of it."""

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.fold.state import unpacked
from spark_jobs.steps.reported import EXCEPTION, SKIP, exception_batches, skip_batches
from spark_jobs.transforms import folding
from spark_jobs.transforms.fold_batches import job_groups
from spark_jobs.transforms.group_windows import IS_NEW, SAMPLE
from spark_jobs.transforms.grouped_batches import Group
from spark_jobs.worker_rows import WorkerRows
from tests.rows import EPOCH_MS
from tests.spark_jobs.folded import Tables, folded, table
from tests.spark_jobs.recorded import recorded_rows
from tests.spark_jobs.rows import JOB, VERTEX, events, lake_rows, noon

OTHER = "0" * 31 + "2"

ANSWERS: list[dict[str, Any]] = [
    {
        "name": "a",
        "observed_at": noon(1.5),
        "state_since": [{"state": "RUNNING", "since": noon(-9.25)}],
    },
    {"name": "b", "cluster": "d"},
    {
        "name": "c",
        "job_id": OTHER,
        "vertices": [{"vertex_id": VERTEX, "name": "map", "parallelism": None}],
    },
]
CHECKPOINT: dict[str, Any] = {
    "checkpoint_id": 7,
    "trigger_time": noon(60.001),
    "observed_at": noon(61),
}
SIZES = {"state_bytes": 5_000_000_000, "checkpointed_bytes": 4_000_000_000}
DONE = CHECKPOINT | SIZES | {"status": "COMPLETED", "end_to_end_ms": 900, "is_savepoint": False}
PART = CHECKPOINT | {
    "vertex_id": VERTEX,
    "status": "COMPLETED",
    "subtask_ack_time": [noon(60.5), None],
    "subtask_end_to_end_ms": [499, None],
}
LINES = [
    {"kind": "job_submitted", "job_name": "a", "ts": noon(2)},
    {"kind": "tm_registered", "job_id": None},
]


def parts(spark: SparkSession) -> dict[str, DataFrame]:
    return {
        "answers": lake_rows(spark, "jobs", ANSWERS),
        "checkpoints": lake_rows(spark, "checkpoints", [DONE]),
        "vertex_checkpoints": lake_rows(spark, "vertex_checkpoints", [PART]),
        "events": events(spark, LINES),
    }


def states(spark: SparkSession, **packed: bytes) -> DataFrame:
    rows = [
        (cluster, job_id, bytearray(state))
        for cluster, (job_id, state) in zip("cc", packed.items(), strict=False)
    ]
    return spark.createDataFrame(rows, "cluster string, job_id string, state binary")


@pytest.fixture(scope="module")
def jobs(spark: SparkSession) -> dict[tuple[str, str | None], Group]:
    """What is folded, by cluster and job; batches of two rows, so that none holds a whole job."""
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "2")
    batches = folding.group_rows(parts(spark)).toArrow().to_batches(max_chunksize=2)
    spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    return {group.key: group for group in job_groups(batches)}


@pytest.fixture(scope="module")
def outcome(spark: SparkSession) -> tuple[Tables, list[dict[str, Any]]]:
    """What comes out, where what is remembered of one job cannot be read."""
    return folded({"state": states(spark, **{OTHER: b"broken"}), **parts(spark)})


@pytest.fixture(scope="module")
def tables(outcome: tuple[Tables, list[dict[str, Any]]]) -> Tables:
    return outcome[0]


def test_jobs_of_clusters_and_ids_are_kept_apart(jobs: dict) -> None:
    names = {
        key: [answer["name"] for answer in job.rows("answers")]
        for key, job in jobs.items()
        if job.rows("answers")
    }
    assert names == {("c", JOB): ["a"], ("d", JOB): ["b"], ("c", OTHER): ["c"]}


def test_a_line_that_names_no_job_is_of_none(jobs: dict) -> None:
    assert {
        key: [event["kind"] for event in job.rows("events")]
        for key, job in jobs.items()
        if job.rows("events")
    } == {
        ("c", JOB): ["job_submitted"],
        ("c", None): ["tm_registered"],
    }


def test_instants_are_epoch_milliseconds_wherever_they_are(jobs: dict) -> None:
    job = jobs["c", JOB]
    (answer,), (part,) = job.rows("answers"), job.rows("vertex_checkpoints")
    assert (answer["observed_at"], answer["state_since"]) == (
        EPOCH_MS(1.5),
        [{"state": "RUNNING", "since": EPOCH_MS(-9.25)}],
    )
    assert (part["trigger_time"], part["subtask_ack_time"]) == (
        EPOCH_MS(60.001),
        [EPOCH_MS(60.5), None],
    )


def test_what_is_unknown_is_none_and_numbers_stay_whole(jobs: dict) -> None:
    (part,), (done,) = jobs["c", JOB].rows("vertex_checkpoints"), jobs["c", JOB].rows("checkpoints")
    (answer,) = jobs["c", OTHER].rows("answers")
    assert (part["subtask_end_to_end_ms"], part["subtask_sync_ms"], done["external_path"]) == (
        [499, None],
        None,
        None,
    )
    assert (done["state_bytes"], done["is_savepoint"], type(done["state_bytes"])) == (
        5_000_000_000,
        False,
        int,
    )
    assert [(one["vertex_id"], one["parallelism"]) for one in answer["vertices"]] == [
        (VERTEX, None)
    ]


def test_facts_come_back_with_their_types_and_instants(tables: Tables) -> None:
    (fact,) = tables["checkpoint_fact"]
    assert (fact["cluster"], fact["job_id"], fact["checkpoint_id"]) == ("c", JOB, 7)
    assert (fact["trigger_time"], fact["end_time"], fact["as_of"]) == (
        noon(60.001),
        noon(60.901),
        noon(61),
    )
    assert (fact["state_bytes"], fact["final"], fact["reason"]) == (5_000_000_000, True, None)


def test_events_are_served_whether_they_name_a_job_or_none(tables: Tables) -> None:
    assert {(row["job_id"], row["kind"], row["fields"]) for row in tables["log_event"]} == {
        (JOB, "job_submitted", '{"job_name":"a"}'), (None, "tm_registered", "{}"),
    }  # fmt: skip


def test_a_job_that_cannot_be_folded_is_left_out_with_its_reason_and_the_others_are_not(
    outcome: tuple,
) -> None:
    tables, beside = outcome
    assert {(row["cluster"], row["job_id"], row["name"]) for row in tables["job_current"]} == {
        ("c", JOB, "a"),
        ("d", JOB, "b"),
    }
    (skipped,) = tables["skipped_input"]
    assert (skipped["cluster"], skipped["subject"], skipped["source"]) == (
        "c",
        f"job {OTHER}",
        "cycle",
    )
    assert [row["state"] for row in beside if row["job_id"] == OTHER] == [b"broken"]


def test_a_job_without_news_keeps_its_state_and_nothing_is_told_of_it(spark: SparkSession) -> None:
    tables, (row,) = folded({"state": states(spark, **{OTHER: b"known"})})
    assert (row["job_id"], row["state"]) == (OTHER, b"known")
    assert not any(tables.values())


def test_a_state_comes_back_as_it_went(spark: SparkSession, outcome: tuple) -> None:
    before = {
        (row["cluster"], row["job_id"]): row["state"] for row in outcome[1] if row["job_id"] == JOB
    }
    carried = spark.createDataFrame(
        [(*key, bytearray(state)) for key, state in before.items()],
        "cluster string, job_id string, state binary",
    )
    tables, beside = folded(
        {
            "state": carried,
            **{name: rows for name, rows in parts(spark).items() if name == "answers"},
        }
    )
    assert {
        unpacked(row["state"]).facts[0]["checkpoint_id"]
        for row in beside
        if (row["cluster"], row["job_id"]) == ("c", JOB)
    } == {7}
    assert tables["checkpoint_fact"] == []


def test_windows_have_the_name_of_their_vertex_in_the_newest_plan(spark: SparkSession) -> None:
    samples = [
        {"vertex_id": VERTEX, "ts": noon(1), "observed_at": noon(1), "busy_ms_per_s": [900.0, 0.0]}
    ]
    plans = [
        {"observed_at": noon(at), "vertices": [{"vertex_id": VERTEX, "name": name}]}
        for at, name in ((1, "old"), (9, "new"))
    ]
    told = lake_rows(spark, "vertex_metrics", samples).select(*SAMPLE, F.lit(True).alias(IS_NEW))
    (row,) = table(
        "pressure_window",
        samples=told,
        answers=lake_rows(spark, "jobs", [*plans, {"observed_at": noon(20)}]),
    )
    assert (row["vertex_name"], row["busy_ms_per_s_max"], row["window_start"], row["as_of"]) == (
        "new",
        900.0,
        noon(0),
        noon(1),
    )


FAILED = {
    "ts": noon(5),
    "task": "map (1/2) - execution #0",
    "exception_name": "java.io.IOException",
    "is_root": True,
}


def failures(spark: SparkSession, *rows: dict[str, Any]) -> list[Any]:
    return table("job_exception", exceptions=served(lake_rows(spark, "exceptions", rows)))


def served(exceptions: DataFrame) -> DataFrame:
    return WorkerRows(exceptions, exception_batches, EXCEPTION).frame()


def test_an_exception_that_every_poll_repeats_is_one(spark: SparkSession) -> None:
    (row,) = failures(spark, FAILED | {"observed_at": noon(10)}, FAILED | {"observed_at": noon(40)})
    assert (row["task"], row["is_root"], row["as_of"]) == (
        "map (1/2) - execution #0",
        True,
        noon(40),
    )


def test_a_root_exception_stays_one_though_a_later_answer_lists_it_among_the_concurrent_ones(
    spark: SparkSession,
) -> None:
    (row,) = failures(spark, FAILED, FAILED | {"is_root": False, "observed_at": noon(99)})
    assert row["is_root"] is True


def test_recorded_failures_are_there_once(spark: SparkSession) -> None:
    """1.20.5/J fails five times, and every poll lists all failures so far."""
    rows = table("job_exception", exceptions=served(recorded_rows(spark, "1.20.5/J", "exceptions")))
    assert len({row["ts"] for row in rows if row["is_root"]}) == 5
    assert {row["exception_name"] for row in rows} == {"java.lang.RuntimeException"}
    assert len({(row["ts"], row["task_key"], row["exception_name"]) for row in rows}) == len(rows)


def test_what_was_skipped_twice_in_one_reading_is_one_row(spark: SparkSession) -> None:
    skip = {
        "subject": "/jobs/1",
        "reason": "bad_json",
        "detail": "expected an object",
        "observed_at": noon(3),
    }
    skips = WorkerRows(
        lake_rows(spark, "skips", [skip, skip | {"commit_seq": 2}]), skip_batches, SKIP
    ).frame()
    (row,) = table("skipped_input", skips=skips)
    assert (row["subject"], row["reason"], row["detail"], row["as_of"]) == (
        "/jobs/1",
        "bad_json",
        "expected an object",
        noon(3),
    )
