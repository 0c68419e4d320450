"""Turns a log record into a typed event, by the pattern table. Fields of a ``ParsedMessage``:

* ``detail``: the lines below the first one.
* ``reason``: the entry's code; for checkpoint kinds, the reason of the innermost
  ``CheckpointException`` or of ``reason_text``; for failures, a well-known cause; for
  ``unread_line``, how the line begins.
* ``reason_text``: that of the line, else the last ``Caused by:``, else the trace's first line.

``spark_jobs.transforms.event_batches`` turns these into columns.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ingest.flink_logs import reports
from ingest.flink_logs.patterns import (
    IGNORED_STARTS,
    KEPT_LEVELS,
    KIND_OF_PIECE,
    PATTERNS,
    READ_CHARS,
    STORE_KINDS,
    UNREAD,
    Pattern,
)
from ingest.flink_logs.reasons import any_of, failure_cause_of, reason_of
from ingest.store_places import place_in
from ingest.traces import shortened

MESSAGE_CHARS = 2_000
DETAIL_CHARS = 16_384
PATH_CHARS = 500
LAST_EPOCH_MS = 7_258_118_400_000

CHECKPOINT_FAILURE_KINDS = frozenset(
    {
        "checkpoint_declined",
        "checkpoint_failed",
        "trigger_refused",
        "trigger_failed",
        "late_decline",
    }
)
FAILURE_KINDS = frozenset(
    {
        "task_state",
        "job_state",
        "job_terminal",
        "slot_request_failed",
        "worker_terminated",
        "worker_request_failed",
        "tm_disconnected",
        "jobmanager_fatal",
        "taskmanager_fatal",
        "fatal_error",
        "program_failed",
        "cluster_shut_down",
        "enumeration_failed",
    }
)

DESCRIBED_KINDS = frozenset({"tm_disconnected", "worker_terminated"})
"""Their reason text continues up to the stack trace."""

INT_FIELDS = frozenset(
    {
        "checkpoint_id",
        "subtask_number",
        "parallelism",
        "attempt",
        "state_bytes",
        "checkpointed_bytes",
        "duration_ms",
        "alignment_ms",
        "timeout_ms",
        "count",
    }
)

Values = tuple[str | None, ...]
ParsedMessage = tuple[str, tuple[str, ...], Values, str | None, str | None, str, str | None]
"""Kind, fields and their values, reason, reason text, first line and detail."""


@dataclass(frozen=True, slots=True)
class _Entry:
    kind: str
    reason: str
    starts: str
    contains: str
    match: Callable[[str], re.Match[str] | None]
    groups: tuple[str, ...]
    """The field of each group. Alternatives may have a group each for the same field."""
    fields: tuple[str, ...]
    below: tuple[str, Callable[[str], re.Match[str] | None]] | None
    in_trace: tuple[str, Callable[[str], re.Match[str] | None]] | None


def _entry(pattern: Pattern, regex: str, groups: tuple[str, ...]) -> _Entry:
    below, in_trace = (
        (declared[0], re.compile(declared[1]).search) if declared else None
        for declared in (pattern.below, pattern.in_trace)
    )
    return _Entry(
        pattern.kind,
        pattern.reason,
        pattern.starts,
        pattern.contains,
        re.compile(regex).match,
        groups,
        tuple(dict.fromkeys(groups)),
        below,
        in_trace,
    )


_ENTRIES = tuple(_entry(pattern, pattern.regex, pattern.fields) for pattern in PATTERNS)
READ_FIELDS = tuple(
    dict.fromkeys(
        name
        for fields in (
            *((*entry.fields, *(entry.below or entry.in_trace or ())[:1]) for entry in _ENTRIES),
            reports.FIELDS,
        )
        for name in fields
    )
)
_TOLERANT = {
    strict: _entry(pattern, pattern.tolerant, pattern.tolerant_fields)
    for strict, pattern in zip(_ENTRIES, PATTERNS, strict=True)
}
_OPENING_CHARS = min(len(entry.starts) for entry in _ENTRIES if entry.starts)
_BY_CONTENT = tuple(entry for entry in _ENTRIES if not entry.starts)
_BY_OPENING = {
    opening: tuple(entry for entry in _ENTRIES if entry.starts[:_OPENING_CHARS] == opening)
    for opening in {entry.starts[:_OPENING_CHARS] for entry in _ENTRIES if entry.starts}
}
_BY_OPENING_OR_CONTENT = {
    opening: tuple(entry for entry in _ENTRIES if entry in entries or entry in _BY_CONTENT)
    for opening, entries in _BY_OPENING.items()
}
_UNREAD = _Entry(UNREAD, "", "", "", re.compile("").match, (), (), None, None)
_CAUSED_BY = "Caused by: "
_BRACKETS = (")", "]")
_LOGGER_AT_END = re.compile(
    r" (?:\((?:[a-z][a-z0-9_]{0,60}\.){2,20}[A-Z][A-Za-z0-9_$]{0,200}(?::[0-9?]{1,9})?\)"
    r"|\[[A-Z][A-Za-z0-9_$]{0,200} [A-Za-z][^\[\] ]{0,200}\])"
).fullmatch
_EMPTY_PLACEHOLDER = "{}"
"""Flink prints a placeholder if its value is an exception: the trace has the reason."""
_ANY_TRACE = re.compile(any_of(KIND_OF_PIECE))


def parse_message(level: str, message: str) -> ParsedMessage | None:
    parsed = _parse(level, message)
    return _with_place(parsed, message) if parsed and parsed[0] in STORE_KINDS else parsed


def _with_place(parsed: ParsedMessage, message: str) -> ParsedMessage:
    kind, fields, values, reason, reason_text, line, detail = parsed
    text = message[:DETAIL_CHARS]
    pieces = (piece for piece in KIND_OF_PIECE if piece in text)
    place = place_in(text, min(map(text.index, pieces), default=0))
    if place is None:
        return parsed
    path = f"{place.uri}/{place.key}".rstrip("/")[:PATH_CHARS]
    fields, values = _with_value(fields, values, "path", path)
    return kind, fields, values, reason, reason_text, line, detail


def _parse(level: str, message: str) -> ParsedMessage | None:
    line, _, trace = message.partition("\n")
    if line.startswith(reports.OPENING):
        return _reported(line)
    if line[-1:] in _BRACKETS:
        line = without_logger(line)
    detail = (shortened(trace, DETAIL_CHARS) or None) if trace else None
    entry_and_values = _find_entry(line)
    if entry_and_values is None:
        return _parse_trace(line, detail) if level in KEPT_LEVELS else None
    entry, values = entry_and_values
    if entry is _UNREAD:
        trace_event = _parse_trace(line, detail) if level in KEPT_LEVELS else None
        return trace_event or (UNREAD, (), (), values[0], None, line[:MESSAGE_CHARS], detail)
    fields = entry.fields
    if entry.below:
        name, search = entry.below
        match = search(trace[:DETAIL_CHARS])
        if match is None:
            return None
        fields, values = _with_value(fields, values, name, match[1])
        detail = None
    elif entry.in_trace:
        name, search = entry.in_trace
        if _value(fields, values, name) is None and (match := search(trace[:DETAIL_CHARS])):
            fields, values = _with_value(fields, values, name, match[1])
    reason = entry.reason or None
    reason_text = _value(fields, values, "reason_text")
    if reason_text == _EMPTY_PLACEHOLDER:
        reason_text = None
    if reason_text is None and detail is None:
        return entry.kind, fields, values, reason, None, line[:MESSAGE_CHARS], None
    if reason_text and detail and entry.kind in DESCRIBED_KINDS:
        reason_text = f"{reason_text} {_lines_before_trace(detail)}".rstrip()
    if reason_text is None or (entry.kind == "task_state" and detail and _CAUSED_BY in detail):
        reason_text = cause_line(detail)
    reason_text = reason_text and reason_text[:MESSAGE_CHARS]
    reason = reason or _reason(entry.kind, detail, reason_text)
    return entry.kind, fields, values, reason, reason_text, line[:MESSAGE_CHARS], detail


def _reported(line: str) -> ParsedMessage | None:
    event = reports.event_of(line)
    if event is None:
        return None
    kind, fields, reason_text, detail = event
    message = line[:MESSAGE_CHARS]
    return kind, tuple(fields), tuple(fields.values()), None, reason_text, message, detail


def _value(fields: tuple[str, ...], values: Values, name: str) -> str | None:
    return values[fields.index(name)] if name in fields else None


def _with_value(
    fields: tuple[str, ...], values: Values, name: str, value: str
) -> tuple[tuple[str, ...], Values]:
    changed = {**dict(zip(fields, values, strict=True)), name: value}
    return tuple(changed), tuple(changed.values())


def without_logger(line: str) -> str:
    opening = max(line.rfind(" ("), line.rfind(" ["))
    return line[:opening] if opening > 0 and _LOGGER_AT_END(line, opening) else line


def _lines_before_trace(detail: str) -> str:
    lines = detail[:MESSAGE_CHARS].split("\n\tat ", 1)[0].splitlines()
    return " ".join(filter(None, map(str.strip, lines)))


def cause_line(detail: str | None) -> str | None:
    if not detail:
        return None
    _, _, cause = detail.rpartition(_CAUSED_BY)
    return cause.partition("\n")[0] or None


def is_savepoint(checkpoint_type: str) -> bool:
    return "savepoint" in checkpoint_type.lower()


def path_of(text: str) -> str | None:
    return text.rstrip(".") or None


def attempt_of(execution_id: str) -> tuple[str, int, int] | None:
    """Vertex id, subtask and attempt, which execution ids have since 1.16."""
    parts = execution_id.split("_")
    return (
        (parts[1], int(parts[2]), int(parts[3]))
        if len(parts) == 4 and len(parts[1]) == 32
        else None
    )


def _find_entry(line: str) -> tuple[_Entry, Values] | None:
    if len(line) > READ_CHARS:
        line = line[:READ_CHARS]
    if "\x01" in line:
        line = line.replace("\x01", "")
    opening = line[:_OPENING_CHARS]
    for entry in _BY_OPENING.get(opening, ()):
        if line.startswith(entry.starts) and entry.contains in line:
            match = entry.match(line)
            if match:
                return entry, _values(entry, match)
    for entry in _BY_CONTENT:
        if entry.contains in line and (match := entry.match(line)):
            return entry, _values(entry, match)
    return _find_tolerant_entry(line, _BY_OPENING_OR_CONTENT.get(opening, _BY_CONTENT))


def _find_tolerant_entry(line: str, entries: Iterable[_Entry]) -> tuple[_Entry, Values] | None:
    candidates = [
        entry for entry in entries if line.startswith(entry.starts) and entry.contains in line
    ]
    for entry in candidates:
        tolerant = _TOLERANT[entry]
        if match := tolerant.match(line):
            return tolerant, _values(tolerant, match)
    if line.startswith(IGNORED_STARTS):
        return None
    for entry in candidates:
        opening = (entry.starts or entry.contains).strip()
        if " " in opening:  # many lines begin with the one word of other openings
            return _UNREAD, (opening,)
    return None


def _values(entry: _Entry, match: re.Match[str]) -> Values:
    groups: Values = match.groups()
    if "" in groups:
        groups = tuple(text or None for text in groups)
    if entry.fields == entry.groups:
        return groups
    texts = {name: text for name, text in zip(entry.groups, groups, strict=True) if text}
    return tuple(map(texts.get, entry.fields))


def _reason(kind: str, detail: str | None, reason_text: str | None) -> str | None:
    if kind in CHECKPOINT_FAILURE_KINDS:
        _, separator, text = (detail or "").rpartition("CheckpointException: ")
        # In 1.13 and 1.14, the trace of a decline begins with the sentence, without a class.
        first_line = (text if separator else detail or "").partition("\n")[0]
        return (None if separator else reason_of(reason_text)) or reason_of(first_line)
    if kind in FAILURE_KINDS:
        return failure_cause_of(detail) or failure_cause_of(reason_text)
    return None


def _parse_trace(line: str, detail: str | None) -> ParsedMessage | None:
    text = f"{line}\n{detail or ''}"
    for piece in KIND_OF_PIECE:
        if piece in text:
            break
    else:  # several times as fast as a regular expression without a match
        return None
    match = _ANY_TRACE.search(text)
    if match is None:
        return None
    kind = KIND_OF_PIECE[match[1]]
    return (
        kind,
        (),
        (),
        kind.upper(),
        (cause_line(detail) or "")[:MESSAGE_CHARS] or None,
        line[:MESSAGE_CHARS],
        detail,
    )


GRAPH_CREATED = "execution_graph_created"
