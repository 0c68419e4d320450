"""An independent recount of a recording: what its REST answers and logs say, read in the plainest way.

Shares no code with the product, so that the two can only agree by both being right.
"""

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

Key = tuple[str, int, int]
"""Job id, checkpoint id, trigger time in epoch milliseconds."""

OUTCOME_OF_MESSAGE = {
    "Checkpoint expired before completing.": "expired",
    "Asynchronous task checkpoint failed.": "declined",
    "Checkpoint Coordinator is suspending.": "aborted",
    "CheckpointCoordinator shutdown.": "aborted",
}

_JOB = r"(?P<job>[0-9a-f]{32})"
_TRIGGER = re.compile(rf"Triggering checkpoint (?P<id>\d+) \(type=.*?\) @ (?P<ts>\d+) for job {_JOB}")
_COMPLETE = re.compile(rf"Completed checkpoint (?P<id>\d+) for job {_JOB} \((?P<bytes>\d+) bytes")
_EXPIRE = re.compile(rf"Checkpoint (?P<id>\d+) of job {_JOB} expired before completing")
_DECLINE = re.compile(
    rf"Decline checkpoint (?P<id>\d+) by task (?P<execution>\S+) of job {_JOB} at (?P<container>\S+) @ (?P<host>\S+) \(dataPort"
)
_LATE = re.compile(rf"Received late message for now expired checkpoint attempt (?P<id>\d+) from task (?P<execution>\S+) of job {_JOB}")
_STOP = re.compile(rf"Stopping checkpoint coordinator for job {_JOB}")


@dataclass
class Mentioned:
    """All that a recording says of one checkpoint."""

    rest: dict | None = None
    subtasks: dict[str, list[dict]] = field(default_factory=dict)
    completed_bytes: int | None = None
    expired: bool = False
    declines: list[dict] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    coordinator_stopped: bool = False

    @property
    def outcome(self) -> str:
        if self.completed_bytes is not None or (self.rest and self.rest["status"] == "COMPLETED"):
            return "completed"
        if self.expired:
            return "expired"
        if self.declines:
            return "declined"
        if self.rest and self.rest["status"] == "FAILED":
            return OUTCOME_OF_MESSAGE[self.rest["failure_message"]]
        return "aborted" if self.coordinator_stopped else "in_progress"


def recount(recording: Path) -> dict[Key, Mentioned]:
    """Every checkpoint that the recording mentions."""
    mentioned: dict[Key, Mentioned] = defaultdict(Mentioned)
    _read_rest(recording / "rest.jsonl", mentioned)
    for log in sorted((recording / "logs").glob("*standalonesession*")):
        _read_log(log, mentioned)
    return dict(mentioned)


def _read_rest(path: Path, mentioned: dict[Key, Mentioned]) -> None:
    for line in path.open(encoding="utf-8"):
        answer = json.loads(line)
        parts = answer["path"].strip("/").split("/")
        body = answer["body"]
        if answer["status"] != 200 or not isinstance(body, dict) or len(parts) < 3 or parts[0] != "jobs" or parts[2] != "checkpoints":
            continue
        job = parts[1]
        if len(parts) == 3:
            latest = [entry for kind, entry in body["latest"].items() if entry and kind != "restored"]
            seen = body["history"] + latest
        elif parts[3:4] == ["details"] and len(parts) == 5:
            seen = [body]
        elif parts[3:4] == ["details"] and len(parts) == 7:
            keys = [key for key in mentioned if key[:2] == (job, int(parts[4]))]
            if keys and body["subtasks"]:
                mentioned[max(keys)].subtasks[parts[6]] = body["subtasks"]
            continue
        else:
            continue
        for entry in seen:
            known = mentioned[(job, entry["id"], entry["trigger_timestamp"])]
            if known.rest is None or known.rest["status"] == "IN_PROGRESS" or entry["status"] != "IN_PROGRESS":
                known.rest = entry


def _read_log(path: Path, mentioned: dict[Key, Mentioned]) -> None:
    trigger_of: dict[tuple[str, int], int] = {}

    def of(match: re.Match[str]) -> Mentioned:
        job, number = match["job"], int(match["id"])
        return mentioned[(job, number, trigger_of[(job, number)])]

    for line in path.open(encoding="utf-8", errors="replace"):
        if match := _TRIGGER.search(line):
            key = (match["job"], int(match["id"]), int(match["ts"]))
            trigger_of[key[:2]] = key[2]
            mentioned[key]
        elif match := _COMPLETE.search(line):
            of(match).completed_bytes = int(match["bytes"])
        elif match := _EXPIRE.search(line):
            of(match).expired = True
        elif match := _DECLINE.search(line):
            of(match).declines.append(match.groupdict())
        elif match := _LATE.search(line):
            of(match).late.append(match["execution"])
        elif match := _STOP.search(line):
            for (job, _number, _trigger), known in mentioned.items():
                if job == match["job"]:
                    known.coordinator_stopped = True
