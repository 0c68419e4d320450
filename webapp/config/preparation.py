"""The base of commands for people: creates the embedded database if it is missing."""

import fcntl
import os
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

REFUSED = 2
"""Exit code of an invalid request; nothing was done."""


class CommandRefused(CommandError):
    def __init__(self, why: str) -> None:
        super().__init__(why, returncode=REFUSED)


def prepare_database() -> None:
    """Creates or updates the embedded SQLite database; raises ``CommandError`` if another database
    is outdated. Concurrent commands wait for a lock.
    """
    if not _is_behind():
        return
    if connection.vendor != "sqlite" or os.environ.get("WEIR_DATABASE_URL"):
        raise CommandRefused(
            "The database is not up to date with this version of Weir: run manage.py migrate.",
        )
    settings.WEIR.home.mkdir(parents=True, exist_ok=True)
    with (settings.WEIR.home / "migrate.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _is_behind():
            call_command("migrate", verbosity=0, interactive=False)


def _is_behind() -> bool:
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


class PreparedCommand(BaseCommand):
    requires_system_checks: list[str] = []
    refusals: tuple[type[Exception], ...] = ()
    quiet = False

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Refuses abbreviated options: ``--at``, an option of another command, would mean
        ``--attest``.
        """
        return super().create_parser(prog_name, subcommand, **{"allow_abbrev": False} | kwargs)

    def execute(self, *args: Any, **options: Any) -> str | None:
        settings.WEIR.home.mkdir(parents=True, exist_ok=True)
        prepare_database()
        self.quiet = bool(options.get("json"))
        refusals: tuple[type[Exception], ...] = (PermissionDenied, *self.refusals)
        try:
            return super().execute(*args, **options)
        except refusals as error:
            raise CommandRefused(str(error)) from error

    def say(self, line: str) -> None:
        if not self.quiet:
            self.stdout.write(line)
            self.stdout.flush()
