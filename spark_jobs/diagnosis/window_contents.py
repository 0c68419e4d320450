from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from ingest.job_states import NOT_LISTED, TERMINAL_STATES
from spark_jobs.diagnosis.samples import Annotation, CheckpointConfig, CheckpointSample, LogEvent

WINDOW_MS = 60_000
CHECKPOINTS, ANNOTATIONS, FAILURES, EVENTS, PAST_WINDOWS = 60, 100, 50, 200, 10
"""The newest rows of a window: annotations and events of each kind, past windows of each vertex."""
FIRSTS = 20
"""The oldest failures of the current chain of restarts that a window also has."""
FAILED = "task_state FAILED"
TASKMANAGER_LOST = "taskmanager_lost"
BRIEFLY_MS = 3_600_000
"""Windows have ``OF_SUBTASKS`` only for so long: a job may log thousands at once."""
TREND_AHEAD_MS = 3_600_000
"""A trend belongs to windows that end at most this long before its newest point."""
STARTS = 12
GAUGES_MS = 600_000
UPLOADS = 20
MESSAGE_CHARS, DETAIL_CHARS = 500, 2_000

OF_SUBTASKS = frozenset(
    {"task_deployed", "task_state RUNNING", "checkpoint_sync_done", "checkpoint_async_started"}
)
EVENT_KINDS = (
    "job_submitted",
    "job_started",
    "job_state",
    "job_terminal",
    "restored",
    "coordinator_stopped",
    "checkpoint_failed",
    "trigger_failed",
    "trigger_refused",
)
"""Events of a job's life. Rules declare further kinds: ``registry.events_read``."""
OVER_STATES = (*TERMINAL_STATES, NOT_LISTED)
"""Jobs in these states count as ended. NOT_LISTED is not terminal: in the proof of deletable files
the job still runs.
"""

Span = tuple[int, int]
Timed = tuple[list[int], list[Any]]
"""Instants in ascending order, and the rows of these instants."""


def newest(timed: Timed, end_ms: int, most: int) -> Sequence[Any]:
    until = bisect_left(timed[0], end_ms)
    return timed[1][max(0, until - most) : until]


def since(timed: Timed, from_ms: int, end_ms: int) -> Sequence[Any]:
    return timed[1][bisect_left(timed[0], from_ms) : bisect_left(timed[0], end_ms)]


def newest_and_within(timed: Timed, end_ms: int, most: int, span: Span | None) -> Sequence[Any]:
    """The newest rows, after the first ``FIRSTS`` of those within ``span``."""
    newest_rows = newest(timed, end_ms, most)
    if span is None or len(newest_rows) < most:
        return newest_rows
    before = bisect_left(timed[0], end_ms) - len(newest_rows)
    first, last = (min(bisect_left(timed[0], at_ms), before) for at_ms in span)
    return [*timed[1][first:last][:FIRSTS], *newest_rows]


def newest_of_kinds(timed: Timed, end_ms: int, most: int) -> tuple[Annotation, ...]:
    remaining: dict[str, int] = {}
    annotations: list[Annotation] = []
    for annotation in reversed(timed[1][: bisect_left(timed[0], end_ms)]):
        remaining[annotation.kind] = remaining.get(annotation.kind, most) - 1
        if remaining[annotation.kind] >= 0:
            annotations.append(annotation)
    return tuple(reversed(annotations))


def newest_events(timed: Timed, end_ms: int, span: Span | None = None) -> tuple[LogEvent, ...]:
    """The last ``EVENTS`` of each kind (``OF_SUBTASKS``: within ``BRIEFLY_MS``), and failures of
    tasks within ``span``.
    """
    remaining: dict[str, int] = {}
    events: list[LogEvent] = []
    for event in reversed(timed[1][: bisect_left(timed[0], end_ms)]):
        kind = event.rule_kind
        remaining[kind] = remaining.get(kind, EVENTS) - 1
        is_new = remaining[kind] >= 0 and (
            kind not in OF_SUBTASKS or event.at_ms >= end_ms - BRIEFLY_MS
        )
        if is_new or (kind == FAILED and span and span[0] <= event.at_ms <= span[1]):
            events.append(event)
    return tuple(reversed(events))


def complete_from(events: Iterable[LogEvent], kind: str) -> int:
    """The instant from which on a window has all events of a kind; 0 if none was cut."""
    instants = [event.at_ms for event in events if event.rule_kind == kind]
    return min(instants) + 1 if len(instants) >= EVENTS else 0


PENDING = ("is_savepoint", "checkpoint_type", "savepoint_format", "subtasks")


def as_known_at(checkpoint: CheckpointSample, end_ms: int) -> CheckpointSample:
    """A checkpoint that ended at ``end_ms`` or later was still in progress then."""
    if checkpoint.end_time_ms is None or checkpoint.end_time_ms < end_ms:
        return checkpoint
    values: dict[str, Any] = {name: getattr(checkpoint, name) for name in PENDING}
    key = checkpoint.checkpoint_id, checkpoint.trigger_time_ms
    return CheckpointSample(*key, "in_progress", **values)


def is_over(state: str | None) -> bool | None:
    return None if state is None else state in OVER_STATES


def checkpoint_config(document: Mapping[str, Any]) -> CheckpointConfig:
    return CheckpointConfig(
        **{field.name: document.get(field.name) for field in fields(CheckpointConfig)}
    )
