import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from webapp.config.preparation import REFUSED, PreparedCommand
from webapp.lib.refusals import InputRefused

DIFFERS = 1


class Command(PreparedCommand):
    help = (
        "Make the database say what the YAML files below DIR say: clusters, storage roots, "
        "objectives, rules, thresholds, endpoints, silences. Pages cannot change what a file "
        "states. All or nothing. Exit code 0; with --diff 1 if there is a difference; 2 if a file "
        "is invalid."
    )
    refusals = (InputRefused,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("directory", nargs="?", metavar="DIR")
        parser.add_argument("--diff", action="store_true", help="change nothing, show what would")
        parser.add_argument(
            "--prune",
            action="store_true",
            help="remove what an earlier apply made and no file states any more",
        )
        parser.add_argument(
            "--schema", action="store_true", help="print the JSON Schema of a file, for editors"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        # Rules and models are imported where they are needed.
        from webapp.site.declared.changes import apply_changes, find_changes
        from webapp.site.declared.reading import read_directory
        from webapp.site.declared.registry import schema

        if options["schema"]:
            self.stdout.write(json.dumps(schema(), indent=2, ensure_ascii=False))
            return
        directory = Path(options["directory"] or "")
        if not options["directory"] or not directory.is_dir():
            raise CommandError("Name a directory with YAML files.", returncode=REFUSED)
        declarations = read_directory(directory)
        changes = find_changes(declarations)
        for change in changes:
            for line in change.lines():
                self.stdout.write(line)
        stays = [change for change in changes if change.action == "remove"]
        if stays and not options["prune"]:
            self.stdout.write("What no file states any more stays; --prune removes it.")
        if options["diff"]:
            if changes:
                raise SystemExit(DIFFERS)
            self.stdout.write("No difference.")
            return
        prune = options["prune"]
        for line in apply_changes(changes, declarations, timezone.now(), prune=prune):
            self.stdout.write(line)
        done = len(changes) - (0 if prune else len(stays))
        self.stdout.write(f"{done} changed." if done else "Nothing to change.")
