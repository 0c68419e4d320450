"""TaskManagers that were lost while tasks of a job ran on them, or had recently: what the lines
about TaskManagers say, which name no job.

The first to notice says why; ResourceManager and JobMaster log the same loss apart, within the
interval of heartbeats.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from ingest.job_states import TERMINAL_STATES
from ingest.messages import message
from spark_jobs.diagnosis.failure_causes.table import cause_of
from spark_jobs.fold.mentions import Mention, by_log
from spark_jobs.fold.rows import Row

KIND = "taskmanager_lost"
"""Of the annotation; its subject is the id of the TaskManager."""
KINDS_OF_LOSS = ("tm_heartbeat_timeout", "tm_unreachable", "tm_disconnected")
COLUMNS = (
    "process",
    "ts",
    "record_hash",
    "ordinal",
    "observed_at",
    "kind",
    "container",
    "reason_text",
)
"""Of a line that is brought to each job it may concern."""
NOTICED_WITHIN_S = 300
"""How long after a task was deployed elsewhere its last TaskManager still counts: heartbeat.timeout
is 50 s, and is set to some minutes.
"""
REASON_CHARS = NAME_CHARS = 300

_DISMISSED = re.compile(r"Stopping JobMaster|idle timeout")
_LOST = re.compile(
    r"no longer reachable|timed out|shutting down|terminated|exit(?:ed| "
    r"code|Code)|killed|lost|evicted|preempted|OOM",
    re.IGNORECASE,
)
"""Of the reasons for a closed connection: ResourceManagers pass on what YARN or Kubernetes says of
the end of a container.
"""


def lost_mentions(losses: Iterable[Row]) -> Iterator[Mention]:
    lines = list(losses)
    reasons = _most_telling(lines)
    for line in lines:
        name = line["container"][:NAME_CHARS]
        yield by_log(
            KIND,
            name,
            message("TaskManager {name:name} lost", name=str(name)),
            {"taskmanager_id": name, "reason": reasons.get(line["container"]) or reason_of(line)},
            line,
        )


def _most_telling(lines: Sequence[Row]) -> dict[str, str]:
    """By TaskManager the reason that gives a cause away, whichever line has it: that it did not
    answer is often noticed before its container's end is reported.
    """
    return {
        line["container"]: reason_of(line)
        for line in reversed(lines)
        if line["kind"] == "tm_disconnected" and cause_of(line["reason_text"])
    }


def losses(lines: Iterable[Row], states: Sequence[tuple[int, str]]) -> list[Row]:
    """Lines that tell of a loss to the job.

    ``states``: what it entered when, in order; a TaskManager that outlived the job is none.
    """
    return [line for line in lines if _is_loss(line) and not _had_ended(states, line["ts"])]


def _is_loss(line: Row) -> bool:
    """A connection is closed as well where a job ends or an idle TaskManager is released."""
    if line["kind"] != "tm_disconnected":
        return line["kind"] in KINDS_OF_LOSS
    reason = line["reason_text"] or ""
    if _DISMISSED.search(reason):
        return False
    return _LOST.search(reason) is not None or cause_of(reason) is not None


def reason_of(line: Row) -> str:
    """Why a TaskManager was lost, as the line says."""
    if line["kind"] == "tm_disconnected":
        return str(line["reason_text"] or "")[:REASON_CHARS]
    return (
        message("heartbeat timed out")
        if line["kind"] == "tm_heartbeat_timeout"
        else "no longer reachable"
    )


def _had_ended(states: Sequence[tuple[int, str]], at_ms: int) -> bool:
    entered = [state for since_ms, state in states if since_ms <= at_ms]
    return bool(entered) and entered[-1] in TERMINAL_STATES
