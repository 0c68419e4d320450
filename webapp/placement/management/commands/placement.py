"""Print where the tasks of a job run, and what other rules of placement would make of it."""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from webapp.config.preparation import REFUSED, PreparedCommand
from webapp.fleet.rows_command import job_named
from webapp.lib.printing import print_document, print_lines
from webapp.placement.api.views import as_document
from webapp.placement.job_placement import JobPlacement
from webapp.placement.lookup import look_up_placement
from webapp.placement.words import LABELS, verdict


class Command(PreparedCommand):
    help = (
        "Print how evenly the tasks of a job are spread over its TaskManagers, and what other rules of placement would make of it: "
        "a table, or with --json one object. Exit code 0, or 2 where the job or its plan is unknown."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("cluster")
        parser.add_argument("job", metavar="JOB", help="its id, or its name where one job has it")
        parser.add_argument("--json", action="store_true", help="one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        found = _placement(options["cluster"], options["job"])
        if options["json"]:
            print_document(self.stdout, as_document(found))
        else:
            print_lines(self.stdout, _table(found))


def _placement(cluster: str, job: str) -> JobPlacement:
    placement = look_up_placement(job_named(cluster, job))
    if placement is None:
        raise CommandError("The plan of this job is not known.", returncode=REFUSED)
    return placement


def _table(found: JobPlacement) -> Iterator[str]:
    yield verdict(found).sentence
    yield f"{'':<22}{'fullest':>9}{'/ mean':>8}{'vertex':>8}{'busy':>8}{'buffers':>10}{'moved':>10}"
    for one in found.outcomes:
        yield (
            f"{LABELS[one.key]:<22}{one.tasks[0]:>9,}{_number(one.max_over_mean):>8}{one.concentration:>8.2f}{_number(one.busy_max):>8}"
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
