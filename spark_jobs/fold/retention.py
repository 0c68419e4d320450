import json
from dataclasses import fields
from operator import itemgetter
from typing import Any

from spark_jobs.diagnosis.registry import events_read
from spark_jobs.diagnosis.samples import VertexGauges, rule_kind
from spark_jobs.diagnosis.stack_traces import condensed
from spark_jobs.diagnosis.window_contents import (
    BRIEFLY_MS,
    DETAIL_CHARS,
    EVENT_KINDS,
    FAILED,
    FIRSTS,
    OF_SUBTASKS,
    UPLOADS,
    Span,
)
from spark_jobs.fold.rows import LINE, Row, RowList, Rows, grouped, newest_by, ordered

EVENTS_KEPT = 500
JUDGED_AGAIN_MS = 600_000
OF_OUTAGES = ("task_state CANCELED", "task_state INITIALIZING")
"""Events that show the parts of a restart, besides those that rules read."""
INITIALIZED = "initialization_reported"
OPERATOR_EVENT = "operator_event"
REMEMBERED = frozenset(
    (*EVENT_KINDS, FAILED, *OF_OUTAGES, INITIALIZED, OPERATOR_EVENT, *events_read())
)
JOB_ANSWERS_KEPT = 500
FAILURES_KEPT = 50
WINDOWS_KEPT = 10
MINUTES_KEPT, READINGS_KEPT = 2, 5_000
"""Minutes whose vertices are kept, and the number of subtask readings up to which more are kept."""
COUNTERS_KEPT = 4
"""Windows whose counters are compared (``record_counters.MOST_SPAN_MS``)."""
GAUGES_KEPT = 40
_GAUGES = (
    "vertex_id",
    "ts",
    "observed_at",
    *(field.name for field in fields(VertexGauges) if field.name not in ("vertex_id", "at_ms")),
)
PLACEMENTS_KEPT = 200
TASKMANAGER_LOSSES_KEPT = 200
SNAPSHOTS_KEPT = 100
"""Older snapshots are looked up in the lake, with the rows of their checkpoints."""
TRACE_CHARS = 4000

_CHANGING = (
    "state",
    "start_time",
    "end_time",
    "restarts",
    "restored_at",
    "state_since",
    "vertices",
    "configuration",
    "checkpoint_interval_ms",
)
_changing = itemgetter(*_CHANGING)
_BRIEF = OF_SUBTASKS.union(OF_OUTAGES)
_LINE_ORDER = ("ts", "observed_at", "process", "record_hash", "ordinal")


def each_once(lines: Rows) -> list[Row]:
    return ordered(newest_by(lines, LINE, ("observed_at",)), *_LINE_ORDER)


def events(in_order: RowList, first: Span | None = None) -> list[Row]:
    """The newest events of each kind that a rule or the fold reads, and the first and last event.
    ``in_order``: from ``each_once``. Task failures in the span ``first`` are also kept.
    """
    if not in_order:
        return []
    brief_since = max(event["ts"] for event in in_order) - BRIEFLY_MS - JUDGED_AGAIN_MS
    kept = [in_order[0], in_order[-1]]
    for kind, of_kind in _by_kind(in_order).items():
        if kind in _BRIEF:
            of_kind = [event for event in of_kind if event["ts"] >= brief_since]
        if kind in REMEMBERED:
            kept += of_kind[-EVENTS_KEPT:]
        if kind == FAILED and first:
            kept += [event for event in of_kind if first[0] <= event["ts"] <= first[1]][:FIRSTS]
    return [
        event
        if len(event["detail"] or "") <= DETAIL_CHARS
        else {**event, "detail": condensed(event["detail"], DETAIL_CHARS)}
        for event in ordered({id(event): event for event in kept}.values(), *_LINE_ORDER)
    ]


def events_whole_from(remembered: RowList) -> int:
    """When the remembered events begin to have every line about tasks."""
    if not remembered:
        return 0
    full = [
        int(min(event["ts"] for event in of_kind)) + 1
        for kind, of_kind in _by_kind(remembered).items()
        if (kind in _BRIEF or kind == FAILED) and len(of_kind) >= EVENTS_KEPT
    ]
    newest = int(max(event["ts"] for event in remembered))
    return max(*full, newest - BRIEFLY_MS - JUDGED_AGAIN_MS, 0)


