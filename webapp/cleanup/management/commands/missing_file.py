"""Say whose a missing file was, who needs it and what may have deleted it."""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from ingest.uris import BadUri
from webapp.cleanup.missing_files.api.views import as_document
from webapp.cleanup.missing_files.missing_file import Triage, triage
from webapp.cleanup.missing_files.words import LABELS, VERDICTS, summary
from webapp.config.preparation import PreparedCommand
from webapp.lib.printing import print_document, print_lines


class Command(PreparedCommand):
    help = (
        "For a file that a restore did not find, show which job's directory it was in, which "
        "checkpoints and operators need it, when an audit last listed it, and what may have "
        "deleted it. The storage is not changed. Exit code 0, or 2 if no file is named."
    )
    refusals = (BadUri,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "path", metavar="PATH", help="path as in Flink, or the line of the exception"
        )
        parser.add_argument("--json", action="store_true", help="one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        triaged = triage(options["path"])
        if options["json"]:
            print_document(self.stdout, as_document(triaged))
        else:
            print_lines(self.stdout, _words(triaged))


def _words(triaged: Triage) -> Iterator[str]:
    yield triaged.path
    yield summary(triaged).word
    if triaged.owner:
        known = (
            f"{triaged.owner.name or ''} on {triaged.owner.cluster}, {triaged.owner.state}"
            if triaged.owner.cluster
            else "not reported by any cluster"
        )
        yield f"  in the directory of  {triaged.owner.job_id} ({known})"
    yield (
        "  last listed          "
        f"{triaged.seen.as_of.isoformat() if triaged.seen else 'by no audit whose list is kept'}"
    )
    yield f"  gone by              {triaged.gone_by.isoformat() if triaged.gone_by else 'not known'}"
    for referrer in triaged.referrers:
        ended = {True: "ended", False: "has not ended", None: "not known whether it ended"}[
            referrer.ended
        ]
        yield (
            f"  needed by            {referrer.metadata_path} (job "
            f"{referrer.job_name or referrer.job_id or 'not known'}: {ended})"
        )
    for handle in triaged.handles:
        yield (
            f"    operator           {handle.operator or handle.operator_id}, subtask "
            f"{handle.subtask}, {handle.kind}"
        )
    for cause in triaged.causes:
        yield f"  {VERDICTS[cause.verdict].word!s:<20} {LABELS[cause.key]}: {cause.because}"
    for line in triaged.unknown:
        yield f"  ? {line}"
