"""Incidents that a real Flink played for the lab (``tests/fixtures/incidents``): what Weir finds,
and Flink's raw answers beside it.

What is asked of is ``<version>/<incident>``, or ``<version>/<incident>:<job name>`` where several
jobs were played side by side.
"""

import gzip
import json
import re
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from spark_jobs.serving import FINDING_OCCURRENCE
from tests.first_cycles import served

FOLDER = Path(__file__).parent / "fixtures" / "incidents"


class Answer(NamedTuple):
    """What Flink answered at a time (seconds since 1970); ``found`` are the groups of the pattern
    it was asked for by.
    """

    at: float
    found: tuple[str, ...]
    body: Any


@cache
def _judged(played: str) -> tuple[dict[str, Any], ...]:
    """What a run of the cycle in this process leaves."""
    with tempfile.TemporaryDirectory() as folder:
        rows = served(FOLDER / played, Path(folder), FINDING_OCCURRENCE)
    return tuple(
        sorted(rows, key=lambda row: (row["window_start"], row["rule"], row["subject_id"]))
    )


def of_rule(played: str, rule: str) -> list[dict[str, Any]]:
    return [one for one in occurrences(played) if one["rule"] == rule]


def occurrences(played: str) -> list[dict[str, Any]]:
    """All findings, in order of their windows."""
    folder, _, job = played.partition(":")
    return [one for one in _judged(folder) if job in ("", one["job_name"])]


def evidence(occurrence: dict[str, Any], name: str) -> Any:
    """The value of its evidence of this name."""
    (value,) = [one["value"] for one in occurrence["evidence"] if one["name"] == name]
    return value


def answers(played: str, path: str) -> Iterator[Answer]:
    """Flink's good answers whose path matches the whole pattern, in order of time."""
    folder, _, job = played.partition(":")
    below = f"/jobs/{_job_ids(folder)[job]}" if job else ""
    for told in _told(folder):
        if (
            told["status"] == 200
            and told["path"].startswith(below)
            and (matched := re.fullmatch(path, told["path"]))
        ):
            yield Answer(told["ts"], matched.groups(), told["body"])


def logged(played: str, process: str = "") -> str:
    """All that is in the logs whose names have this in them."""
    folder, _, _ = played.partition(":")
    logs = [log for log in sorted((FOLDER / folder / "logs").iterdir()) if process in log.name]
    assert logs, f"{played} has no log of {process or 'any process'}"
    return "".join(gzip.decompress(log.read_bytes()).decode() for log in logs)


def instants(text: str, pattern: str) -> list[datetime]:
    """Of the lines of a log in which this is found, by the whole second."""
    stamps = re.findall(rf"^(\S+ \S+),\d+ .*{pattern}", text, re.MULTILINE)
    return [datetime.strptime(at, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC) for at in stamps]


def vertices(played: str) -> dict[str, str]:
    """Name → id, as Flink names them."""
    *_, last = answers(played, "/jobs/[0-9a-f]{32}")
    return {vertex["name"]: vertex["id"] for vertex in last.body["vertices"]}


@cache
def _told(folder: str) -> tuple[dict[str, Any], ...]:
    with gzip.open(FOLDER / folder / "rest.jsonl.gz", "rt", encoding="utf-8") as lines:
        return tuple(map(json.loads, lines))


def _job_ids(folder: str) -> dict[str, str]:
    """Name → id of the jobs that Flink lists."""
    return {
        one["name"]: one["jid"]
        for told in _told(folder)
        if told["path"] == "/jobs/overview"
        for one in told["body"]["jobs"]
    }
