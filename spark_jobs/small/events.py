"""Log records → typed events, by the Python side of the pattern table; what :mod:`spark_jobs.transforms.log_events` gives."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, get_type_hints

import pyarrow as pa

from ingest.flink_logs.event_parser import event_of
from ingest.flink_logs.events import LogEvent
from ingest.records import LogRecord
from spark_jobs.serving import LOG_EVENT_FIELDS
from spark_jobs.small.rows import Row
from spark_jobs.step_schemas import SERVED_EVENT

_FIELDS = tuple(get_type_hints(LogEvent))
_OF_RECORD = tuple(get_type_hints(LogRecord))


def recognised(log_records: pa.Table) -> list[Row]:
    """A row for each event, as often as the lake holds it: fields of ``LogEvent``, ``cluster`` and ``observed_at``."""
    found = []
    for row in log_records.to_pylist():
        event = event_of(LogRecord(*(row[name] for name in _OF_RECORD)))
        if event:
            found.append({"cluster": row["cluster"], "observed_at": row["observed_at"], **{name: getattr(event, name) for name in _FIELDS}})
    return found


def served(located: Iterable[Row]) -> pa.Table:
    """Located events as ``SERVED_EVENT``."""
    rows = [row | {"fields": _fields(row), "served_reason": row["reason"] or _change(row)} for row in located]
    return pa.Table.from_pylist(rows, SERVED_EVENT)


def _change(row: Mapping[str, Any]) -> str | None:
    return " -> ".join(state for state in (row["from_state"], row["to_state"]) if state is not None) or None


def _fields(row: Mapping[str, Any]) -> str:
    known = {name: _plain(row[name]) for name in LOG_EVENT_FIELDS if row[name] is not None}
    return json.dumps(known, separators=(",", ":"), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value
