from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import yaml

from webapp.config.preparation import CommandRefused, PreparedCommand


class Command(PreparedCommand):
    help = (
        "Write the configuration as files that `apply` reads, one for each kind. Secrets become "
        "references to variables, which are listed. Exit code 0, or 2 if a file exists already."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("directory", metavar="DIR")

    def handle(self, *args: Any, **options: Any) -> None:
        from webapp.site.declared import secrets
        from webapp.site.declared.registry import KINDS

        directory, variables = Path(options["directory"]), set[str]()
        documents: dict[Path, list[dict[str, Any]]] = {}
        for kind in KINDS.values():
            entries = []
            for row in kind.rows():
                entry = kind.entry(row)
                for name in sorted(kind.secrets(row)):
                    variable = secrets.variable_for((kind.name, kind.key(entry), name), variables)
                    variables.add(variable)
                    entry[name] = {"env": variable}
                entries.append(entry)
            if entries:
                documents[directory / f"{kind.name}.yaml"] = entries
        if existing := [str(path) for path in documents if path.exists()]:
            raise CommandRefused(
                f"Name another directory; this has {', '.join(existing)} already.",
            )
        if not documents:
            self.stdout.write("There is nothing to export.")
            return
        directory.mkdir(parents=True, exist_ok=True)
        for path, entries in documents.items():
            text = yaml.safe_dump({path.stem: entries}, sort_keys=False, allow_unicode=True)
            path.write_text(text, encoding="utf-8")
            self.stdout.write(f"{path}: {len(entries)}")
        if variables:
            self.stdout.write("Set these variables for apply:")
            for variable in sorted(variables):
                self.stdout.write(f"  {variable}")
