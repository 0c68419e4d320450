"""What happened to the jobs of real clusters, as ``events.jsonl`` of each recording tells it."""

import json
from collections import Counter
from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession
from spark_jobs.transforms.annotations import annotations
from spark_jobs.transforms.checkpoint_facts import checkpoint_facts
from spark_jobs.transforms.job_current import job_current
from spark_jobs.transforms.size_trend import size_trends

from spark_jobs.transforms.rollups import rollups
from tests.spark_jobs.recorded import recorded_events, recorded_rows
from tests.spark_jobs.rows import collected, lake_rows, only, serving_frame

Facts = Callable[[str], DataFrame]


@pytest.fixture(scope="module")
def recorded_facts(spark: SparkSession) -> Facts:
    """Facts of a recording, computed once."""
    known: dict[str, DataFrame] = {}

    def facts(recording: str) -> DataFrame:
        if recording not in known:
            rows = {
                table: recorded_rows(spark, recording, table) for table in ("checkpoints", "vertex_checkpoints", "jobs", "vertex_metrics")
            }
            hosts = rows["vertex_metrics"].select("cluster", "job_id", "vertex_id", "ts", "host", "attempt")
            log = recorded_events(spark, recording)
            known[recording] = checkpoint_facts(rows["checkpoints"], rows["vertex_checkpoints"], log, rows["jobs"], hosts).cache()
        return known[recording]

    return facts


def test_five_failures_are_five_restarts_from_five_checkpoints(spark: SparkSession, recorded_facts: Facts) -> None:
    """1.20.5/J throws on enrich/1 about every ten seconds."""
    jobs, log = recorded_rows(spark, "1.20.5/J", "jobs"), recorded_events(spark, "1.20.5/J")
    rows = collected(annotations(jobs, recorded_facts("1.20.5/J"), log))
    assert Counter(row["kind"] for row in rows) == {"deploy": 1, "failure": 5, "restart": 5, "restore": 5, "terminal": 1}
    assert sorted(int(row["subject"]) for row in rows if row["kind"] == "restore") == [3, 6, 9, 12, 15]
    assert {row["label"] for row in rows if row["kind"] == "failure"} == {"enrich failed"}
    assert all(1900 < json.loads(row["detail"])["downtime_ms"] < 2200 for row in rows if row["kind"] == "restart")


def test_rest_alone_and_rest_with_the_log_agree_on_every_key(spark: SparkSession, recorded_facts: Facts) -> None:
    """So that a log that is collected later adds annotations, and moves none."""
    jobs, nothing = recorded_rows(spark, "1.20.5/J", "jobs"), recorded_facts("1.20.5/J").limit(0)
    log = recorded_events(spark, "1.20.5/J")
    key = ("kind", "at", "subject")
    without = {tuple(row[name] for name in key) for row in collected(annotations(jobs, nothing, log.limit(0)))}
    both = {tuple(row[name] for name in key) for row in collected(annotations(jobs, nothing, log))}
    assert without <= both
    assert len([kind for kind, _, _ in without if kind == "restart"]) == 5


def test_every_kill_of_a_taskmanager_is_followed_by_restarts(spark: SparkSession, recorded_facts: Facts) -> None:
    """1.20.5/I: a killed TaskManager makes the job restart until its slots are free again, at most once a second."""
    jobs, log = recorded_rows(spark, "1.20.5/I", "jobs"), recorded_events(spark, "1.20.5/I")
    rows = collected(annotations(jobs, recorded_facts("1.20.5/I"), log))
    restores = {row["subject"] for row in rows if row["kind"] == "restore"}
    assert restores == {"3", "6", "9", "12", "15"}
    assert 5 <= sum(row["kind"] == "restart" for row in rows) <= 19


def test_each_restored_job_says_from_what_and_who_owns_it(spark: SparkSession, recorded_facts: Facts) -> None:
    """1.20.5/H: three restores each by LEGACY, two by NO_CLAIM, three by CLAIM."""
    jobs, log = recorded_rows(spark, "1.20.5/H", "jobs"), recorded_events(spark, "1.20.5/H")
    restores = [row for row in collected(annotations(jobs, recorded_facts("1.20.5/H"), log)) if row["kind"] == "restore"]
    modes = Counter((row["label"].split()[2], json.loads(row["detail"])["claim_mode"]) for row in restores)
    assert modes == {("savepoint", "NO_CLAIM or LEGACY"): 5, ("checkpoint", "CLAIM"): 3}
    assert len({row["job_id"] for row in restores}) == 8


def test_savepoints_of_1_12_are_annotated_and_its_one_size_gives_no_trend(spark: SparkSession, recorded_facts: Facts) -> None:
    """1.12.5/G: savepoints 7, 11 and 15; sizes are the uploaded ones, which say nothing about the state."""
    jobs, log = recorded_rows(spark, "1.12.5/G", "jobs"), recorded_events(spark, "1.12.5/G")
    notes = annotations(jobs, recorded_facts("1.12.5/G"), log)
    assert sorted(int(row["subject"]) for row in collected(notes.filter("kind = 'savepoint'"))) == [7, 11, 15]
    trend = only(size_trends(recorded_facts("1.12.5/G"), notes))
    assert (trend["points"], trend["bytes_per_h"]) == (0, None)
    assert [change["kind"] for change in json.loads(trend["change_points"])] == ["savepoint"] * 3


def test_the_fleet_row_of_a_failing_job(spark: SparkSession, recorded_facts: Facts) -> None:
    jobs, log = recorded_rows(spark, "1.20.5/J", "jobs"), recorded_events(spark, "1.20.5/J")
    row = only(job_current(jobs, recorded_facts("1.20.5/J"), serving_frame(spark, "pressure_window", []), log))
    assert (row["name"], row["state"], row["terminal"], row["restarts"]) == ("lab-J-failing", "CANCELED", True, 5)
    assert (row["last_completed_id"], row["restored_checkpoint_id"], row["restored_is_savepoint"]) == (17, 15, False)
    assert (row["state_bytes"], row["flink_version"], row["vertex_count"]) == (4130255, "1.20.5", 4)
    assert json.loads(row["checkpoint_config"])["mode"] == "exactly_once"


def test_the_log_alone_knows_the_job_too(spark: SparkSession, recorded_facts: Facts) -> None:
    """State, restarts, restore and end agree with what REST said."""
    log = recorded_events(spark, "1.20.5/J")
    row = only(
        job_current(lake_rows(spark, "jobs", []), recorded_facts("1.20.5/J").limit(0), serving_frame(spark, "pressure_window", []), log)
    )
    assert (row["name"], row["state"], row["restarts"], row["restored_checkpoint_id"]) == ("lab-J-failing", "CANCELED", 5, 15)


def test_the_refusals_of_its_start_are_in_the_hour(spark: SparkSession, recorded_facts: Facts) -> None:
    """1.20.5/J: 17 completed; REST counted 20, as three refusals took no id."""
    row = only(rollups(recorded_facts("1.20.5/J"), recorded_events(spark, "1.20.5/J")).filter("period = 'hour'"))
    assert (row["completed_count"], row["preflight_refusals"]) == (17, 3)
