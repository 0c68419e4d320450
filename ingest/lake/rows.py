import logging
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa

from ingest.lake.tables import TABLE_OF_RECORD, Table
from ingest.records import Observed, Record

log = logging.getLogger(__name__)

MAX_DAYS_A_COMMIT = 1_000


def table_of(record: Record) -> Table:
    return TABLE_OF_RECORD[type(record)]


def group_by_table(observed: Iterable[Observed]) -> dict[str, list[tuple[Observed, Record]]]:
    groups: dict[str, list[tuple[Observed, Record]]] = {}
    for reading in observed:
        for record in reading.records:
            groups.setdefault(table_of(record).name, []).append((reading, record))
    return groups


def to_arrow(table: Table, rows: Sequence[tuple[Observed, Record]], commit_seq: int) -> pa.Table:
    columns: dict[str, list[Any]] = {name: [] for name in table.schema.names}
    names = table.columns.names
    for day, reading, record in _with_dates(table, rows):
        columns["cluster"].append(reading.cluster)
        columns["observed_at"].append(reading.observed_at)
        columns["source"].append(reading.source)
        columns["commit_seq"].append(commit_seq)
        columns["date"].append(day)
        for name in names:
            columns[name].append(_plain(getattr(record, name)))
    try:
        arrow = pa.table(columns, schema=table.schema)
    except UnicodeEncodeError:
        # A text has half a surrogate pair, as in a file name that is not UTF-8. To check texts
        # beforehand would slow each cycle.
        arrow = pa.table(
            {name: _storable(values) for name, values in columns.items()}, schema=table.schema
        )
    return arrow.sort_by([(name, "ascending") for name in table.sort_by])


def _with_dates(
    table: Table, rows: Sequence[tuple[Observed, Record]]
) -> list[tuple[date, Observed, Record]]:
    dated = [
        (_day(getattr(record, table.time_column, None) or reading.observed_at), reading, record)
        for reading, record in rows
    ]
    if len({day for day, _, _ in dated}) <= MAX_DAYS_A_COMMIT:
        return dated
    distance_days: dict[date, int] = {}
    for day, reading, _ in dated:
        days = abs((day - _day(reading.observed_at)).days)
        distance_days[day] = min(days, distance_days.get(day, days))
    nearest_days = set(
        sorted(distance_days, key=lambda day: distance_days[day])[:MAX_DAYS_A_COMMIT]
    )
    log.warning(
        "Rows of %d days far from when they were read are left out of lake table %s",
        len(distance_days) - len(nearest_days),
        table.name,
    )
    return [row for row in dated if row[0] in nearest_days]


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        return {name: _storable(item) for name, item in value.items()}
    return value


def _day(instant: datetime) -> date:
    return instant.astimezone(UTC).date()


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value] if value and is_dataclass(value[0]) else list(value)
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return value
