"""An independent recount of a recording: what its REST answers and logs say, read in the plainest
way.

Shares no code with the product, so that the two can only agree by both being right.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

Key = tuple[str, int, int]
"""Job id, checkpoint id, trigger time in epoch milliseconds."""

OUTCOME_OF_MESSAGE = {
    "Checkpoint expired before completing.": "expired",
    "Asynchronous task checkpoint failed.": "declined",
}
DROPPED = ("Checkpoint Coordinator is suspending.", "CheckpointCoordinator shutdown.")
"""Said of whatever is pending when a job leaves RUNNING; what it left RUNNING for, tells a failure
from a cancel.
"""
BY_FAILURE = ("RESTARTING", "FAILING", "FAILED")

_JOB = r"(?P<job>[0-9a-f]{32})"
_TRIGGER = re.compile(
    rf"Triggering checkpoint (?P<id>\d+) \(type=(?P<type>.*?)\) @ (?P<ts>\d+) for job {_JOB}"
)
_COMPLETE = re.compile(
    rf"Completed checkpoint (?P<id>\d+) for job {_JOB} \((?P<bytes>\d+) bytes(?:, "
    rf"checkpointDuration=| in )(?P<ms>\d+) ms"
)
_EXPIRE = re.compile(rf"Checkpoint (?P<id>\d+) of job {_JOB} expired before completing")
_DECLINE = re.compile(
    rf"Decline checkpoint (?P<id>\d+) by task (?P<execution>\S+) of job {_JOB} at "
    rf"(?P<container>\S+) @ (?P<host>\S+) \(dataPort"
)
_LATE = re.compile(
    rf"Received late message for now expired checkpoint attempt (?P<id>\d+) from task "
    rf"(?P<execution>\S+) of job {_JOB}"
)
_LEFT = re.compile(rf"Job .* \({_JOB}\) switched from state RUNNING to (?P<state>[A-Z]+)\.")
_REFUSED = re.compile(rf"Failed to trigger checkpoint for job {_JOB} since ")
_STOP = re.compile(rf"Stopping checkpoint coordinator for job {_JOB}")
_RESTART = re.compile(rf"Job .* \({_JOB}\) switched from state \w+ to RESTARTING\.")
_RESTORE = re.compile(
    rf"Restoring job {_JOB} from (?:Checkpoint|Savepoint) (?P<id>\d+) @ .* located at "
    rf"(?P<path>\S+?)\.?$"
)


@dataclass
class Mentioned:
    """All that a recording says of one checkpoint."""

    rest: dict | None = None
    subtasks: dict[str, list[dict]] = field(default_factory=dict)
    completed_bytes: int | None = None
    completed_ms: int | None = None
    expired: bool = False
    declines: list[dict] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    dropped_by: str | None = None
    coordinator_stopped: bool = False
    triggered_as: str = ""

    @property
    def is_savepoint(self) -> bool:
        return (
            bool(self.rest["is_savepoint"])
            if self.rest
            else self.triggered_as.upper().startswith("SAVEPOINT")
        )

    @property
    def outcome(self) -> str:
        if self.completed_bytes is not None or (self.rest and self.rest["status"] == "COMPLETED"):
            return "completed"
        if self.expired:
            return "expired"
        if self.declines:
            return "declined"
        if self.rest and self.rest["status"] == "FAILED":
            message = self.rest["failure_message"]
            return self._dropped if message in DROPPED else OUTCOME_OF_MESSAGE[message]
        return self._dropped if self.dropped_by or self.coordinator_stopped else "in_progress"

    @property
    def _dropped(self) -> str:
        return "failed" if self.dropped_by in BY_FAILURE else "aborted"

    @property
    def final(self) -> dict | None:
        """REST's last word, None where its last answer found the checkpoint in progress."""
        return None if self.was_in_progress else self.rest

    @property
    def was_in_progress(self) -> bool:
        return self.rest is not None and self.rest["status"] == "IN_PROGRESS"


def figures(
    known: Mentioned, *, is_one_size: bool, full: int | None = None
) -> dict[str, int | None]:
    """REST's last answer, else the log's line, else unknown; one size is the uploaded one, and the
    full one of savepoints.

    ``full``: of a checkpoint with one size, what Flink's own loader reads in its file.
    """
    rest = known.final if known.outcome != "in_progress" else known.rest
    if rest is None:
        size = known.completed_bytes
        return {
            "end_to_end_ms": known.completed_ms,
            "acknowledged": None,
            "state_bytes": None if is_one_size else size,
            "checkpointed_bytes": size if is_one_size else None,
        }
    size = rest["state_size"]
    found = {
        "end_to_end_ms": rest["end_to_end_duration"],
        "acknowledged": rest["num_acknowledged_subtasks"],
        "state_bytes": full if is_one_size and not rest["is_savepoint"] else size,
        "checkpointed_bytes": size if is_one_size else rest["checkpointed_size"],
    }
    # Flink says -1 where nobody acknowledged.
    return {name: None if value == -1 else value for name, value in found.items()}


