"""Print which keyed states of a job have a time-to-live."""

from collections.abc import Iterator, Mapping
from typing import Any

from webapp.fleet.job_command import DocumentCommand
from webapp.fleet.models import JobCurrent
from webapp.storage.api.state_expiry import as_document

_EXPIRES = {True: "yes", False: "no", None: "unknown"}


class Command(DocumentCommand):
    help = (
        "Print which keyed states of a job have a time-to-live, by the _metadata of its newest completed checkpoint: a line each, or with "
        "--json one object. Exit code 0, or 2 where the job is unknown."
    )

    def document(self, job: JobCurrent, options: Mapping[str, Any]) -> Mapping[str, Any]:
        return as_document(job)

    def lines(self, found: Mapping[str, Any]) -> Iterator[str]:
        if found["why"]:
            yield found["why"]
        elif not found["states"]:
            yield f"Checkpoint {found['checkpoint_id']} has no keyed state."
        if found["sentence"]:
            yield found["sentence"]
        for state in found["states"]:
            yield (
                f"{state['operator']}: {state['name'] or 'states'} {state['kind'].lower()}".rstrip()
                + f", time-to-live: {_EXPIRES[state['expires']]}"
            )
