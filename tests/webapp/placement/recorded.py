"""Recorded jobs as the web has them: Flink's answers in a lake, the job's row as a cycle makes it;
and recounts of the raw answers.
"""

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from spark_jobs.serving import JOB_CURRENT
from tests.first_cycles import served
from webapp.fleet.models import JobCurrent

FIXTURES = Path(__file__).parents[2] / "fixtures"


def taken_up(recording: str, home: Path) -> list[JobCurrent]:
    """``recordings/<version>/<scenario>`` or ``incidents/…`` → the saved rows of its jobs; the lake
    is that of the home.
    """
    return JobCurrent.objects.bulk_create(
        JobCurrent(**row) for row in served(FIXTURES / recording, home, JOB_CURRENT)
    )


def answers(recording: str) -> list[dict[str, Any]]:
    """Flink's good answers in order of time, with their times in seconds."""
    plain, packed = FIXTURES / recording / "rest.jsonl", FIXTURES / recording / "rest.jsonl.gz"
    text = (
        plain.read_text("utf-8")
        if plain.exists()
        else gzip.decompress(packed.read_bytes()).decode()
    )
    told = (json.loads(line) for line in text.splitlines())
    return sorted((one for one in told if one["status"] == 200), key=lambda one: one["ts"])


def subtasks(recording: str, job_id: str) -> dict[str, list[str | None]]:
    """By vertex: the TaskManager of each subtask in the newest answer that had all of them
    placed.
    """
    found = {}
    for told in answers(recording):
        parts = told["path"].split("?")[0].strip("/").split("/")
        if len(parts) == 4 and parts[:3] == ["jobs", job_id, "vertices"]:
            placed = [
                one.get("taskmanager-id")
                for one in told["body"]["subtasks"]
                if one["status"] == "RUNNING"
            ]
            if len(placed) == len(told["body"]["subtasks"]):
                found[parts[3]] = placed
    return found


def tasks_of(recording: str, job_id: str) -> Counter[str]:
    return Counter(
        taskmanager for placed in subtasks(recording, job_id).values() for taskmanager in placed
    )


def redeployed_tasks(recording: str) -> list[int]:
    """How many tasks each restart deployed, by the log of the JobManager."""
    (log,) = (FIXTURES / recording / "logs").glob("*standalonesession*.log")
    attempts = re.findall(
        r" Deploying (.+? \(\d+/\d+\)) \(attempt #(\d+)\)", log.read_text("utf-8")
    )
    return [
        count
        for attempt, count in Counter(attempt for _task, attempt in set(attempts)).items()
        if attempt != "0"
    ]
