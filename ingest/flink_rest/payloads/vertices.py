"""``/jobs/:id/vertices/:vid`` and ``…/backpressure``: of each subtask its place, records and
back-pressure.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ingest.errors import Skipped
from ingest.flink_ids import MAX_TASKMANAGER_CHARS, is_taskmanager_id
from ingest.flink_rest.payloads.fields import Fields

MAX_PARALLELISM = 2**15
"""Flink's own upper bound."""

_STATES = ("SCHEDULED", "DEPLOYING", "INITIALIZING", "RUNNING")
_NOWHERE = "(unassigned)"
_PORT = re.compile(r":\d{1,5}$")


@dataclass(frozen=True, slots=True)
class Placement:
    attempt: int | None = None
    host: str | None = None
    taskmanager_id: str | None = None
    task_state: str | None = None


def parallelism(body: Any) -> int | None:
    return Fields(body).whole("parallelism")


def placements(body: Any) -> dict[int, Placement]:
    placements_by_subtask = {}
    for subtask in Fields(body).objects("subtasks"):
        placements_by_subtask[subtask_index(subtask)] = Placement(
            attempt=subtask.whole("attempt"),
            host=_host(subtask),
            taskmanager_id=taskmanager_id(subtask, "taskmanager-id"),
            task_state=subtask.upper("status"),
        )
    return placements_by_subtask


@dataclass(frozen=True, slots=True)
class Counted:
    """Records since the attempt began; None if Flink says that its figure is not complete."""

    records_in: int | None = None
    records_out: int | None = None


def counted(body: Any) -> dict[int, Counted]:
    """By subtask, of the newest attempt."""
    counts_by_subtask = {}
    for subtask in Fields(body).objects("subtasks"):
        metrics = subtask.object("metrics")
        if metrics is not None:
            counters = Counted(
                _complete(metrics, "read-records"), _complete(metrics, "write-records")
            )
            if counters != Counted():
                counts_by_subtask[subtask_index(subtask)] = counters
    return counts_by_subtask


def _complete(metrics: Fields, name: str) -> int | None:
    return metrics.whole(name) if metrics.flag(f"{name}-complete") else None


@dataclass(frozen=True, slots=True)
class Started:
    scheduled_at: datetime | None = None
    deploying_at: datetime | None = None
    initializing_at: datetime | None = None
    running_at: datetime | None = None


def started(body: Any) -> dict[int, Started]:
    """By subtask; empty instants before 1.16."""
    starts_by_subtask = {}
    for subtask in Fields(body).objects("subtasks"):
        lasted, deploying_at = subtask.object("status-duration"), subtask.instant("start-time")
        if lasted is None or deploying_at is None:
            starts_by_subtask[subtask_index(subtask)] = Started(deploying_at=deploying_at)
            continue
        scheduled, deploying, initializing, running = (_lasted(lasted, state) for state in _STATES)
        initializing_at = (
            None if deploying is None or initializing is None else deploying_at + deploying
        )
        running_at = (
            None
            if initializing_at is None or initializing is None or running is None
            else initializing_at + initializing
        )
        scheduled_at = None if scheduled is None else deploying_at - scheduled
        starts_by_subtask[subtask_index(subtask)] = Started(
            scheduled_at, deploying_at, initializing_at, running_at
        )
    return starts_by_subtask


def _lasted(durations: Fields, state: str) -> timedelta | None:
    duration_ms = durations.duration_ms(state)
    return None if duration_ms is None else timedelta(milliseconds=duration_ms)


def backpressured_ratios(body: Any) -> dict[int, float | None]:
    """0…1 by subtask; empty while Flink has only begun to sample (``deprecated``)."""
    payload = Fields(body)
    if payload.text("status") != "ok":
        return {}
    return {
        subtask_index(subtask): subtask.real("ratio") for subtask in payload.objects("subtasks")
    }


def subtask_index(fields: Fields, name: str = "subtask") -> int:
    index = fields.the_whole(name)
    if index >= MAX_PARALLELISM:
        raise Skipped(f"{fields.place}.{name}: expected less than {MAX_PARALLELISM}, got {index}")
    return index


def host_and_port(text: str | None) -> str | None:
    return None if not text or text.startswith("(") else text


def taskmanager_id(fields: Fields, name: str) -> str | None:
    text = fields.text(name)
    return None if not text or text == _NOWHERE else _check(fields, name, text)


def the_taskmanager_id(fields: Fields) -> str:
    return _check(fields, "id", fields.the_text("id"))


def _check(fields: Fields, name: str, text: str) -> str:
    if not is_taskmanager_id(text):
        place = f"{fields.place}.{name}" if fields.place else name
        raise Skipped(
            f"{place}: expected the id of a TaskManager, at most {MAX_TASKMANAGER_CHARS} printable "
            "characters without slashes"
        )
    return text


def _host(subtask: Fields) -> str | None:
    """``endpoint`` (1.19+) has a port; ``host`` (until 1.20) in some releases only."""
    endpoint = host_and_port(subtask.text("endpoint"))
    if endpoint:
        return _PORT.sub("", endpoint)
    host = host_and_port(subtask.text("host"))
    return _PORT.sub("", host) if host and host.count(":") == 1 else host
