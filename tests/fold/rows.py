"""The small builders of :mod:`tests.rows` as plain rows of the fold: instants are epoch ms, structs
have all their fields.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ingest.lake.tables import TABLES
from tests.rows import (
    EPOCH_MS,
    JOB,
    VERTEX,
    Row,
    event_values,
    fact_values,
    lake_values,
    serving_values,
)

__all__ = ["JOB", "VERTEX", "Row", "events", "facts", "lake", "noon", "only", "serving"]

noon = EPOCH_MS
UNREAD = ("cluster", "source", "date")
"""Columns that do not come to the fold."""


def lake(table: str, rows: Iterable[Row]) -> list[dict[str, Any]]:
    kinds = {field.name: field.type for field in TABLES[table].schema if field.name not in UNREAD}
    return [
        {name: _whole(row[name], kind) for name, kind in kinds.items()}
        for row in lake_values(table, rows, EPOCH_MS)
    ]


def facts(rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [_without(row, "cluster", "job_id") for row in fact_values(rows, EPOCH_MS)]


def serving(table: str, rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [_without(row, "cluster", "job_id") for row in serving_values(table, rows, EPOCH_MS)]


def events(rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [_without(row, "cluster") for row in event_values(rows, EPOCH_MS)]


def only(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    (row,) = rows
    return row


def _without(row: Row, *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def _whole(value: Any, kind: pa.DataType) -> Any:
    """Structs by name, with all fields of theirs, whether given by name or in order."""
    if value is None:
        return None
    if pa.types.is_list(kind):
        return [_whole(one, kind.value_type) for one in value]
    if pa.types.is_struct(kind):
        given = (
            value
            if isinstance(value, Mapping)
            else dict(zip((field.name for field in kind), value, strict=True))
        )
        return {field.name: _whole(given.get(field.name), field.type) for field in kind}
    return value
