"""A command that prints what the newest audit says of one root, in words or as one JSON object."""

from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandError

from ingest.uris import BadUri, canonical
from webapp.config.preparation import REFUSED, PreparedCommand
from webapp.lib.printing import print_document, print_lines
from webapp.storage.auditing.audit_request import spellings
from webapp.storage.models import RootFigures
from webapp.storage.newest_audits import latest_of


class RootCommand(PreparedCommand):
    refusals = (BadUri,)

    def read(self, figures: RootFigures) -> Any:
        raise NotImplementedError

    def document(self, found: Any) -> Any:
        raise NotImplementedError

    def words(self, found: Any) -> Iterable[str]:
        raise NotImplementedError

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("root", metavar="ROOT", help="as Flink names it, in any spelling")
        parser.add_argument("--json", action="store_true", help="one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        uri = canonical(options["root"], spellings())
        figures = latest_of(uri)
        if figures is None:
            raise CommandError(f"No audit has looked at {uri}: run manage.py audit_storage {uri} first.", returncode=REFUSED)
        found = self.read(figures)
        if options["json"]:
            print_document(self.stdout, self.document(found))
        else:
            print_lines(self.stdout, self.words(found))
