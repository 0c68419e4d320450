"""Print what can be in flight between the tasks of a job."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from webapp.fleet.job_command import Document, JobCommand
from webapp.fleet.models import JobCurrent
from webapp.in_flight.api.views import as_document


class Command(JobCommand):
    help = (
        "Print how much data can be in flight between the tasks of a job, how much its checkpoints persisted, and what makes it less: some "
        "lines, or with --json one object. Exit code 0, or 2 where the job is unknown."
    )

    def shown(self, job: JobCurrent, options: Mapping[str, Any]) -> tuple[Document, Iterable[str]]:
        found = as_document(job)
        return lambda: found, _lines(found)


def _lines(found: dict[str, Any]) -> Iterator[str]:
    yield found["sentence"]
    for vertex in found["vertices"] or ():
        yield f"{vertex['name']}: {vertex['inputs']:,} buffers before it, {vertex['outputs']:,} behind it"
    yield from found["advice"]
