"""Plain rows: dicts by column name; instants are epoch milliseconds. Lists may have duplicates:
readers first take the newest row of each identity. In a tie, the whole content decides.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any

from ingest.messages import message_document, to_plain
from spark_jobs.serving import Kind, ServingTable

Row = dict[str, Any]
Rows = Iterable[Row]
RowList = Sequence[Row]
"""Unlike ``Rows``, it can be read several times."""

HOUR_MS = 3_600_000

LINE = ("process", "ts", "record_hash", "ordinal")
"""The identity of a log line within a cluster."""


def rank(value: Any) -> Any:
    """A sort key: None is lowest; lists and structs count part by part."""
    if value is None:
        return _LOWEST
    kind = type(value)
    if kind is int or kind is str:
        return (1, value)
    if kind is dict or isinstance(value, Mapping):
        return (1, *map(rank, value.values()))
    if isinstance(value, list | tuple):
        return (1, *map(rank, value))
    return (1, value)


_LOWEST = (0,)
_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def ordered(rows: Rows, *names: str) -> list[Row]:
    return sorted(rows, key=lambda row: [rank(row[name]) for name in names])


def newest_by(rows: Rows, keys: Sequence[str], order: Sequence[str]) -> list[Row]:
    """For each distinct ``keys``, the largest row by ``order``."""
    row_list = list(rows)
    return [row_list[index] for index in newest_places(row_list, keys, order)]


def newest_places(rows: RowList, keys: Sequence[str], order: Sequence[str]) -> list[int]:
    """Indexes of the rows of ``newest_by``, in order of each key's first row."""
    newest: dict[Any, int] = {}
    key_of = itemgetter(*keys)
    for index, row in enumerate(rows):
        key = key_of(row)
        known = newest.get(key)
        if known is None or _is_newer(row, rows[known], order):
            newest[key] = index
    return list(newest.values())


def _is_newer(row: Row, other: Row, order: Sequence[str]) -> bool:
    for name in order:
        if row[name] != other[name]:
            return bool(rank(row[name]) > rank(other[name]))
    return row != other and bool(rank(row) > rank(other))


def newest_known(rows: Rows, names: Sequence[str], order: Callable[[Row], Any]) -> Row:
    """The values of ``newest_rows``; None where no row has one."""
    newest = newest_rows(rows, names, order)
    return {name: newest[name][name] if name in newest else None for name in names}


def newest_rows(rows: Rows, names: Sequence[str], order: Callable[[Row], Any]) -> dict[str, Row]:
    """For each column, the row with its newest known value by ``order``, in a tie the largest."""
    newest: dict[str, tuple[Any, Row]] = {}
    for row in rows:
        position = order(row)
        for name in names:
            if row[name] is None:
                continue
            known = newest.get(name)
            # Values may be long lists: they are only compared in a tie.
            if (
                known is None
                or position > known[0]
                or (position == known[0] and rank(row[name]) > rank(known[1][name]))
            ):
                newest[name] = position, row
    return {name: row for name, (_, row) in newest.items()}


def grouped(rows: Rows, *names: str) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = {}
    key_of = itemgetter(*names)
    for row in rows:
        groups.setdefault(key_of(row), []).append(row)
    return groups


def least(*values: Any) -> Any:
    known = [value for value in values if value is not None]
    return min(known) if known else None


def largest(*values: Any) -> Any:
    known = [value for value in values if value is not None]
    return max(known) if known else None


def first_known(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def percentile(values: Iterable[float | None], part: float) -> float | None:
    """``part``: 0…1; interpolated between the two nearest ranks."""
    return quantile(sorted(value for value in values if value is not None), part)


def quantile(ascending: Sequence[float], part: float) -> float | None:
    if not ascending:
        return None
    position = part * (len(ascending) - 1)
    below = int(position)
    above = min(below + 1, len(ascending) - 1)
    low = float(ascending[below])
    return low if position == below else low + (ascending[above] - low) * (position - below)


def floor_ms(at_ms: int, step_ms: int) -> int:
    return at_ms // step_ms * step_ms


def json_text(value: Any) -> str | None:
    return None if value is None else _compact(value)


_AS_TEXT: Mapping[Kind, Callable[[Any], str | None]] = {
    "json": json_text,
    "message": lambda value: None if value is None else message_document(value),
    "messages": lambda value: json_text(to_plain(value)),
}


def served_rows(rows: Rows, table: ServingTable) -> list[Row]:
    as_text = {
        column.name: _AS_TEXT[column.kind] for column in table.columns if column.kind in _AS_TEXT
    }
    return [
        {**row, **{name: convert(row[name]) for name, convert in as_text.items()}} for row in rows
    ]


def iso(at_ms: int | None) -> str | None:
    if at_ms is None:
        return None
    seconds, ms = divmod(at_ms, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{ms:03d}Z"