def has_one_size(recording: str) -> bool:
    """Before 1.15 REST has one size of a checkpoint: ``1.12.5/G``."""
    return [int(part) for part in recording.partition("/")[0].split(".")[:2]] < [1, 15]


def full_sizes(recording: Path) -> dict[tuple[str, int], int]:
    """Job and number of checkpoints → full size, as Flink's own loader read the files that it kept,
    whether deleted later or not.
    """
    told = recording.glob("ckpt/*/chk-*/_metadata.oracle.jsonl")
    return {
        (path.parts[-3], int(path.parts[-2].removeprefix("chk-"))): json.loads(
            path.open(encoding="utf-8").readline()
        )["total_state_size"]
        for path in told
    }


def restarts(recording: Path) -> Counter[str]:
    """Job id → how often it was restarted, by the lines of the log."""
    return Counter(match["job"] for match in _found(recording, _RESTART))


def restores(recording: Path) -> dict[str, list[tuple[int, str]]]:
    """Job id → number and directory of all that it was restored from, in the order of the log."""
    found: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for match in _found(recording, _RESTORE):
        found[match["job"]].append((int(match["id"]), match["path"]))
    return found


def _found(recording: Path, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    for log in sorted((recording / "logs").glob("*standalonesession*")):
        yield from filter(
            None,
            map(pattern.search, log.read_text(encoding="utf-8", errors="replace").splitlines()),
        )


def recount(recording: Path) -> dict[Key, Mentioned]:
    """Every checkpoint that the recording mentions."""
    mentioned: dict[Key, Mentioned] = defaultdict(Mentioned)
    _read_rest(recording / "rest.jsonl", mentioned)
    for log in sorted((recording / "logs").glob("*standalonesession*")):
        _read_log(log, mentioned)
    return dict(mentioned)


def counters(recording: Path) -> dict[str, tuple[float, dict]]:
    """Job id → Flink's own counters of checkpoints in its last answer, and when that was, in epoch
    seconds.
    """
    last: dict[str, tuple[float, dict]] = {}
    for line in (recording / "rest.jsonl").open(encoding="utf-8"):
        answer = json.loads(line)
        parts = answer["path"].strip("/").split("/")
        if answer["status"] == 200 and len(parts) == 3 and parts[::2] == ["jobs", "checkpoints"]:
            last[parts[1]] = answer["ts"], answer["body"]["counts"]
    return last


def refusals(recording: Path, job: str, until: float) -> int:
    """Checkpoints that were refused before they began, as the log tells up to that time (epoch
    seconds).
    """
    found = 0
    for log in sorted((recording / "logs").glob("*standalonesession*")):
        for line in log.open(encoding="utf-8", errors="replace"):
            match = _REFUSED.search(line)
            if match and match["job"] == job:
                at = datetime.strptime(line[:23], "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)
                found += at.timestamp() <= until
    return found


def _read_rest(path: Path, mentioned: dict[Key, Mentioned]) -> None:
    for line in path.open(encoding="utf-8"):
        answer = json.loads(line)
        parts = answer["path"].strip("/").split("/")
        body = answer["body"]
        if (
            answer["status"] != 200
            or not isinstance(body, dict)
            or len(parts) < 3
            or parts[0] != "jobs"
            or parts[2] != "checkpoints"
        ):
            continue
        job = parts[1]
        if len(parts) == 3:
            latest = [
                entry for kind, entry in body["latest"].items() if entry and kind != "restored"
            ]
            seen = body["history"] + latest
        elif parts[3:4] == ["details"] and len(parts) == 5:
            seen = [body]
        elif parts[3:4] == ["details"] and len(parts) == 7:
            keys = [key for key in mentioned if key[:2] == (job, int(parts[4]))]
            if (
                keys
                and body["subtasks"]
                and (
                    body["status"] != "IN_PROGRESS"
                    or not mentioned[max(keys)].subtasks.get(parts[6])
                )
            ):
                mentioned[max(keys)].subtasks[parts[6]] = body["subtasks"]
            continue
        else:
            continue
        for entry in seen:
            known = mentioned[(job, entry["id"], entry["trigger_timestamp"])]
            if (
                known.rest is None
                or known.rest["status"] == "IN_PROGRESS"
                or entry["status"] != "IN_PROGRESS"
            ):
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
            mentioned[key].triggered_as = match["type"]
        elif match := _COMPLETE.search(line):
            of(match).completed_bytes, of(match).completed_ms = (
                int(match["bytes"]),
                int(match["ms"]),
            )
        elif match := _EXPIRE.search(line):
            of(match).expired = True
        elif match := _DECLINE.search(line):
            of(match).declines.append(match.groupdict())
        elif match := _LATE.search(line):
            of(match).late.append(match["execution"])
        elif match := _LEFT.search(line):
            for (job, number, trigger), known in mentioned.items():
                if job == match["job"] and trigger_of.get((job, number)) == trigger:
                    known.dropped_by = known.dropped_by or match["state"]
        elif match := _STOP.search(line):
            for (job, _number, _trigger), known in mentioned.items():
                if job == match["job"]:
                    known.coordinator_stopped = True
