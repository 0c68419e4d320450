"""Print what can be in flight between the tasks of a job."""

from collections.abc import Iterator, Mapping
from typing import Any

from webapp.fleet.job_command import DocumentCommand
from webapp.fleet.models import JobCurrent
from webapp.in_flight.api.views import as_document


class Command(DocumentCommand):
    help = (
        "Print how much data can be in flight between the tasks of a job, how much its checkpoints persisted, and what makes it less: some "
        "lines, or with --json one object. Exit code 0, or 2 where the job is unknown."
    )

    def document(self, job: JobCurrent, options: Mapping[str, Any]) -> Mapping[str, Any]:
        return as_document(job)

    def lines(self, found: Mapping[str, Any]) -> Iterator[str]:
        yield found["sentence"]
        for vertex in found["vertices"] or ():
            yield f"{vertex['name']}: {vertex['inputs']:,} buffers before it, {vertex['outputs']:,} behind it"
        yield from found["advice"]
