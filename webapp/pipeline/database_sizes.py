"""Sizes of the database and of each table, as it reports them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connection

_OF_TABLES = """
    SELECT relname, pg_total_relation_size(c.oid), GREATEST(reltuples, 0)::bigint
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE relkind = 'r' AND nspname = current_schema()
"""
_OF_PAGES = """
    SELECT m.tbl_name, sum(d.pgsize) FROM dbstat d JOIN sqlite_master m ON m.name = d.name
    WHERE d.aggregate = 1 AND m.tbl_name NOT LIKE 'sqlite%' GROUP BY m.tbl_name
"""


@dataclass(frozen=True)
class TableSize:
    """The size with indexes.

    ``size_bytes`` is ``None`` if this database does not tell; PostgreSQL estimates ``rows``.
    """

    name: str
    size_bytes: int | None
    rows: int


def in_all() -> int:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            return int(cursor.fetchone()[0])
    parts = (
        Path(f"{settings.WEIR.sqlite_file or connection.settings_dict['NAME']}{end}")
        for end in ("", "-wal", "-shm")
    )
    return sum(part.stat().st_size for part in parts if part.is_file())


def table_sizes() -> list[TableSize]:
    return list(_postgresql_sizes() if connection.vendor == "postgresql" else _sqlite_sizes())


def _postgresql_sizes() -> Iterator[TableSize]:
    with connection.cursor() as cursor:
        cursor.execute(_OF_TABLES)
        yield from (TableSize(name, int(size), int(rows)) for name, size, rows in cursor.fetchall())


def _sqlite_sizes() -> Iterator[TableSize]:
    with connection.cursor() as cursor:
        try:
            cursor.execute(_OF_PAGES)
            sizes = dict(cursor.fetchall())
        except DatabaseError:
            sizes = {}
        for table in connection.introspection.table_names(cursor):
            # a name from the database
            cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table)}")  # noqa: S608
            yield TableSize(table, sizes.get(table), int(cursor.fetchone()[0]))
