import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from webapp.config.preparation import CommandRefused, PreparedCommand
from webapp.lib.refusals import InputRefused

DIFFERS = 1


class Command(PreparedCommand):
    help = (
        "Make the database match the YAML files below DIR: clusters, storage roots, objectives, "
        "rules, thresholds, endpoints, silences. Pages cannot change what a file states. All or "
        "nothing. Exit code 0; with --diff 1 if something would change; 2 if anything is refused, "
        "then nothing is changed."
    )
    refusals = (InputRefused,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("directory", nargs="?", metavar="DIR")
        parser.add_argument("--diff", action="store_true", help="only show what would change")
        parser.add_argument(
            "--prune",
            action="store_true",
            help="remove what an earlier apply made and is in no file any more",
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
        if not options["directory"]:
            raise CommandRefused("Name a directory with YAML files.")
        directory = Path(options["directory"])
        if not directory.is_dir():
            raise CommandRefused(f"{directory} is not a directory.")
        declarations = read_directory(directory)
        changes = find_changes(declarations)
        prune, shows_only = options["prune"], options["diff"]
        wanted = [change for change in changes if prune or change.action != "remove"]
        printed = apply_changes(wanted, declarations, dry_run=shows_only)
        for change in changes:
            for line in change.lines():
                self.stdout.write(line)
        if len(wanted) < len(changes):
            self.stdout.write("Rows that are in no file any more stay; --prune removes them.")
        if shows_only:
            if wanted:
                raise SystemExit(DIFFERS)
            self.stdout.write("No difference.")
            return
        for line in printed:
            self.stdout.write(line)
        done = sum(change.action != "adopt" for change in wanted)
        adopted = len(wanted) - done
        self.stdout.write(f"{done} changed." if done else "Nothing changed.")
        if adopted:
            self.stdout.write(f"{adopted} now belong to their files (=).")
