"""A PostgreSQL for tests: nobody asks for its rows after a power cut, so none waits until they lie
on a disk.
"""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pgserver
from pgserver._commands import POSTGRES_BIN_PATH

from tests import migrated
from tests.process_trees import frozen, send

NOT_FOR_POWER_CUTS = ("fsync", "full_page_writes")
NOR_FOR_KILLS = (*NOT_FOR_POWER_CUTS, "synchronous_commit")


@contextmanager
def postgresql(off: tuple[str, ...] = NOR_FOR_KILLS) -> Iterator[pgserver.PostgresServer]:
    """A server on a socket of its own, stopped and deleted at the end. ``off``: what it saves
    itself of keeping rows safe.

    Not below a folder of pytest's: where root tests, PostgreSQL runs as somebody else, and each
    start of another pytest shuts those out.
    """
    with TemporaryDirectory(prefix="weir-postgresql-", ignore_cleanup_errors=True) as folder:
        server = pgserver.get_server(folder, cleanup_mode="delete")
        try:
            for setting in off:
                server.psql(f"ALTER SYSTEM SET {setting} = off;")
            server.psql("SELECT pg_reload_conf();")
            yield server
        finally:
            server.cleanup()


@contextmanager
def stopped(server: pgserver.PostgresServer) -> Iterator[None]:
    """Frozen: it takes connections, by the kernel's hand, and says nothing."""
    with frozen(server.get_pid()):
        yield


@contextmanager
def killed(server: pgserver.PostgresServer) -> Iterator[None]:
    """As by the kernel when memory is short; at the end it is started again, and recovers."""
    send(server.get_pid(), signal.SIGKILL)
    try:
        yield
    finally:
        for claim in (server.pgdata / "postmaster.pid", *server.pgdata.glob(".s.PGSQL.*.lock")):
            claim.unlink()  # whom it names may look alive for ever, where nobody asks how it ended
        server.ensure_postgres_running()


def migrated_database(server: pgserver.PostgresServer, name: str) -> str:
    """Address of a new database in ``server``, as ``manage.py migrate`` would have made it: read
    from a dump that was made once.
    """
    server.psql(
        f"CREATE DATABASE {name};\n\\connect "
        f"{name}\n{migrated.kept('postgresql.sql', _dump).read_text()}"
    )
    return str(server.get_uri(database=name))


def _dump(file: Path) -> None:
    with postgresql() as server:
        migrated.migrate(WEIR_DATABASE_URL=server.get_uri())
        subprocess.run(
            [POSTGRES_BIN_PATH / "pg_dump", "--no-owner", "--file", file, server.get_uri()],
            check=True,
        )
