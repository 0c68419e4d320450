"""Starts by Flink's raw answers and by the raw lines of a JobManager's log, read in the plainest
way: shares no code with the product.
"""

import gzip
import json
import re
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).parent / "fixtures"
CHANGED = re.compile(
    r"^(\S+ \S+) INFO .*?ExecutionGraph +\[\] - (.*) switched from (?:state )?\w+ to (\w+)"
)
DEPLOYED = re.compile(r"^(\S+ \S+) INFO .*?ExecutionGraph +\[\] - Deploying (.+?) \(attempt #\d+\)")


def by_rest(recording: str) -> list[dict[str, int]]:
    """Of each set of attempts of which every subtask was seen to run: how many, and the last
    instant of each state, oldest first.
    """
    newest: dict[str, Any] = {}
    found: dict[int, dict[str, int]] = {}
    for told in _answers(recording):
        if re.fullmatch(r"/jobs/[0-9a-f]{32}/vertices/[0-9a-f]{32}", told["path"]):
            newest[told["path"]] = told["body"]["subtasks"]
        tasks = [one for subtasks in newest.values() for one in subtasks]
        vertices = 4
        if len(newest) == vertices and all(
            one["status"] == "RUNNING" and one["attempt"] == tasks[0]["attempt"] for one in tasks
        ):
            ends = defaultdict(int)
            for one in tasks:
                lasted = one["status-duration"]
                at = one["start-time"]
                for state, next_at in (
                    ("DEPLOYING", at),
                    ("INITIALIZING", at + lasted["DEPLOYING"]),
                    ("RUNNING", at + lasted["DEPLOYING"] + lasted["INITIALIZING"]),
                ):
                    ends[state] = max(ends[state], next_at)
            found[tasks[0]["attempt"]] = {**ends, "tasks": len(tasks)}
    return [found[attempt] for attempt in sorted(found)]


def states_by_rest(recording: str) -> dict[str, set[int]]:
    """By state of the job, the instants at which Flink says it was entered."""
    found = defaultdict(set)
    for told in _answers(recording):
        if re.fullmatch(r"/jobs/[0-9a-f]{32}", told["path"]):
            for state, at in told["body"]["timestamps"].items():
                found[state].add(at)
    return found


def by_log(recording: str) -> list[dict[str, int]]:
    """Each time that all tasks run again: how many were deployed since the job's state was RUNNING,
    and the last instant of each state.
    """
    logs = [
        path
        for path in (FIXTURES / recording / "logs").iterdir()
        if "standalonesession" in path.name
    ]
    text = "".join(
        gzip.decompress(path.read_bytes()).decode()
        if path.suffix == ".gz"
        else path.read_text("utf-8")
        for path in logs
    )
    found, at, tasks = [], 0, dict[str, dict[str, int]]()
    for line in text.splitlines():
        if (match := CHANGED.match(line)) and match[2].startswith("Job "):
            if match[3] == "RUNNING":
                at, tasks = _ms(match[1]), {}
        elif match := DEPLOYED.match(line):
            tasks[match[2]] = {"DEPLOYING": _ms(match[1])}
        elif (match := CHANGED.match(line)) and at:
            task = re.sub(r" \([0-9a-f_]{32,}\)$", "", match[2])
            if task in tasks:
                tasks[task][match[3]] = _ms(match[1])
            if (
                tasks
                and all(
                    "RUNNING" in one and not {"FAILED", "CANCELED"} & one.keys()
                    for one in tasks.values()
                )
                and match[3] == "RUNNING"
            ):
                last = {
                    state: max(one[state] for one in tasks.values())
                    for state in ("DEPLOYING", "RUNNING")
                }
                if all("INITIALIZING" in one for one in tasks.values()):
                    last["INITIALIZING"] = max(one["INITIALIZING"] for one in tasks.values())
                start = {"at": at, "tasks": len(tasks), **last}
                # Regions may be deployed one after the other.
                found = [one for one in found if one["at"] != at] + [start]
    return found


def _answers(recording: str) -> list[dict[str, Any]]:
    path = FIXTURES / recording / "rest.jsonl.gz"
    told = (json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines())
    return sorted((one for one in told if one["status"] == 200), key=lambda one: one["ts"])


def _ms(text: str) -> int:
    return round(
        datetime.strptime(text, "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC).timestamp() * 1000
    )
