"""Plain rows of Arrow tables: instants are µs since 1970. A comparison with an unknown value (None)
is false, as in SQL, unless ``unknown``.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from spark_jobs.arrow_schemas import with_instants

Row = dict[str, Any]
Rows = Iterable[Row]
RowList = Sequence[Row]
Key = tuple[Any, ...]

US_PER_S = 1_000_000
US_PER_H = 3600 * US_PER_S
NEVER = 253_370_764_800_000_000
"""The year 9999. A file without a time counts as written then, so it is never old."""


def plain_rows(table: pa.Table) -> list[Row]:
    schema = pa.schema(
        [field.with_type(with_instants(field.type, pa.int64())) for field in table.schema]
    )
    return list(table.cast(schema).to_pylist())


def table_of(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Missing keys are null; keys that are no columns are left out."""
    return pa.Table.from_pylist(list(rows), schema)


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def by(rows: Rows, *names: str) -> dict[Key, list[Row]]:
    """Rows by key; rows with an unknown part of the key are left out."""
    groups: dict[Key, list[Row]] = {}
    for row in rows:
        key = tuple(row[name] for name in names)
        if None not in key:
            groups.setdefault(key, []).append(row)
    return groups


def keys(rows: Rows, *names: str) -> set[Key]:
    return {tuple(row[name] for name in names) for row in rows}


def key_of(row: Row, names: Sequence[str]) -> Key:
    return tuple(row[name] for name in names)


def largest(values: Iterable[Any]) -> Any:
    """None if all values are unknown."""
    return max((value for value in values if value is not None), default=None)


def smallest(values: Iterable[Any]) -> Any:
    return min((value for value in values if value is not None), default=None)


def first_by(rows: Rows, order: Callable[[Row], Any], most: int) -> list[Row]:
    return sorted(rows, key=order)[:most]


def is_less(left: Any, other: Any, *, unknown: bool = False) -> bool:
    return unknown if left is None or other is None else left < other


def is_at_most(left: Any, other: Any, *, unknown: bool = False) -> bool:
    return unknown if left is None or other is None else left <= other


def is_below(path: str | None, directory: str | None) -> bool:
    return (
        path is not None and directory is not None and path.startswith(f"{directory.rstrip('/')}/")
    )
