"""Phases of one checkpoint per subtask as TaskManagers log them at level DEBUG: for what REST was
not asked, or has forgotten.

Flink's own lines, by its own definitions: a subtask starts its part when all barriers are there (a
source: when its mailbox gets to it);
the start delay ends when the first barrier comes, which is the alignment before that. The duration
of the synchronous part is what lies between the lines of its start and of its end, as Flink prints
-1 for it (seen in 1.12 and 1.20); all others are as printed.
Lines of a TaskManager and the trigger's time are of two clocks where they run on different
machines.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from webapp.checkpoints.parts import SubtaskPart, in_order

STARTED = "checkpoint_sync_started"
SYNC_DONE = "checkpoint_sync_done"
ASYNC_DONE = "checkpoint_async_done"
BACKEND_SYNC = "backend_sync_done"
ALIGNED, ACKNOWLEDGED = "barriers_aligned", "checkpoint_acknowledged"
KINDS = (STARTED, SYNC_DONE, ASYNC_DONE, BACKEND_SYNC, ALIGNED, ACKNOWLEDGED)
MOST_LINES = 20_000
"""Of one checkpoint: those of about 4,000 subtasks."""
_COLUMNS = ("kind", "ts", "vertex_id", "vertex_name", "subtask", "fields")

Place = tuple[str, int]
"""Vertex and subtask."""


@dataclass
class _Lines:
    """What log lines have of one subtask: the first of each kind, and how long its backends took in
    all.
    """

    name: str | None = None
    first: dict[str, tuple[datetime, Mapping[str, Any]]] = field(default_factory=dict)
    backends_ms: int | None = None


def read_logged_parts(
    events: Any, trigger_time: datetime, names: Mapping[str, str]
) -> list[SubtaskPart]:
    """``events``: a queryset of one checkpoint's log events; those of other kinds are left out."""
    rows = events.filter(kind__in=KINDS, vertex_name__isnull=False, subtask__isnull=False).order_by(
        "ts", "id"
    )
    return logged_parts(rows.values(*_COLUMNS)[:MOST_LINES], trigger_time, names)


def logged_parts(
    events: Iterable[Mapping[str, Any]], trigger_time: datetime, names: Mapping[str, str]
) -> list[SubtaskPart]:
    """``events``: ``_COLUMNS`` of one checkpoint, in the order of time.

    Before 1.15 logs name a vertex by its name only, which is its id here where several or none have
    that name.
    """
    ids = {
        name: [vertex_id for vertex_id, other in names.items() if other == name]
        for name in names.values()
    }
    lines_by_place: dict[Place, _Lines] = {}
    for event in events:
        of_name = ids.get(event["vertex_name"], [])
        vertex_id = event["vertex_id"] or (
            of_name[0] if len(of_name) == 1 else event["vertex_name"]
        )
        lines = lines_by_place.setdefault((vertex_id, event["subtask"]), _Lines())
        lines.name = lines.name or event["vertex_name"]
        reported = event["fields"] or {}
        if event["kind"] == BACKEND_SYNC:
            lines.backends_ms = (lines.backends_ms or 0) + (reported.get("duration_ms") or 0)
        lines.first.setdefault(event["kind"], (event["ts"], reported))
    return in_order(
        _part(place, names.get(place[0]) or lines.name or place[0], lines, trigger_time)
        for place, lines in lines_by_place.items()
    )


def completed_by_log(
    parts: Iterable[SubtaskPart], logged: Iterable[SubtaskPart]
) -> list[SubtaskPart]:
    """What REST reported, with the gaps of subtasks that never acknowledged filled, and those which
    it did not report, from the log.
    """
    by_place = {(part.vertex_id, part.subtask): part for part in logged}
    known = [_filled(part, by_place.pop((part.vertex_id, part.subtask), None)) for part in parts]
    return in_order([*known, *by_place.values()])


def _filled(part: SubtaskPart, logged: SubtaskPart | None) -> SubtaskPart:
    if logged is None or part.acknowledged_at is not None:
        return part
    gaps = {
        name: value
        for name in ("start_delay_ms", "alignment_ms", "sync_ms", "async_ms")
        if getattr(part, name) is None and (value := getattr(logged, name)) is not None
    }
    return replace(part, **gaps, source="rest and log") if gaps else part


def _part(place: Place, name: str, lines: _Lines, trigger_time: datetime) -> SubtaskPart:
    started, done = lines.first.get(STARTED), lines.first.get(SYNC_DONE)
    acknowledged = lines.first.get(ACKNOWLEDGED)
    alignment_ms = done[1].get("alignment_ms") if done else None
    is_unaligned = alignment_ms is None if done else None
    if is_unaligned and started and ALIGNED in lines.first:
        alignment_ms = _ms(started[0], lines.first[ALIGNED][0])
    before_start_ms = 0 if is_unaligned else alignment_ms
    delay_ms = _ms(trigger_time, started[0]) if started else None
    written = lines.first.get(ASYNC_DONE)
    return SubtaskPart(
        vertex_id=place[0],
        vertex_name=name,
        subtask=place[1],
        acknowledged_at=acknowledged[0] if acknowledged else None,
        end_to_end_ms=_ms(trigger_time, acknowledged[0]) if acknowledged else None,
        start_delay_ms=None
        if delay_ms is None or before_start_ms is None
        else max(delay_ms - before_start_ms, 0),
        alignment_ms=alignment_ms,
        sync_ms=_sync_ms(started, done, lines.backends_ms),
        async_ms=written[1].get("duration_ms") if written else None,
        state_bytes=None,
        checkpointed_bytes=None,
        unaligned=is_unaligned,
        aborted=None,
        source="log",
    )


def _sync_ms(started: Any, done: Any, backends_ms: int | None) -> int | None:
    """As printed, else from line to line, else what its backends took, where only these log at
    DEBUG.
    """
    if done is None:
        return backends_ms if started is None else None
    printed: int = done[1].get("duration_ms", -1)
    if printed >= 0:
        return printed
    return _ms(started[0], done[0]) if started else backends_ms


def _ms(start: datetime, end: datetime) -> int:
    return max(round((end - start).total_seconds() * 1000), 0)
