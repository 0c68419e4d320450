"""``/jobs/:id/vertices/:vid`` and ``…/backpressure``: location, record counts, start times and
back-pressure of each subtask.
"""

import re
from datetime import timedelta
from typing import Any

from ingest.errors import Skipped
from ingest.flink_ids import MAX_TASKMANAGER_CHARS, is_taskmanager_id
from ingest.flink_rest.payloads.fields import Fields

MAX_PARALLELISM = 2**15

_STATES = ("SCHEDULED", "DEPLOYING", "INITIALIZING", "RUNNING")
STATE_TIMES = ("scheduled_at", "deploying_at", "initializing_at", "running_at")
_NOWHERE = "(unassigned)"
_PORT = re.compile(r":\d{1,5}$")

Columns = dict[int, dict[str, Any]]
"""Subtask → columns of Weir."""


def parallelism(body: Any) -> int | None:
    return Fields(body).integer("parallelism")


def placements(body: Any) -> Columns:
    return {
        subtask_index(subtask): {
            "attempt": subtask.integer("attempt"),
            "host": _host(subtask),
            "taskmanager_id": taskmanager_id(subtask, "taskmanager-id"),
            "task_state": subtask.upper("status"),
        }
        for subtask in Fields(body).objects("subtasks")
    }


def record_counts(body: Any) -> Columns:
    """Records since the attempt began; None if Flink's count is incomplete."""
    counts_by_subtask = {}
    for subtask in Fields(body).objects("subtasks"):
        metrics = subtask.object("metrics") or Fields({})
        counts = {
            "records_in": _complete_count(metrics, "read-records"),
            "records_out": _complete_count(metrics, "write-records"),
        }
        if any(count is not None for count in counts.values()):
            counts_by_subtask[subtask_index(subtask)] = counts
    return counts_by_subtask


def _complete_count(metrics: Fields, name: str) -> int | None:
    return metrics.integer(name) if metrics.flag(f"{name}-complete") else None


def start_times(body: Any) -> Columns:
    """Subtask → when its attempt entered each state. Before 1.16 only ``deploying_at`` is set."""
    starts_by_subtask = {}
    for subtask in Fields(body).objects("subtasks"):
        durations, deploying_at = subtask.object("status-duration"), subtask.instant("start-time")
        times = dict.fromkeys(STATE_TIMES) | {"deploying_at": deploying_at}
        starts_by_subtask[subtask_index(subtask)] = times
        if durations is None or deploying_at is None:
            continue
        scheduled, deploying, initializing, running = (
            _duration(durations, state) for state in _STATES
        )
        if scheduled is not None:
            times["scheduled_at"] = deploying_at - scheduled
        if deploying is not None and initializing is not None:
            times["initializing_at"] = deploying_at + deploying
            if running is not None:
                times["running_at"] = deploying_at + deploying + initializing
    return starts_by_subtask


def _duration(durations: Fields, state: str) -> timedelta | None:
    duration_ms = durations.duration_ms(state)
    return None if duration_ms is None else timedelta(milliseconds=duration_ms)


def backpressured_ratios(body: Any) -> dict[int, float | None]:
    """Subtask → 0…1. Empty while Flink still samples (status ``deprecated``)."""
    payload = Fields(body)
    if payload.text("status") != "ok":
        return {}
    return {
        subtask_index(subtask): subtask.real("ratio") for subtask in payload.objects("subtasks")
    }


def subtask_index(fields: Fields, name: str = "subtask") -> int:
    index = fields.required_integer(name)
    if index >= MAX_PARALLELISM:
        raise Skipped(f"{fields.place}.{name}: expected less than {MAX_PARALLELISM}, got {index}")
    return index


def host_and_port(text: str | None) -> str | None:
    return None if not text or text.startswith("(") else text


def taskmanager_id(fields: Fields, name: str) -> str | None:
    text = fields.text(name)
    return None if not text or text == _NOWHERE else _check_taskmanager_id(fields, name, text)


def required_taskmanager_id(fields: Fields) -> str:
    return _check_taskmanager_id(fields, "id", fields.required_text("id"))


def _check_taskmanager_id(fields: Fields, name: str, text: str) -> str:
    if not is_taskmanager_id(text):
        place = f"{fields.place}.{name}" if fields.place else name
        raise Skipped(
            f"{place}: expected the id of a TaskManager, at most {MAX_TASKMANAGER_CHARS} printable "
            "characters without slashes"
        )
    return text


def _host(subtask: Fields) -> str | None:
    """``endpoint`` (1.19+) has a port, ``host`` (until 1.20) only in some releases."""
    endpoint = host_and_port(subtask.text("endpoint"))
    if endpoint:
        return _PORT.sub("", endpoint)
    host = host_and_port(subtask.text("host"))
    return _PORT.sub("", host) if host and host.count(":") == 1 else host
