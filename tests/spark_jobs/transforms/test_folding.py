"""From frames to plain rows and back: what one job is folded from, and what comes out of it."""

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.fold.judging import Settings
from spark_jobs.transforms import folding
from spark_jobs.transforms.fold_batches import jobs_of
from tests.rows import EPOCH_MS
from tests.spark_jobs.rows import JOB, VERTEX, collected, events, facts, lake_rows, noon

OTHER = "0" * 31 + "2"
JOBS = {("c", JOB), ("c", OTHER), ("d", JOB)}

ANSWERS: list[dict[str, Any]] = [
    {"name": "a", "observed_at": noon(1.5), "state_since": [{"state": "RUNNING", "since": noon(-9.25)}]},
    {"name": "b", "cluster": "d"},
    {"name": "c", "job_id": OTHER, "vertices": [{"vertex_id": VERTEX, "name": "map", "parallelism": None}]},
]
CHECKPOINT: dict[str, Any] = {"checkpoint_id": 7, "trigger_time": noon(60.001), "observed_at": noon(61)}
DONE = CHECKPOINT | {"status": "COMPLETED", "state_bytes": 5_000_000_000, "end_to_end_ms": 900, "is_savepoint": False}
PART = CHECKPOINT | {"vertex_id": VERTEX, "subtask_ack_time": [noon(60.5), None], "subtask_end_to_end_ms": [499, None]}
LINES = [{"kind": "job_submitted", "job_name": "a", "ts": noon(2)}, {"kind": "tm_registered", "job_id": None}]


def nested(spark: SparkSession, known: list[dict[str, Any]], states: list[tuple[str, str, bytearray]], is_partial: bool) -> DataFrame:
    news = {
        "answers": lake_rows(spark, "jobs", ANSWERS),
        "checkpoints": lake_rows(spark, "checkpoints", [DONE]),
        "vertex_checkpoints": lake_rows(spark, "vertex_checkpoints", [PART]),
        "events": events(spark, LINES),
    }
    since = folding.earliest([(news["answers"], "observed_at")])
    return folding.jobs(news, since, facts(spark, known), spark.createDataFrame(states, folding.STATE_SCHEMA), is_partial)


@pytest.fixture(scope="module")
def jobs(spark: SparkSession) -> dict[tuple[str, str], dict[str, Any]]:
    """What is folded, by cluster and job."""
    frame = nested(spark, [{"checkpoint_id": 3}, {"checkpoint_id": 9, "cluster": "e"}], [("c", JOB, bytearray(b"known"))], True)
    return {(job["cluster"], job["job_id"]): job for batch in frame.toArrow().to_batches() for job in jobs_of(batch)}


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> dict[str, list[dict[str, Any]]]:
    """What comes out, where nothing is remembered, and what is remembered of one job cannot be read."""
    result = folding.folded(nested(spark, [], [("c", OTHER, bytearray(b"broken"))], False), Settings()).localCheckpoint()
    return {name: collected(frame) for name, frame in folding.tables(result).items() if name in ("checkpoint_fact", "job_current")}


def test_jobs_of_clusters_and_ids_are_kept_apart(jobs: dict) -> None:
    assert {key: [answer["name"] for answer in job["answers"]] for key, job in jobs.items()} == {
        ("c", JOB): ["a"], ("d", JOB): ["b"], ("c", OTHER): ["c"],
    }  # fmt: skip


def test_a_line_that_names_no_job_is_of_none(jobs: dict) -> None:
    assert [event["kind"] for job in jobs.values() for event in job["events"]] == ["job_submitted"]


def test_instants_are_epoch_milliseconds_wherever_they_are(jobs: dict) -> None:
    job = jobs["c", JOB]
    (answer,), (part,) = job["answers"], job["vertex_checkpoints"]
    assert (answer["observed_at"], answer["state_since"]) == (EPOCH_MS(1.5), [{"state": "RUNNING", "since": EPOCH_MS(-9.25)}])
    assert (part["trigger_time"], part["subtask_ack_time"]) == (EPOCH_MS(60.001), [EPOCH_MS(60.5), None])


def test_what_is_unknown_is_none_and_numbers_stay_whole(jobs: dict) -> None:
    (part,), (done,), (answer,) = jobs["c", JOB]["vertex_checkpoints"], jobs["c", JOB]["checkpoints"], jobs["c", OTHER]["answers"]
    assert (part["subtask_end_to_end_ms"], part["subtask_sync_ms"], done["external_path"]) == ([499, None], None, None)
    assert (done["state_bytes"], done["is_savepoint"], type(done["state_bytes"])) == (5_000_000_000, False, int)
    assert [(one["vertex_id"], one["parallelism"]) for one in answer["vertices"]] == [(VERTEX, None)]


def test_a_job_has_what_is_remembered_of_it_and_facts_of_jobs_without_news_stay_behind(jobs: dict) -> None:
    assert {key: job["state"] for key, job in jobs.items()} == {("c", JOB): b"known", ("d", JOB): None, ("c", OTHER): None}
    assert [(one["checkpoint_id"], one["trigger_time"]) for one in jobs["c", JOB]["facts"]] == [(3, EPOCH_MS(180))]
    assert jobs.keys() == JOBS
    assert all(job["is_partial"] for job in jobs.values())


def test_facts_come_back_with_their_types_and_instants(tables: dict) -> None:
    (fact,) = tables["checkpoint_fact"]
    assert (fact["cluster"], fact["job_id"], fact["checkpoint_id"]) == ("c", JOB, 7)
    assert (fact["trigger_time"], fact["end_time"], fact["as_of"]) == (noon(60.001), noon(60.901), noon(61))
    assert (fact["state_bytes"], fact["final"], fact["late_subtask_share"], fact["reason"]) == (5_000_000_000, True, 1.0, None)


def test_a_job_that_cannot_be_folded_is_left_out_and_the_others_are_not(tables: dict) -> None:
    assert {(row["cluster"], row["job_id"], row["name"]) for row in tables["job_current"]} == {("c", JOB, "a"), ("d", JOB, "b")}


def test_windows_looked_back_to_get_whole_facts_and_trends_the_sizes_of_all(spark: SparkSession) -> None:
    rows = [{"checkpoint_id": number, "trigger_time": noon(60 * (number - 100))} for number in range(1, 101)]
    (job,) = (job for batch in nested(spark, rows, [], True).toArrow().to_batches() for job in jobs_of(batch) if job["facts"])
    assert sorted(one["checkpoint_id"] for one in job["facts"]) == list(range(41, 101))
    assert sorted(one["checkpoint_id"] for one in job["sizes"]) == list(range(1, 101))
