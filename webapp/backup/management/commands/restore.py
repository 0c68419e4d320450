"""Restore a backup into an empty installation."""

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from webapp.accounts.audit import entries
from webapp.accounts.audit.actions import RESTORE
from webapp.accounts.audit.commands import who
from webapp.accounts.models import AuditEntry
from webapp.backup import keys
from webapp.backup.archive import BackupRefused
from webapp.backup.restoring import check, restore
from webapp.config.preparation import REFUSED


class Command(BaseCommand):
    help = (
        "Restore what manage.py backup made into an empty WEIR_HOME and an empty database, while Weir does not run. Every file is checked "
        "first; one of an earlier version is brought to this one. Exit code 0, 1 where a file cannot be written, 2 where refused."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, metavar="SRC")
        parser.add_argument("--check", action="store_true", help="only say whether the backup is whole; restore nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["folder"].absolute()
        passphrase = os.environ.get(keys.PASSPHRASE, "")
        try:
            if options["check"]:
                contents = check(folder, passphrase)
                self.stdout.write(f"The backup of {contents.made_at} is whole: {len(contents.files):,} files.")
                return
            settings.WEIR.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            contents = restore(folder, passphrase, self.stdout.write)
            told = {"folder": str(folder), "command": "restore"}
            entries.of_command(RESTORE, who(), f"backup of {contents.made_at}", told, outcome=AuditEntry.Outcome.DONE, status=0)
        except BackupRefused as error:
            raise CommandError(str(error), returncode=REFUSED) from error
        except OSError as error:
            raise CommandError(f"{error.filename or folder}: {error.strerror}. Run it again with the same folder to continue.") from error
        self.stdout.write("Restored; start Weir.")
