"""Print what merging files would save in a root, and which merged files are worth compacting."""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from ingest.uris import BadUri, canonical
from webapp.config.preparation import REFUSED, PreparedCommand
from webapp.lib.printing import print_document, print_lines
from webapp.lib.quantities import binary_text, bytes_text, count_text, percent_text
from webapp.storage.api.merging import as_document
from webapp.storage.auditing.audit_request import spellings
from webapp.storage.merging import Merging, merging
from webapp.storage.newest_audits import latest_of


class Command(PreparedCommand):
    help = (
        "Print how many small files of ROOT merging would save, and the merged files that hold most which no retained checkpoint needs, "
        "by its newest audit. Nothing is changed. Exit code 0, 2 where there is no audit."
    )
    refusals = (BadUri,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("root", metavar="ROOT", help="as Flink names it, in any spelling")
        parser.add_argument("--json", action="store_true", help="one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        uri = canonical(options["root"], spellings())
        figures = latest_of(uri)
        if figures is None:
            raise CommandError(f"No audit has looked at {uri}: run manage.py audit_storage {uri} first.", returncode=REFUSED)
        found = merging(figures)
        if options["json"]:
            print_document(self.stdout, as_document(found))
        else:
            print_lines(self.stdout, _words(found))


def _words(found: Merging) -> Iterator[str]:
    yield f"{found.root_uri} at the audit of {found.as_of.isoformat()}"
    for one in found.benefits:
        of = f"up to {binary_text(one.up_to_bytes)}: {count_text(one.files)} files of {bytes_text(one.bytes)}"
        yield f"  {of}, merged {count_text(one.least)} at least: {percent_text(one.saved_share)} fewer"
    yield (
        f"{count_text(found.merged_files)} merged files of {bytes_text(found.on_disk_bytes)}, of which {bytes_text(found.live_bytes)} "
        f"are needed; compacting the following would free {bytes_text(found.freed_bytes)}"
    )
    for file in found.worth_compacting:
        yield f"  {bytes_text(file.unused_bytes):>10} of {bytes_text(file.bytes):>10}  {file.path}"
