"""Log records → typed events as plain rows; what :mod:`spark_jobs.transforms.log_events` gives as a frame."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from spark_jobs.serving import LOG_EVENT_FIELDS
from spark_jobs.small.rows import Row
from spark_jobs.step_schemas import EVENT, SERVED_EVENT
from spark_jobs.transforms.event_batches import RECORD_COLUMNS, event_batches


def recognised(log_records: pa.Table) -> list[Row]:
    """A row of ``EVENT`` for each event, as often as the lake holds it."""
    nothing = dict.fromkeys(EVENT.names)
    records = log_records.select([*RECORD_COLUMNS, "message"]).to_batches()
    return [nothing | row for batch in event_batches(records) for row in batch.to_pylist()]


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
