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
        made = pages()
        old = [
            path
            for path, text in made.items()
            if not (PAGES / path).is_file() or (PAGES / path).read_text() != text
        ]
        gone = sorted(
            {str(path.relative_to(PAGES)) for path in PAGES.glob("reference/*.md")} - set(made)
        )
        if options["check"]:
            if old or gone:
                raise CommandError(
                    f"Not up to date: {', '.join([*old, *gone])}. Run manage.py generate_docs.",
                    returncode=1,
                )
            return
        for path in old:
            (PAGES / path).write_text(made[path])
        for path in gone:
            (PAGES / path).unlink()
        self.stdout.write(
            f"{len(old)} pages written, {len(gone)} removed, {len(made) - len(old)} were up to "
            "date."
        )
