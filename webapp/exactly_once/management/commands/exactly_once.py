"""Print how long transactions of a job's sinks are open, against their time-out."""

from collections.abc import Iterable, Mapping
from typing import Any

from webapp.exactly_once.api.views import as_document
from webapp.fleet.job_command import DocumentCommand
from webapp.fleet.models import JobCurrent
from webapp.lib.quantities import duration_text


class Command(DocumentCommand):
    help = (
        "Print how long transactions of two-phase-commit sinks of a job are open, against the time-out after which they are lost: "
        "some lines, or with --json one object. Exit code 0, or 2 where the job is unknown."
    )

    def document(self, job: JobCurrent, options: Mapping[str, Any]) -> Mapping[str, Any]:
        return as_document(job)

    def lines(self, found: Mapping[str, Any]) -> Iterable[str]:
        return [found["verdict"], found["advice"], *map(_line, found["commits"])]


def _line(commit: dict[str, Any]) -> str:
    return f"{commit['at']}  checkpoint {commit['checkpoint_id']:>8}  open for up to {duration_text(commit['open_ms'])}"
