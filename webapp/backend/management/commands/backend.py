"""Print the state backend of a job."""

from collections.abc import Iterator, Mapping
from typing import Any

from webapp.backend.api.views import as_document
from webapp.fleet.job_command import DocumentCommand
from webapp.fleet.models import JobCurrent


class Command(DocumentCommand):
    help = (
        "Print the options of a job's state backend and how RocksDB is by its own metrics: some lines, or with --json one object. "
        "Exit code 0, or 2 where the job is unknown."
    )

    def document(self, job: JobCurrent, options: Mapping[str, Any]) -> Mapping[str, Any]:
        return as_document(job)

    def lines(self, found: Mapping[str, Any]) -> Iterator[str]:
        yield found["verdict"]
        for option in found["options"] or ():
            yield f"{option['key']:<48} {option['value']}{'' if option['is_set'] else ' (default)'}"
        for vertex in found["vertices"] or ():
            known = ", ".join(f"{name} {value:,}" for name, value in vertex["newest"].items() if value is not None)
            yield f"{vertex['name']}: stalled in {vertex['stalled']} of {vertex['samples']} samples; {known}"
