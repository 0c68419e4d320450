"""Upserts that protect what is settled: one SQL statement decides, so no reader can come between.

Django's ``bulk_create(update_conflicts=True)`` cannot say *when* to update. Reading the old rows first
could, but costs a query per batch and leaves a gap between reading and writing. ``ON CONFLICT … DO UPDATE
… WHERE`` does it in the database, in the same words on SQLite and PostgreSQL.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from django.db import connection, models

from spark_jobs.serving import ServingTable
from webapp.pipeline.texts import bounded, clean_json, clean_text

Row = Mapping[str, Any]


def upsert(table: ServingTable, model: type[models.Model], rows: Iterable[Row], derived: Mapping[str, Callable[[Row], Any]]) -> int:
    """Insert or update ``rows`` by the table's key; returns how many rows changed.

    An existing row is replaced by one that rests on the same or newer observations (``as_of``); where the
    table knows settled rows, a settled one always replaces an open one and never the other way round.
    ``derived`` adds columns of the web's own, computed from the row.
    """
    names = (*table.column_names, *derived)
    convert = [_converter(table, model, name) for name in table.column_names]
    values = [
        [
            *(change(row[name]) for name, change in zip(table.column_names, convert, strict=True)),
            *(make(row) for make in derived.values()),
        ]
        for row in rows
    ]
    if not values:
        return 0
    with connection.cursor() as cursor:
        cursor.executemany(_statement(table, model, names), values)
        return int(cursor.rowcount)


def _statement(table: ServingTable, model: type[models.Model], names: Iterable[str]) -> str:
    quote = connection.ops.quote_name
    columns = [quote(name) for name in names]
    keys = [quote(name) for name in table.key]
    old = quote(model._meta.db_table)
    newer = f"excluded.{quote('as_of')} >= {old}.{quote('as_of')}"
    if table.final:
        final = quote(table.final)
        newer = f"(excluded.{final} AND NOT {old}.{final}) OR (excluded.{final} = {old}.{final} AND {newer})"
    changes = ", ".join(f"{column} = excluded.{column}" for column in columns if column not in keys)
    return (
        f"INSERT INTO {old} ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(columns))}) "  # noqa: S608 - names of our own models
        f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {changes} WHERE {newer}"
    )


def _converter(table: ServingTable, model: type[models.Model], name: str) -> Callable[[Any], Any]:
    column = next(column for column in table.columns if column.name == name)
    longest: int | None = getattr(model._meta.get_field(name), "max_length", None)
    match column.kind:
        case "text":
            return partial(bounded, longest=longest, unique=name in table.key) if longest else clean_text
        case "json":
            return clean_json
        case "real":
            return _finite
        case "instant":
            return connection.ops.adapt_datetimefield_value
        case _:
            return _as_is


def _as_is(value: Any) -> Any:
    return value


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
