"""A log record → the typed event it tells of, by the pattern table.

``spark_jobs.transforms.log_events`` does the same with native columns; a contract test holds both to
the same events. Everything that is derived after the expression matched is written down here once:

* ``detail``: the lines below the first one, cut at 16,384 characters; ``message``: the first line, cut at 2,000;
* ``reason``: the entry's own code, or for checkpoint kinds the reason of the innermost
  ``CheckpointException`` of the trace (else of ``reason_text``), or for failures a well-known cause;
* ``reason_text``: what the line itself says, else the last ``Caused by:`` line, else the first line of the trace.
"""

import re
from datetime import UTC, datetime
from typing import Any

from ingest.flink_logs.events import LogEvent
from ingest.flink_logs.patterns import KEPT_LEVELS, PATTERNS, READ_CHARS, TRACE_PATTERNS, Pattern, contained, starts
from ingest.flink_logs.reasons import any_of, failure_cause_of, reason_of
from ingest.records import LogRecord

MESSAGE_CHARS = 2_000
DETAIL_CHARS = 16_384
LAST_EPOCH_MS = 7_258_118_400_000
"""Times from the year 2200 on are no times."""

CHECKPOINT_FAILURE_KINDS = frozenset({"checkpoint_declined", "checkpoint_failed", "trigger_refused", "trigger_failed", "late_decline"})
"""Kinds whose reason is a ``CheckpointFailureReason``."""
FAILURE_KINDS = frozenset({"task_state", "job_state"})
"""Kinds whose stack trace may name a well-known cause."""

INT_FIELDS = frozenset({"checkpoint_id", "subtask_number", "parallelism", "attempt", "state_bytes", "duration_ms", "count"})

_STARTS = starts()
_CONTAINED = contained()
_TRACE_OF_PIECE = {pattern.piece: pattern for pattern in TRACE_PATTERNS}
_ANY_TRACE = re.compile(any_of(_TRACE_OF_PIECE))
_COMPILED = tuple((pattern, re.compile(pattern.regex)) for pattern in PATTERNS)


def is_candidate(level: str, line: str) -> bool:
    """Whether the table may read this first line, or its level alone makes it worth keeping."""
    return level in KEPT_LEVELS or line.startswith(_STARTS) or any(piece in line for piece in _CONTAINED)


def event_of(record: LogRecord) -> LogEvent | None:
    """The event that a record tells of; ``None`` for the many that tell of none."""
    line, _, trace = record.message.partition("\n")
    detail = trace[:DETAIL_CHARS] or None
    found = _read(line[:READ_CHARS].replace("\x01", ""))
    if found is None:
        return _event_of_trace(record, line, detail)
    pattern, values = found
    fields = _typed(values)
    fields["reason_text"] = (fields.get("reason_text") or cause_line(detail) or "")[:MESSAGE_CHARS] or None
    fields["reason"] = _reason(pattern, detail, fields["reason_text"])
    return _event(record, pattern.kind, line, detail, fields)


def cause_line(detail: str | None) -> str | None:
    """The innermost cause as one line: behind the last ``Caused by: ``, else the first line of the trace."""
    if not detail:
        return None
    _, _, cause = detail.rpartition("Caused by: ")
    return cause.partition("\n")[0] or None


def _read(line: str) -> tuple[Pattern, dict[str, str]] | None:
    for pattern, regex in _COMPILED:
        if line.startswith(pattern.starts) if pattern.starts else pattern.contains in line:
            match = regex.match(line)
            if match:
                values: dict[str, str] = {}
                for name, text in zip(pattern.fields, match.groups(""), strict=True):
                    values[name] = values.get(name, "") + text
                return pattern, values
    return None


def _typed(values: dict[str, str]) -> dict[str, Any]:
    fields: dict[str, Any] = {name: int(text) if name in INT_FIELDS else text for name, text in values.items() if text}
    number = fields.pop("subtask_number", None)
    if number:
        fields["subtask"] = number - 1
    moment = int(fields.pop("trigger_time", 0))
    if moment:
        fields["trigger_time"] = datetime.fromtimestamp(moment / 1000, UTC) if moment < LAST_EPOCH_MS else None
    if "path" in fields:
        fields["path"] = fields["path"].rstrip(".") or None
    if "checkpoint_type" in fields:
        fields["is_savepoint"] = "savepoint" in fields["checkpoint_type"].lower()
    execution = fields.get("execution_id", "").split("_")
    if len(execution) == 4:
        fields["vertex_id"] = execution[1]
        fields["subtask"] = int(execution[2])
        fields["attempt"] = int(execution[3])
    return fields


def _reason(pattern: Pattern, detail: str | None, reason_text: str | None) -> str | None:
    if pattern.reason:
        return pattern.reason
    if pattern.kind in CHECKPOINT_FAILURE_KINDS:
        _, found, said = (detail or "").rpartition("CheckpointException: ")
        reason = reason_of(said.partition("\n")[0]) if found else reason_of(reason_text)
        return reason.code if reason else None
    if pattern.kind in FAILURE_KINDS:
        return failure_cause_of(detail) or failure_cause_of(reason_text)
    return None


def _event_of_trace(record: LogRecord, line: str, detail: str | None) -> LogEvent | None:
    if record.level not in KEPT_LEVELS:
        return None
    match = _ANY_TRACE.search(f"{line}\n{detail or ''}")
    if match is None:
        return None
    pattern = _TRACE_OF_PIECE[match[1]]
    return _event(
        record, pattern.kind, line, detail, {"reason": pattern.reason, "reason_text": (cause_line(detail) or "")[:MESSAGE_CHARS] or None}
    )


def _event(record: LogRecord, kind: str, line: str, detail: str | None, fields: dict[str, Any]) -> LogEvent:
    return LogEvent(
        kind=kind,
        process=record.process,
        ts=record.ts,
        level=record.level,
        record_hash=record.record_hash,
        ordinal=record.ordinal,
        file=record.file,
        offset=record.offset,
        message=line[:MESSAGE_CHARS],
        detail=detail,
        **fields,
    )
