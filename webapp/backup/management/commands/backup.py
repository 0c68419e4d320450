"""Copy database, lake, keys and everything else that is kept into a folder, while Weir runs."""

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from webapp.backup import keys
from webapp.backup.archive import BackupRefused
from webapp.backup.making import make
from webapp.config.preparation import PreparedCommand


class Command(PreparedCommand):
    help = (
        "Back up database, lake, keys, plans, reports and what waits to be read into a new folder, while Weir runs. A passphrase in "
        f"{keys.PASSPHRASE} encrypts the keys. Broken off, run it again with the same folder. Exit code 0, 1 where a file cannot be "
        "copied, 2 where it was refused."
    )
    refusals = (BackupRefused,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, metavar="DEST")

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["folder"].absolute()
        try:
            contents = make(folder, timezone.now(), os.environ.get(keys.PASSPHRASE, ""), self.say)
        except OSError as error:
            raise CommandError(f"{error.filename or folder}: {error.strerror}. Run it again with the same folder to continue.") from error
        size = sum(size for size, _ in contents.files.values())
        self.say(f"{folder} is a backup: {len(contents.files):,} files, {size:,} bytes, each with its SHA-256.")
        if not os.environ.get(keys.PASSPHRASE):
            self.say(f"The keys in it are not encrypted ({keys.PASSPHRASE} is not set): who reads it can read all secrets.")
