"""What slow tasks of a start did: recorded answers of real Flinks (``slow-restore``), on findings,
starts, API, command and reports.
"""

import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from ingest.flink_rest.answers import Answer, JobAnswers
from ingest.flink_rest.payloads.thread_dump import thread_dump
from ingest.flink_rest.starting_tasks import StartingTask, slow_tasks, taskmanagers_of
from ingest.flink_rest.thread_dumps import ThreadDumpAnswer
from tests.webapp.builders import cluster, finding, job
from webapp.fleet.models import JobCurrent, JobStart
from webapp.profiles.models import StartingThread, ThreadDump
from webapp.profiles.starting_threads import keep_starting

FOLDER = Path(__file__).parents[2] / "fixtures" / "thread_dumps" / "starting"
VERSIONS = ("1.20.5", "2.3.0")
SLEEPS = "in lab.Enrich.initializeState"


class Reading:
    """What was answered at one of the two times: ``while restoring`` is the first, ``all run`` the
    second.
    """

    def __init__(self, version: str, time: str) -> None:
        lines = [
            json.loads(line)
            for line in gzip.decompress((FOLDER / f"{version}.jsonl.gz").read_bytes()).splitlines()
        ]
        half = len(lines) // 2
        self.lines = lines[:half] if time == "while restoring" else lines[half:]
        vertices = {
            one["path"].rpartition("/")[2]: one for one in self.lines if "/vertices/" in one["path"]
        }
        self.job_id = next(iter(vertices.values()))["path"].split("/")[2]
        answers = {
            key: Answer(one["path"], datetime.fromtimestamp(one["ts"], UTC), one["body"])
            for key, one in vertices.items()
        }
        self.slow = slow_tasks(JobAnswers(self.job_id, vertices=answers))

    def dumped(self) -> list[ThreadDumpAnswer]:
        return [
            ThreadDumpAnswer(
                one["path"].split("/")[2],
                datetime.fromtimestamp(one["ts"], UTC),
                thread_dump(one["body"]),
            )
            for one in self.lines
            if one["path"].endswith("/thread-dump")
        ]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_task_that_restores_for_ten_seconds_is_slow_and_one_that_runs_is_not(
    version: str,
) -> None:
    (task,) = Reading(version, "while restoring").slow
    assert ("enrich" in task.vertex_name, task.subtask, task.state) == (True, 0, "INITIALIZING")
    assert timedelta(seconds=10) <= task.at - task.deploying_at < timedelta(seconds=20)
    assert Reading(version, "all run").slow == []


def test_taskmanagers_with_most_slow_tasks_are_dumped_first() -> None:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    tasks = [
        StartingTask("j", "v", "map", number, of, "DEPLOYING", at, at)
        for number, of in enumerate(("a", "b", "b", "c"))
    ]
    assert taskmanagers_of(tasks, 2) == ("b", "a")


def test_an_answer_that_is_none_has_no_slow_task() -> None:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    assert (
        slow_tasks(
            JobAnswers(
                "j", vertices={"v": Answer("/", at, {"subtasks": [7]}), "w": Answer("/", at, None)}
            )
        )
        == []
    )


@pytest.mark.django_db
@pytest.mark.parametrize("version", VERSIONS)
def test_of_a_task_that_ran_before_its_thread_was_dumped_nothing_is_kept(version: str) -> None:
    slow = Reading(version, "while restoring").slow
    keep_starting("c", slow, Reading(version, "all run").dumped())
    assert not StartingThread.objects.exists()
    keep_starting("c", slow, Reading(version, "while restoring").dumped())
    assert SLEEPS in StartingThread.objects.get().sentence


@pytest.fixture(params=VERSIONS)
def started(request: pytest.FixtureRequest, db: None) -> Callable[[], JobCurrent]:
    """The job that was played, with its start; slow tasks were dumped while it was under way."""

    def make() -> JobCurrent:
        reading = Reading(request.param, "while restoring")
        (task,) = reading.slow
        cluster("c", at=task.at)
        of = job("c", at=task.at + timedelta(minutes=10), job_id=reading.job_id)
        times = {
            "at": task.deploying_at - timedelta(seconds=1),
            "begun_at": task.deploying_at,
            "running_at": task.at + timedelta(seconds=5),
        }
        durations = {"total_ms": 15_000, "slots_ms": 0, "deploy_ms": 100, "held_up_ms": 14_000}
        detail = {"slowest": [], "vertices": [], "taskmanagers": [], "hosts": []}
        told = {
            "kind": "restart",
            "tasks": 9,
            "stragglers": 1,
            "reported_by": "rest",
            "detail": detail,
            "as_of": task.at,
        }
        JobStart.objects.create(
            cluster="c",
            job_id=of.job_id,
            deployed_at=task.deploying_at,
            **times,
            **durations,
            **told,
        )
        keep_starting("c", reading.slow, reading.dumped())
        return of

    return make


def test_the_finding_of_a_slow_start_says_what_the_slow_task_did(
    started: Callable[[], JobCurrent], viewer: Client
) -> None:
    of = started()
    thread = StartingThread.objects.get()
    found = finding(
        of,
        "start.slow_phase",
        thread.at + timedelta(seconds=5),
        data={"vertex_ids": [thread.vertex_id]},
    )
    other = finding(
        of,
        "start.slow_phase",
        thread.at + timedelta(seconds=5),
        subject_id="x",
        data={"vertex_ids": ["f" * 32]},
    )
    page = viewer.get(reverse("finding", args=(found.pk,))).content.decode()
    assert SLEEPS in page and "What slow tasks did" in page
    assert SLEEPS not in (
        without := viewer.get(reverse("finding", args=(other.pk,))).content.decode()
    )
    assert "WEIR_START_DUMPS=1" in without
    (told,) = viewer.get(reverse("api-findings-detail", args=(found.pk,))).json()[
        "starting_threads"
    ]
    assert SLEEPS in told["sentence"] and told["after_ms"] >= 10_000
    assert ThreadDump.objects.filter(cluster="c").exists()


def test_the_analysis_of_starts_says_it_too(
    started: Callable[[], JobCurrent], viewer: Client
) -> None:
    of = started()
    thread = StartingThread.objects.get()
    (told,) = threads_in_starts(viewer, of)
    assert (told["task"], told["subtask"], told["does"]) == (thread.vertex, 0, thread.sentence)
    assert SLEEPS in told["does"] and told["after_ms"] >= 10_000


def threads_in_starts(viewer: Client, of: JobCurrent) -> list[dict[str, Any]]:
    found = viewer.get(reverse("api-job-analysis-starts", args=("c", of.job_id))).json()
    (table,) = [one for one in found["blocks"] if one.get("key") == "threads"]
    return table["rows"]


def test_a_dump_of_another_start_is_not_taken_for_this_one(
    started: Callable[[], JobCurrent], viewer: Client
) -> None:
    of = started()
    later = StartingThread.objects.get().at + timedelta(minutes=5)
    JobStart.objects.update(at=later, running_at=later + timedelta(minutes=1))
    assert threads_in_starts(viewer, of) == []
