"""Print what a root keeps because nobody deletes it."""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from ingest.uris import BadUri, canonical
from webapp.config.preparation import REFUSED, PreparedCommand
from webapp.lib.printing import print_document, print_lines
from webapp.lib.quantities import bytes_text, duration_text
from webapp.storage.api.retention import as_document
from webapp.storage.auditing.audit_request import spellings
from webapp.storage.newest_audits import latest_of
from webapp.storage.retention import Retention, retention


class Command(PreparedCommand):
    help = (
        "Print the savepoints of ROOT by age, ended jobs that keep checkpoints, what jobs that have not ended retain, and how old the "
        "oldest file is that one of them needs, by its newest audit. Nothing is deleted. Exit code 0, 2 where there is no audit."
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
        found = retention(figures)
        if options["json"]:
            print_document(self.stdout, as_document(found))
        else:
            print_lines(self.stdout, _words(found))


def _words(found: Retention) -> Iterator[str]:
    yield f"{found.root_uri} at the audit of {found.as_of.isoformat()}"
    yield f"the oldest file that a job which has not ended needs: {duration_text(found.unsafe_age_ms)} old"
    for savepoint in found.savepoints:
        size, age = bytes_text(savepoint.bytes), duration_text(savepoint.age_ms)
        yield f"  savepoint  {age:>12} {size:>10}  {savepoint.standing:<11} {savepoint.path}"
    for job in found.ended:
        size, age = bytes_text(job.bytes), duration_text(job.idle_ms)
        yield f"  ended job  {age:>12} {size:>10}  {job.standing:<11} {job.name or ''} {job.job_id} ({job.state or 'state not known'})"
    for one in found.running:
        kept = {True: "retained", False: "deleted", None: "not known"}[one.retained_on_cancellation]
        size, age = bytes_text(one.bytes), duration_text(one.oldest_file_age_ms)
        yield f"  job        {age:>12} {size:>10}  {one.name or ''} {one.job_id}, when cancelled: {kept}"
    for line in found.unknown:
        yield f"  ? {line}"
