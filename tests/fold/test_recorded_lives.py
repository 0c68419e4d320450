"""What happened to the jobs of real clusters, as ``events.jsonl`` of each recording tells it."""

import json
from collections import Counter
from functools import cache
from typing import Any

import pytest

from spark_jobs.fold.job import JobResult
from spark_jobs.fold.job_update import JobUpdate
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.fold.state import JobState
from tests.fold.pieces import told as told_by
from tests.fold.recorded import recorded_job, recorded_jobs
from tests.ingest.recorded import ALL, RECORDINGS


@cache
def lives(recording: str) -> list[JobResult]:
    """All jobs of a recording, folded once."""
    return [told(job) for job in recorded_jobs(recording)]


@cache
def life(recording: str) -> JobResult:
    """Of the only job."""
    return told(recorded_job(recording))


def told(job: JobUpdate) -> JobResult:
    return told_by(job, JobState(), Settings())


def keys(result: JobResult) -> set[tuple[Any, ...]]:
    return {
        (row["kind"], row["at"], row["subject"])
        for row in result.annotations
        if row["kind"] != "savepoint"
    }


def test_five_failures_are_five_restarts_from_five_checkpoints() -> None:
    """1.20.5/J throws on enrich/1 about every ten seconds."""
    rows = life("1.20.5/J").annotations
    assert Counter(row["kind"] for row in rows) == {
        "deploy": 1,
        "failure": 5,
        "restart": 5,
        "restore": 5,
        "terminal": 1,
    }
    assert sorted(int(row["subject"]) for row in rows if row["kind"] == "restore") == [
        3,
        6,
        9,
        12,
        15,
    ]
    assert {row["label"] for row in rows if row["kind"] == "failure"} == {"enrich failed"}
    assert all(
        2200 < row["detail"]["downtime_ms"] < 2700 for row in rows if row["kind"] == "restart"
    )


def test_rest_alone_and_rest_with_the_log_agree_on_every_key() -> None:
    """So that a log that is collected later adds annotations, and moves none."""
    job = recorded_job("1.20.5/J")
    without = keys(told(JobUpdate(job.cluster, job.job_id, answers=job.answers)))
    both = keys(life("1.20.5/J"))
    assert without <= both
    assert len([kind for kind, _, _ in without if kind == "restart"]) == 5


def test_every_kill_of_a_taskmanager_is_followed_by_restarts() -> None:
    """1.20.5/I: a killed TaskManager makes the job restart until its slots are free again, at most
    once a second.
    """
    rows = life("1.20.5/I").annotations
    assert {row["subject"] for row in rows if row["kind"] == "restore"} == {
        "3",
        "6",
        "9",
        "12",
        "15",
    }
    assert 5 <= sum(row["kind"] == "restart" for row in rows) <= 19


def test_each_restored_job_says_from_what_and_who_owns_it() -> None:
    """1.20.5/H: three restores each by LEGACY, two by NO_CLAIM, three by CLAIM."""
    restores = [
        [row for row in job.annotations if row["kind"] == "restore"] for job in lives("1.20.5/H")
    ]
    every = [row for of_job in restores for row in of_job]
    modes = Counter((row["label"].split()[2], row["detail"]["claim_mode"]) for row in every)
    assert modes == {("checkpoint", "NO_CLAIM or LEGACY"): 5, ("checkpoint", "CLAIM"): 3}
    assert sum(bool(of_job) for of_job in restores) == 8


def test_savepoints_of_1_12_are_annotated_and_its_one_size_gives_no_trend() -> None:
    """1.12.5/G: savepoints 7, 11 and 15; sizes are the uploaded ones, which say nothing about the
    state.
    """
    found = life("1.12.5/G")
    assert sorted(
        int(row["subject"]) for row in found.annotations if row["kind"] == "savepoint"
    ) == [7, 11, 15]
    assert found.trend is not None
    assert (found.trend["points"], found.trend["bytes_per_h"]) == (0, None)


def test_the_fleet_row_of_a_failing_job() -> None:
    row = life("1.20.5/J").current
    assert (row["name"], row["state"], row["terminal"], row["restarts"]) == (
        "lab-J-failing",
        "CANCELED",
        True,
        5,
    )
    assert (
        row["last_completed_id"],
        row["restored_checkpoint_id"],
        row["restored_is_savepoint"],
    ) == (17, 15, False)
    assert (row["state_bytes"], row["flink_version"], row["vertex_count"]) == (4130255, "1.20.5", 4)
    assert row["checkpoint_config"]["mode"] == "exactly_once"


def test_the_log_alone_knows_the_job_too() -> None:
    """State, restarts, restore and end agree with what REST said."""
    job = recorded_job("1.20.5/J")
    row = told(JobUpdate(job.cluster, job.job_id, events=job.events)).current
    assert (row["name"], row["state"], row["restarts"], row["restored_checkpoint_id"]) == (
        "lab-J-failing",
        "CANCELED",
        5,
        15,
    )


@pytest.mark.parametrize("recording", ALL)
def test_the_minutes_of_a_recording_make_no_rate(recording: str) -> None:
    """Spans by Flink's own answers: none reaches an hour, although all but a few hold many
    completed checkpoints.
    """
    completed: list[int] = []
    for line in (RECORDINGS / recording / "rest.jsonl").open(encoding="utf-8"):
        answer = json.loads(line)
        if answer["status"] == 200 and answer["path"].endswith("/checkpoints"):
            completed += [
                one["latest_ack_timestamp"]
                for one in answer["body"]["history"]
                if one["status"] == "COMPLETED"
            ]
    assert max(completed) - min(completed) < 3_600_000
    for job in lives(recording):
        assert job.trend is None or {
            job.trend[name] for name in ("bytes_per_h", "bytes_per_h_low")
        } == {None}
