"""Print where the tasks of a job run, and what other rules of placement would make of it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.core.management.base import CommandError

from webapp.config.preparation import REFUSED
from webapp.fleet.job_command import Document, JobCommand
from webapp.fleet.models import JobCurrent
from webapp.placement.api.views import as_document
from webapp.placement.job_placement import JobPlacement
from webapp.placement.lookup import look_up_placement
from webapp.placement.words import LABELS, verdict


class Command(JobCommand):
    help = (
        "Print how evenly the tasks of a job are spread over its TaskManagers, and what other rules of placement would make of it: "
        "a table, or with --json one object. Exit code 0, or 2 where the job or its plan is unknown."
    )

    def shown(self, job: JobCurrent, options: Mapping[str, Any]) -> tuple[Document, Iterable[str]]:
        found = look_up_placement(job)
        if found is None:
            raise CommandError("The plan of this job is not known.", returncode=REFUSED)
        return lambda: as_document(found), _table(found)


def _table(found: JobPlacement) -> Iterator[str]:
    yield verdict(found).sentence
    yield f"{'':<22}{'fullest':>9}{'/ mean':>8}{'vertex':>8}{'busy':>8}{'buffers':>10}{'moved':>10}"
    for one in found.outcomes:
        yield (
            f"{LABELS[one.key]!s:<22}{one.tasks[0]:>9,}{_number(one.max_over_mean):>8}{one.concentration:>8.2f}{_number(one.busy_max):>8}"
            f"{one.buffers_least:>10,}{'-' if one.moved is None else format(one.moved, ','):>10}"
        )
    if found.taskmanagers:
        most = max(one.restarts for one in found.taskmanagers)
        yield f"{found.regions:,} failover regions; the loss of one TaskManager restarts up to {most:,} of {found.tasks:,} tasks."
    for line in found.unknown:
        yield f"? {line}"
    yield found.advice


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
