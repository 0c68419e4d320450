"""Plain rows: dicts by column name, instants as epoch milliseconds UTC. Lists may hold duplicates:
readers first fold by the table's identity. If two rows tie, their whole content decides.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any

from ingest.messages import message_document, to_plain
from spark_jobs.serving import Kind, ServingTable

Row = Mapping[str, Any]

HOUR_MS = 3_600_000

LINE = ("process", "ts", "record_hash", "ordinal")
"""The identity of a log line within a cluster."""


def rank(value: Any) -> Any:
    """None lowest, lists and structs part by part."""
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


def ordered(rows: Iterable[Row], *names: str) -> list[Row]:
    return sorted(rows, key=lambda row: [rank(row[name]) for name in names])


def newest_by(rows: Iterable[Row], keys: Sequence[str], order: Sequence[str]) -> list[Row]:
    """One row for each distinct ``keys``: the largest by ``order``."""
    listed = list(rows)
    return [listed[place] for place in newest_places(listed, keys, order)]


def newest_places(rows: Sequence[Row], keys: Sequence[str], order: Sequence[str]) -> list[int]:
    """The positions of :func:`newest_by`, in order of the first row of each key."""
    newest: dict[Any, int] = {}
    key_of = itemgetter(*keys)
    for place, row in enumerate(rows):
        key = key_of(row)
        known = newest.get(key)
        if known is None or _is_newer(row, rows[known], order):
            newest[key] = place
    return list(newest.values())


def _is_newer(row: Row, known: Row, order: Sequence[str]) -> bool:
    for name in order:
        value, known_value = row[name], known[name]
        if value != known_value:
            return bool(rank(value) > rank(known_value))
    # The whole content is only looked at where the order does not decide.
    return row != known and bool(rank(row) > rank(known))


def newest_known(
    rows: Iterable[Row], names: Iterable[str], order: Callable[[Row], Any]
) -> dict[str, Any]:
    """The newest known value of each of ``names``, ties by value."""
    known: dict[str, Any] = dict.fromkeys(names)
    newest: dict[str, Any] = {}
    for row in rows:
        at = order(row)
        for name in known:
            value = row[name]
            if value is None:
                continue
            # Values, which may be long lists, are only compared where two rows tie.
            if (
                name not in newest
                or at > newest[name]
                or (at == newest[name] and rank(value) > rank(known[name]))
            ):
                known[name], newest[name] = value, at
    return known


def grouped(rows: Iterable[Row], *names: str) -> dict[Any, list[Row]]:
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
    """Interpolated between the two nearest ranks."""
    return quantile(sorted(value for value in values if value is not None), part)


def quantile(ascending: Sequence[float], part: float) -> float | None:
    if not ascending:
        return None
    place = part * (len(ascending) - 1)
    below = int(place)
    above = min(below + 1, len(ascending) - 1)
    low = float(ascending[below])
    return low if place == below else low + (ascending[above] - low) * (place - below)


def floor_ms(at_ms: int, step_ms: int) -> int:
    return at_ms // step_ms * step_ms


def json_text(value: Any) -> str | None:
    return None if value is None else _compact(value)


_AS_TEXT: Mapping[Kind, Callable[[Any], str | None]] = {
    "json": json_text,
    "message": lambda value: None if value is None else message_document(value),
    "messages": lambda value: json_text(to_plain(value)),
}


def served_rows(rows: Iterable[Row], table: ServingTable) -> list[dict[str, Any]]:
    write = {
        column.name: _AS_TEXT[column.kind] for column in table.columns if column.kind in _AS_TEXT
    }
    return [
        {**row, **{name: as_text(row[name]) for name, as_text in write.items()}} for row in rows
    ]


def iso(at_ms: int | None) -> str | None:
    if at_ms is None:
        return None
    seconds, ms = divmod(at_ms, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{ms:03d}Z"
