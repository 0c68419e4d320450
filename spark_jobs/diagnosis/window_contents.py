"""Which part of a job's history a judged window gets: bounds, kinds and cuts."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from ingest.job_states import NOT_LISTED, TERMINAL_STATES
from spark_jobs.diagnosis.samples import Annotation, CheckpointConfig, CheckpointSample, LogEvent

WINDOW_MS = 60_000
CHECKPOINTS, ANNOTATIONS, FAILURES, EVENTS, PAST_WINDOWS = 60, 100, 50, 200, 10
"""The newest; annotations and events of each kind, past windows of each vertex."""
FIRSTS = 20
FAILED = "task_state FAILED"
TASKMANAGER_LOST = "taskmanager_lost"
BRIEFLY_MS = 3_600_000
"""Of kinds that a job may log for each subtask, thousands at once."""
TREND_AHEAD_MS = 3_600_000
"""A trend describes the time around its newest point."""
STARTS = 12
GAUGES_MS = 600_000
UPLOADS = 20
MESSAGE_CHARS, DETAIL_CHARS = 500, 2_000

OF_SUBTASKS = frozenset(
    {
        "task_deployed",
        "task_state RUNNING",
        "checkpoint_sync_done",
        "checkpoint_async_started",
    }
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
"""Events of a job's life. Rules declare their own: ``registry.events_read``."""
OVER_STATES = (*TERMINAL_STATES, NOT_LISTED)
"""Judged as ended. NOT_LISTED is not terminal: for the proof of deletable files such a job runs."""

Span = tuple[int, int]
Timed = tuple[list[int], list[Any]]


def newest(timed: Timed, end_ms: int, most: int) -> Sequence[Any]:
    until = bisect_left(timed[0], end_ms)
    return timed[1][max(0, until - most) : until]


def since(timed: Timed, from_ms: int, end_ms: int) -> Sequence[Any]:
    return timed[1][bisect_left(timed[0], from_ms) : bisect_left(timed[0], end_ms)]


def newest_and_within(timed: Timed, end_ms: int, most: int, span: Span | None) -> Sequence[Any]:
    kept = newest(timed, end_ms, most)
    if span is None or len(kept) < most:
        return kept
    oldest = bisect_left(timed[0], end_ms) - len(kept)
    first, last = (min(bisect_left(timed[0], at_ms), oldest) for at_ms in span)
    return [*timed[1][first:last][:FIRSTS], *kept]


def newest_of_kinds(timed: Timed, end_ms: int, most: int) -> tuple[Annotation, ...]:
    left: dict[str, int] = {}
    kept: list[Annotation] = []
    for annotation in reversed(timed[1][: bisect_left(timed[0], end_ms)]):
        left[annotation.kind] = left.get(annotation.kind, most) - 1
        if left[annotation.kind] >= 0:
            kept.append(annotation)
    return tuple(reversed(kept))


def newest_events(timed: Timed, end_ms: int, span: Span | None = None) -> tuple[LogEvent, ...]:
    """The last ``EVENTS`` of each kind, those of subtasks only ``BRIEFLY_MS`` back; and failures of
    tasks within ``span``.
    """
    left: dict[str, int] = {}
    kept: list[LogEvent] = []
    for event in reversed(timed[1][: bisect_left(timed[0], end_ms)]):
        kind = event.rule_kind
        left[kind] = left.get(kind, EVENTS) - 1
        is_new = left[kind] >= 0 and (kind not in OF_SUBTASKS or event.at_ms >= end_ms - BRIEFLY_MS)
        if is_new or (kind == FAILED and span and span[0] <= event.at_ms <= span[1]):
            kept.append(event)
    return tuple(reversed(kept))


def whole_since(events: Iterable[LogEvent], kind: str) -> int:
    """If a window has the most events allowed of a kind, older ones were cut."""
    instants = [event.at_ms for event in events if event.rule_kind == kind]
    return min(instants) + 1 if len(instants) >= EVENTS else 0


PENDING = ("is_savepoint", "checkpoint_type", "savepoint_format", "subtasks")


def as_known_at(checkpoint: CheckpointSample, end_ms: int) -> CheckpointSample:
    """One that ended later is in progress, without an outcome."""
    if checkpoint.end_time_ms is None or checkpoint.end_time_ms < end_ms:
        return checkpoint
    known: dict[str, Any] = {name: getattr(checkpoint, name) for name in PENDING}
    key = checkpoint.checkpoint_id, checkpoint.trigger_time_ms
    return CheckpointSample(*key, "in_progress", **known)


def is_over(state: str | None) -> bool | None:
    return None if state is None else state in OVER_STATES


def checkpoint_config(document: Mapping[str, Any]) -> CheckpointConfig:
    return CheckpointConfig(
        **{field.name: document.get(field.name) for field in fields(CheckpointConfig)}
    )
