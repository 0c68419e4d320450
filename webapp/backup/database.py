"""The database in a backup: a copy of SQLite's file, or PostgreSQL's tables as of one instant. Both while Weir writes."""

import gzip
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor

from webapp.backup.archive import BackupRefused

MIGRATIONS = "django_migrations"
SQLITE_NAME = "weir.sqlite3"
MADE_BY_MIGRATIONS = {MIGRATIONS, "django_content_type", "auth_permission", "auth_group", "auth_group_permissions"}
BLOCK_BYTES = 1 << 20


def last_migrations() -> list[tuple[str, str]]:
    """The last one that was applied of each app."""
    executor = MigrationExecutor(connection)
    applied = set(executor.loader.applied_migrations) & set(executor.loader.graph.nodes)
    return sorted(node for node in applied if not any(child in applied for child in _of_app(executor, node)))


def _of_app(executor: MigrationExecutor, node: tuple[str, str]) -> Iterator[tuple[str, str]]:
    yield from (child.key for child in executor.loader.graph.node_map[node].children if child.key[0] == node[0])


def dump_sqlite(target: Path) -> None:
    """As it is at one instant, by SQLite's own way (https://www.sqlite.org/backup.html); who writes meanwhile does not wait."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    source = sqlite3.connect(f"file:{settings.WEIR.sqlite_file}?mode=ro", uri=True, timeout=30)
    with closing(source), closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")


def dump_postgresql(folder: Path) -> dict[str, int]:
    """Each table as PostgreSQL's COPY writes it, packed; its first line names the columns. Returns rows by table."""
    folder.mkdir(parents=True, exist_ok=True)
    rows: dict[str, int] = {}
    with connection.cursor() as cursor, transaction.atomic():
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        for table in connection.introspection.table_names(cursor):
            columns = [column.name for column in connection.introspection.get_table_description(cursor, table)]
            listed = ", ".join(map(connection.ops.quote_name, columns))
            with gzip.open(folder / f"{table}.copy.gz", "wb", compresslevel=3) as file:
                file.write((",".join(columns) + "\n").encode())
                with cursor.copy(f"COPY {connection.ops.quote_name(table)} ({listed}) TO STDOUT") as copy:
                    for block in copy:
                        file.write(block)
            rows[table] = cursor.rowcount
    return rows


def need_empty() -> None:
    """Only an empty database is filled. Raises :class:`BackupRefused`."""
    if connection.vendor == "sqlite" and not Path(settings.WEIR.sqlite_file).exists():
        return
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            if table in MADE_BY_MIGRATIONS:
                continue
            cursor.execute(f"SELECT 1 FROM {connection.ops.quote_name(table)} LIMIT 1")  # noqa: S608 - a name that the database gave
            if cursor.fetchone():
                raise BackupRefused(f"The database is not empty: table {table} has rows. Only an empty one is restored into; make another.")


def check_known(migrations: list[tuple[str, str]]) -> None:
    """Raises :class:`BackupRefused` where a newer Weir made the backup."""
    unknown = [f"{app}.{name}" for app, name in migrations if (app, name) not in MigrationExecutor(None).loader.graph.nodes]
    if unknown:
        raise BackupRefused(f"This backup was made by a newer Weir ({', '.join(unknown[:3])} are not known); restore it with that version.")


def load_postgresql(folder: Path, migrations: list[tuple[str, str]]) -> None:
    """Tables as they were when the backup was made, then their rows in one transaction, then today's tables."""
    executor = MigrationExecutor(connection)
    if any(backwards for _, backwards in executor.migration_plan(migrations)):
        raise BackupRefused("The tables of this database are newer than those of the backup. Drop it and make an empty one.")
    executor.migrate(migrations)
    with transaction.atomic(), connection.cursor() as cursor:
        tables = [table for table in connection.introspection.table_names(cursor) if table != MIGRATIONS]
        cursor.execute(f"TRUNCATE {', '.join(map(connection.ops.quote_name, tables))} CASCADE")
        for table in tables:
            path = folder / f"{table}.copy.gz"
            if not path.exists():
                raise BackupRefused(f"The backup has no rows of table {table}.")
            with gzip.open(path, "rb") as file:
                columns = file.readline().decode().strip().split(",")
                listed = ", ".join(map(connection.ops.quote_name, columns))
                with cursor.copy(f"COPY {connection.ops.quote_name(table)} ({listed}) FROM STDIN") as copy:
                    while block := file.read(BLOCK_BYTES):
                        copy.write(block)
        for statement in connection.ops.sequence_reset_sql(no_style(), apps.get_models(include_auto_created=True)):
            cursor.execute(statement)
    call_command("migrate", verbosity=0, interactive=False)


def check_sqlite(path: Path) -> None:
    with closing(sqlite3.connect(path)) as found:
        said = found.execute("PRAGMA integrity_check").fetchone()[0]
    if said != "ok":
        raise BackupRefused(f"The database in the backup is damaged: {said}.")
