"""Upserts in one SQL statement, without races, that never replace newer or final rows.

Django's ``bulk_create(update_conflicts=True)`` cannot say *when* to update. Reading the old rows
first costs a query per batch and leaves a gap between reading and writing. ``ON CONFLICT … DO
UPDATE … WHERE`` compares in the database, with the same syntax on SQLite and PostgreSQL.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from django.db import connection, models

from ingest.redaction.texts import redact
from spark_jobs.serving import ServingTable
from webapp.lib.chunks import chunks
from webapp.lib.messages.fields import decoded, encoded
from webapp.work.texts import bounded, redacted_json, redacted_text, storable

Row = Mapping[str, Any]
Values = list[list[Any]]

SQLITE_PARAMETERS = 20_000
"""The most in one statement; SQLite accepts 32,766."""


def upsert(
    table: ServingTable,
    model: type[models.Model],
    rows: Iterable[Row],
    derived: Mapping[str, Callable[[Row], Any]],
) -> int:
    """Insert or update ``rows`` by the table's key; returns how many rows changed. Call it in a
    transaction.

    A row replaces an existing row if its observations are as new or newer (``as_of``). If the table
    has a ``final`` column, a final row always replaces one that is not final, and never the other
    way round. ``derived``: name and function of columns that only the Django model has.
    """
    converters = {name: _converter(table, model, name) for name in table.column_names}
    values = [
        [
            *(convert(row[name]) for name, convert in converters.items()),
            *(derive(row) for derive in derived.values()),
        ]
        for row in rows
    ]
    if not values:
        return 0
    names = [*table.column_names, *derived]
    write = _copy if connection.vendor == "postgresql" else _insert
    return write(model._meta.db_table, names, table, values)


def _insert(target: str, names: Sequence[str], table: ServingTable, values: Values) -> int:
    columns, changed = _quote(names), 0
    rows_at_once = SQLITE_PARAMETERS // len(names)
    one_row = f"({', '.join(['%s'] * len(names))})"
    with connection.cursor() as cursor:
        for part in chunks(values, rows_at_once):
            source = f"VALUES {', '.join([one_row] * len(part))}"
            sql = (
                f"INSERT INTO {_quote([target])} ({columns}) {source} "
                f"{_on_conflict(target, names, table)}"
            )
            cursor.execute(sql, list(chain.from_iterable(part)))
            changed += cursor.rowcount
    return changed


def _copy(target: str, names: Sequence[str], table: ServingTable, values: Values) -> int:
    """COPY into a temporary table, then one statement: 34,000 rows/s instead of the 4,500 of INSERT
    … VALUES.
    """
    columns = _quote(names)
    keys = _quote(table.key)
    incoming = _quote([f"incoming_{target}"])
    into = _quote([target])
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE TEMPORARY TABLE {incoming} ON COMMIT DROP AS SELECT {columns} FROM {into} "
            "WITH NO DATA"
        )
        with cursor.copy(f"COPY {incoming} ({columns}) FROM STDIN") as copy:
            for row in values:
                copy.write_row(row)
        newest = (
            f"SELECT DISTINCT ON ({keys}) {columns} FROM {incoming} ORDER BY {keys}, "
            f"{_quote(['as_of'])} DESC"
        )
        cursor.execute(
            f"INSERT INTO {into} ({columns}) {newest} {_on_conflict(target, names, table)}"
        )
        changed: int = cursor.rowcount
        cursor.execute(f"DROP TABLE {incoming}")
    return changed


def _on_conflict(target: str, names: Sequence[str], table: ServingTable) -> str:
    old, as_of = _quote([target]), _quote(["as_of"])
    allowed = f"excluded.{as_of} >= {old}.{as_of}"
    if table.final:
        final = _quote([table.final])
        allowed = (
            f"(excluded.{final} AND NOT {old}.{final}) OR (excluded.{final} = {old}.{final} "
            f"AND {allowed})"
        )
    changes = ", ".join(
        f"{column} = excluded.{column}"
        for column in map(_quote, ([name] for name in names if name not in table.key))
    )
    return f"ON CONFLICT ({_quote(table.key)}) DO UPDATE SET {changes} WHERE {allowed}"


def _quote(names: Iterable[str]) -> str:
    return ", ".join(map(connection.ops.quote_name, names))


def _converter(table: ServingTable, model: type[models.Model], name: str) -> Callable[[Any], Any]:
    column = next(column for column in table.columns if column.name == name)
    longest: int | None = getattr(model._meta.get_field(name), "max_length", None)
    match column.kind:
        case "text":
            if name in table.key:
                return partial(bounded, longest=longest, unique=True)
            return lambda text: bounded(redacted_text(text), longest, unique=False)
        case "message":
            return _redact_message
        case "json" | "messages":
            return redacted_json
        case "real":
            return _finite
        case "instant":
            return connection.ops.adapt_datetimefield_value
        case _:
            return lambda value: value


def _redact_message(document: str | None) -> str | None:
    parsed = decoded(document)
    return parsed if parsed is None else encoded(storable(redact(parsed)))


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
