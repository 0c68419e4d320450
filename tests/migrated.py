"""An empty SQLite database of this version of Weir, made once for a whole run of tests: every home
that needs one begins with a copy.

Making one takes seconds of CPU, in each of dozens of homes and for each process of pytest, whose
own database begins with it, too. It lies beside what pytest keeps, under a name that changes with
the code.
"""

import fcntl
import functools
import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.db import connection as django_connection

PROJECT = Path(__file__).parent.parent
FOLDER = PROJECT / ".pytest_cache"


def migrated_database() -> Path:
    return kept("weir.sqlite3", _make)


@functools.cache
def kept(name: str, make: Callable[[Path], None]) -> Path:
    """A file of this version, which ``make`` writes.

    Several processes may ask at once: one makes it, the others wait.
    """
    FOLDER.mkdir(exist_ok=True)
    folder = _folder()
    with (FOLDER / "migrated.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / name).exists():
            for former in set(FOLDER.glob("migrated-*")) - {folder}:
                shutil.rmtree(former)
            folder.mkdir(exist_ok=True)
            make(folder / "unfinished")
            (folder / "unfinished").rename(folder / name)
    return folder / name


def migrate(**variables: str) -> None:
    """From nothing, as an operator does."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("WEIR_", "DJANGO_"))
    }
    with TemporaryDirectory(prefix="weir-home-", dir=FOLDER) as home:
        command = [sys.executable, "manage.py", "migrate", "-v0", "--skip-checks"]
        subprocess.run(
            command, env={**clean, "WEIR_HOME": home, **variables}, cwd=PROJECT, check=True
        )


def home_with_database(home: Path) -> Path:
    """A new home, as the first command would have made it."""
    home.mkdir()
    shutil.copy(migrated_database(), home)
    return home


def begin_with_migrated(connection: Any, **_: object) -> None:
    """Told of a new connection: an SQLite database in memory that is empty becomes a copy, on which
    migrating finds nothing to do.

    Somebody who tests a file between two changes needs none: a copy that nobody has made yet is
    made for a whole run alone.
    """
    if _may_be_a_copy(connection) and not connection.introspection.table_names():
        _copy_to(connection)


def begin_again(flush: Callable[[Any], None]) -> Callable[[Any], None]:
    """What ends a test that commits: its database becomes a copy again. To empty each table and
    then grant all rights takes longer.

    Where a thread still reads, or there is no copy, it is emptied by ``flush``.
    """

    def copy_or_flush(case: Any) -> None:
        if not _may_be_a_copy(django_connection):
            flush(case)
            return
        try:
            _copy_to(django_connection)
        except sqlite3.OperationalError:
            flush(case)

    return copy_or_flush


def looked_up_on_disk(is_behind: Callable[[], bool]) -> Callable[[], bool]:
    """The database in memory was migrated before the first test; every command that a test calls
    would load all migrations to see it.
    """

    def looked_up() -> bool:
        connection: Any = django_connection
        in_memory = connection.vendor == "sqlite" and connection.is_in_memory_db()
        return not in_memory and is_behind()

    return looked_up


def _may_be_a_copy(connection: Any) -> bool:
    if connection.vendor != "sqlite" or not connection.is_in_memory_db():
        return False
    return bool(os.environ.get("PYTEST_XDIST_WORKER")) or (_folder() / "weir.sqlite3").exists()


def _copy_to(connection: Any) -> None:
    connection.ensure_connection()
    with closing(sqlite3.connect(migrated_database())) as migrated:
        migrated.backup(connection.connection)


def _make(file: Path) -> None:
    with TemporaryDirectory(prefix="weir-home-", dir=FOLDER) as home:
        migrate(WEIR_HOME=home)
        shutil.copy(Path(home) / "weir.sqlite3", file)


@functools.cache
def _folder() -> Path:
    return FOLDER / f"migrated-{_version()}"


def _version() -> str:
    """Rights and roles come from all of the code, tables from the migrations in it."""
    found = hashlib.sha256()
    for path in sorted((PROJECT / "webapp").rglob("*.py")):
        found.update(str(path).encode() + path.read_bytes())
    return found.hexdigest()[:12]