def _by_kind(events: Rows) -> dict[str, list[Row]]:
    kinds: dict[str, list[Row]] = {}
    for event in events:
        kinds.setdefault(rule_kind(event["kind"], event["to_state"]), []).append(event)
    return kinds


def answers(jobs: Rows) -> list[Row]:
    """The first and last answer of each combination of relevant values, in order."""
    in_order = ordered(newest_by(jobs, ("observed_at",), ("commit_seq",)), "observed_at")
    first_and_last: dict[str, list[Row]] = {}
    previous: tuple[Any, ...] = ()
    for row in in_order:
        values = _changing(row)
        if values != previous:
            previous, kept = values, first_and_last.setdefault(json.dumps(values), [row])
        kept[1:] = [row] if row is not kept[0] else []
    rows = (row for kept in first_and_last.values() for row in kept)
    return ordered(rows, "observed_at")[-JOB_ANSWERS_KEPT:]


def placements(samples: Rows) -> list[Row]:
    first: dict[Any, Row] = {}
    for row in samples:
        if row["host"]:
            key = row["vertex_id"], tuple(row["host"]), tuple(row["attempt"] or ())
            first[key] = min(row, first.get(key, row), key=_first_seen)
    kept: list[Row] = []
    for rows in grouped(first.values(), "vertex_id").values():
        kept += ordered(rows, "ts", "host", "attempt")[-PLACEMENTS_KEPT:][::-1]
    return kept


def _first_seen(row: Row) -> tuple[int, bool]:
    # Rows with one key differ only in time, and in an unknown or an empty attempt.
    return row["ts"], row["attempt"] is not None


def pressure(windows: Rows) -> list[Row]:
    return _newest_of_vertices(windows, "window_start", "as_of", WINDOWS_KEPT)


def vertex_windows(rows: Rows) -> list[Row]:
    kept: list[Row] = []
    by_minute = grouped(newest_by(rows, ("vertex_id", "window_start"), ("as_of",)), "window_start")
    readings = 0
    for number, minute in enumerate(sorted(by_minute, reverse=True)):
        readings += sum((row["parallelism"] or 1) * len(row) for row in by_minute[minute])
        if number >= MINUTES_KEPT and readings > READINGS_KEPT:
            break
        kept += sorted(by_minute[minute], key=itemgetter("vertex_id"))
    return kept


def counters(answers: Rows) -> list[Row]:
    return _newest_of_vertices(answers, "window_start", "as_of", COUNTERS_KEPT)


def gauges(rows: Rows) -> list[Row]:
    kept = _newest_of_vertices(rows, "ts", "observed_at", GAUGES_KEPT)
    # Rows of an earlier version of Weir lack new columns.
    return ordered(({name: row.get(name) for name in _GAUGES} for row in kept), "ts", "vertex_id")


def _newest_of_vertices(rows: Rows, at: str, version: str, most: int) -> list[Row]:
    unique = grouped(newest_by(rows, ("vertex_id", at), (version,)), "vertex_id")
    return [row for of_vertex in unique.values() for row in ordered(of_vertex, at)[-most:]]


def uploads(rows: Rows) -> list[Row]:
    unique = newest_by(rows, ("checkpoint_id", "trigger_time"), ("as_of",))
    return ordered(unique, "as_of", "trigger_time")[-UPLOADS:]


def snapshots(rows: Rows) -> list[Row]:
    version = ("metadata_path", "metadata_bytes", "metadata_modified")
    unique = newest_by(rows, version, ("reader_version", "observed_at"))
    return ordered(unique, "observed_at", "metadata_path", "metadata_modified")[-SNAPSHOTS_KEPT:]


def failures(rows: Rows, first: Span | None = None) -> list[Row]:
    unique = newest_by(rows, ("ts", "task_key", "exception_name"), ("is_root", "as_of"))
    newest_first = sorted(
        unique, key=lambda row: (-row["ts"], row["task_key"], row["exception_name"])
    )
    kept = newest_first[:FAILURES_KEPT]
    if first:
        older = newest_first[FAILURES_KEPT:]
        kept += [row for row in older if first[0] <= row["ts"] <= first[1]][-FIRSTS:]
    return [{**row, "stacktrace": condensed(row["stacktrace"], TRACE_CHARS)} for row in kept]


def taskmanager_losses(rows: Rows) -> list[Row]:
    unique = newest_by(rows, ("taskmanager_id", "life"), ("observed_at",))
    return ordered(unique, "ts", "taskmanager_id")[-TASKMANAGER_LOSSES_KEPT:]
