import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ingest.flink_logs.reasons import reason_of
from spark_jobs.fold.rows import (
    LINE,
    Row,
    RowList,
    Rows,
    first_known,
    iso,
    largest,
    newest_by,
    ordered,
    rank,
)
from spark_jobs.fold.triggers import REPORTED, TRIGGERED

COMPLETED = "checkpoint_completed"
DECLINED = "checkpoint_declined"
EXPIRED = "checkpoint_expired"
LATE = "late_message"
FAILED = ("checkpoint_failed", "trigger_failed", "checkpoint_discarded")
KINDS_OF_CHECKPOINT = (TRIGGERED, COMPLETED, DECLINED, EXPIRED, LATE, REPORTED, *FAILED)
"""Lines about a restore also have a checkpoint id, but of the restored snapshot."""

DECLINES_KEPT = 50
LATE_MESSAGES_KEPT = 50
EXCEPTION_CHARS = 16 * 1024

# Flink wraps exceptions of tasks, since the JobManager may lack their classes.
_WRAPPER = re.compile(r"^org\.apache\.flink\.util\.SerializedThrowable: ")
_CAUSE = "\nCaused by: "
_BEFORE_1_14 = " bytes in "
_DECLINE = ("execution_id", "vertex_id", "task", "subtask", "attempt", "container", "host")
_LATE = ("vertex_id", "task", "subtask", "container", "host")

Names = Mapping[str, str | None]


class Report(NamedTuple):
    """The first known instant, reason, text and trace in several lines."""

    at: int | None = None
    reason: str | None = None
    text: str | None = None
    trace: str | None = None


NOT_REPORTED = Report()


class Span(NamedTuple):
    """What Flink's spans and events of the checkpoint have: the outcome and figures of the whole
    checkpoint. ``at``: the last acknowledgement. ``failed_at``: when it failed, which only an
    event has.
    """

    status: str | None = None
    at: int | None = None
    failed_at: int | None = None
    end_to_end_ms: int | None = None
    state_bytes: int | None = None
    checkpointed_bytes: int | None = None
    as_of: int | None = None

    @property
    def figures(self) -> Row:
        return {name: getattr(self, name) for name in _SPAN_FIGURES}


_SPAN_FIGURES = ("end_to_end_ms", "state_bytes", "checkpointed_bytes")
NO_SPAN = Span()


@dataclass(frozen=True)
class CheckpointLog:
    triggered_at: int | None = None
    checkpoint_type: str | None = None
    is_savepoint: bool | None = None
    completed_at: int | None = None
    completed_bytes: int | None = None
    completed_ms: int | None = None
    completed_as_before_1_14: bool = False
    expired_at: int | None = None
    failure: Report = NOT_REPORTED
    decline: Report = NOT_REPORTED
    declined: RowList = field(default=(), repr=False)
    late: RowList = field(default=(), repr=False)
    span: Span = NO_SPAN
    as_of: int | None = None


NOTHING_LOGGED = CheckpointLog()


def checkpoint_log(lines: Rows) -> CheckpointLog:
    distinct = newest_by(lines, LINE, ("observed_at",))
    in_order = ordered(distinct, "ts", "process", "record_hash", "ordinal")
    spans = [event for event in in_order if event["kind"] == REPORTED]
    events = [event for event in in_order if event["kind"] != REPORTED]
    if not in_order:
        return NOTHING_LOGGED
    by_kind = {
        kind: [event for event in events if event["kind"] == kind]
        for kind in (TRIGGERED, COMPLETED, EXPIRED, DECLINED, LATE)
    }
    triggered, completed, declined = by_kind[TRIGGERED], by_kind[COMPLETED], by_kind[DECLINED]
    typed = [*triggered, *spans]
    flags = [event["is_savepoint"] for event in typed if event["is_savepoint"] is not None]
    return CheckpointLog(
        triggered_at=_first(triggered, "ts"),
        checkpoint_type=_first(typed, "checkpoint_type"),
        is_savepoint=any(flags) if flags else None,
        completed_at=_first(completed, "ts"),
        completed_bytes=largest(*(event["state_bytes"] for event in completed)),
        completed_ms=largest(*(event["duration_ms"] for event in completed)),
        completed_as_before_1_14=any(
            _BEFORE_1_14 in (event["message"] or "") for event in completed
        ),
        expired_at=_first(by_kind[EXPIRED], "ts"),
        failure=_report([event for event in events if event["kind"] in FAILED]),
        decline=_report(declined),
        declined=declined,
        late=by_kind[LATE],
        span=_span(spans),
        as_of=largest(*(event["observed_at"] for event in events)),
    )


def declines(log: CheckpointLog, names: Names) -> list[Row] | None:
    reported = (
        {
            "at": event["ts"],
            **_select(event, _DECLINE),
            "reason": _reason(event),
            "exception": root_cause(event["detail"]),
            "log_line": (event["message"] or "").partition("\n")[0],
        }
        for event in log.declined
    )
    return [
        {
            "vertex_id": entry["vertex_id"],
            "vertex_name": _name(entry, names),
            **_select(entry, ("subtask", "attempt", "execution_id", "container", "host")),
            "at": iso(entry["at"]),
            **_select(entry, ("reason", "exception", "log_line")),
        }
        for entry in sorted(reported, key=rank)[:DECLINES_KEPT]
    ] or None


def _select(row: Row, names: Iterable[str]) -> Row:
    return {name: row[name] for name in names}


def late_messages(log: CheckpointLog, names: Names, expired_at: int | None) -> list[Row] | None:
    reported = ({"at": event["ts"], **_select(event, _LATE)} for event in log.late)
    return [
        {
            "vertex_id": entry["vertex_id"],
            "vertex_name": _name(entry, names),
            **_select(entry, ("subtask", "container", "host")),
            "at": iso(entry["at"]),
            "late_ms": None if expired_at is None else entry["at"] - expired_at,
        }
        for entry in sorted(reported, key=rank)[:LATE_MESSAGES_KEPT]
    ] or None


def root_cause(trace: str | None) -> str | None:
    if trace is None:
        return None
    innermost = trace.rpartition(_CAUSE)[2] if _CAUSE in trace else ""
    line = innermost.partition("\n")[0] or trace.partition("\n")[0]
    return _WRAPPER.sub("", line) if line else None


def _reason(event: Row) -> str | None:
    reason: str | None = event["reason"]
    return reason_of(event["detail"]) if reason is None else reason


def _report(events: RowList) -> Report:
    return Report(
        _first(events, "ts"),
        first_known(*map(_reason, events)),
        _first(events, "reason_text"),
        _first(events, "detail"),
    )


def _span(events: RowList) -> Span:
    return Span(
        _first(events, "to_state"),
        _first(events, "ts"),
        largest(*(event["ts"] for event in events if event["trigger_time"] is None)),
        _first(events, "duration_ms"),
        _first(events, "state_bytes"),
        _first(events, "checkpointed_bytes"),
        largest(*(event["observed_at"] for event in events)),
    )


def _first(events: Rows, name: str) -> Any:
    return first_known(*(event[name] for event in events))


def _name(reported: Row, names: Names) -> str | None:
    return names.get(reported["vertex_id"]) or reported["task"]
