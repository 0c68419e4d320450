from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from webapp.site.documentation.generated import pages
from webapp.site.documentation.places import PAGES


class Command(BaseCommand):
    help = (
        "Write the documentation pages that are generated from the code: rules, settings, API, "
        "fields, commands. Then run `make docs`."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--check",
            action="store_true",
            help="write nothing; exit code 1 if a page is not up to date",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        generated = pages()
        outdated = [
            path
            for path, text in generated.items()
            if not (PAGES / path).is_file() or (PAGES / path).read_text() != text
        ]
        stored = {str(path.relative_to(PAGES)) for path in PAGES.glob("reference/*.md")}
        obsolete = sorted(stored - set(generated))
        if options["check"]:
            if outdated or obsolete:
                raise CommandError(
                    f"Not up to date: {', '.join([*outdated, *obsolete])}. Run manage.py generate_docs."
                )
            return
        for path in outdated:
            (PAGES / path).write_text(generated[path])
        for path in obsolete:
            (PAGES / path).unlink()
        current = len(generated) - len(outdated)
        self.stdout.write(
            f"{len(outdated)} pages written, {len(obsolete)} removed, {current} were up to date."
        )
