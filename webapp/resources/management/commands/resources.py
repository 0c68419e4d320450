"""Print what a job, or all jobs, have of their TaskManagers and use of it."""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from webapp.config.preparation import REFUSED, PreparedCommand
from webapp.fleet.models import JobCurrent
from webapp.fleet.rows_command import job_named
from webapp.lib.printing import print_document, print_lines
from webapp.lib.quantities import bytes_text
from webapp.resources.api.views import FleetResourcesSerializer, as_document
from webapp.resources.job_resources import JobResources
from webapp.resources.lookup import BY, FleetResources, groupings, look_up_fleet, look_up_resources
from webapp.resources.words import EMPTY, UNREADABLE, advice, unknown, verdict


class Command(PreparedCommand):
    help = (
        "Print memory, CPU and slots of a job against what it uses, and what to set; without a job those of all jobs: a table, or with "
        "--json one object. Exit code 0, or 2 where the job or its TaskManagers are unknown."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("cluster", nargs="?")
        parser.add_argument("job", metavar="JOB", nargs="?", help="its id, or its name where one job has it")
        parser.add_argument(
            "--by", default=BY[0], help="group all jobs by cluster, by name (the first word of it) or by a label of clusters"
        )
        parser.add_argument("--json", action="store_true", help="one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["cluster"] is None:
            if options["by"] not in (known := groupings()):
                raise CommandError(f"All jobs can be grouped by {', '.join(known)}.", returncode=REFUSED)
            fleet = look_up_fleet(timezone.now(), options["by"])
            if fleet is None:
                raise CommandError(f"{UNREADABLE['title']}. {UNREADABLE['text']}", returncode=REFUSED)
            if options["json"]:
                print_document(self.stdout, FleetResourcesSerializer(fleet).data)
            else:
                print_lines(self.stdout, _of_fleet(fleet))
            return
        if options["job"] is None:
            raise CommandError("Give a cluster and a job, or neither for all jobs.", returncode=REFUSED)
        job = job_named(options["cluster"], options["job"])
        found = look_up_resources(job)
        if found is None:
            raise CommandError(EMPTY["text"], returncode=REFUSED)
        if options["json"]:
            print_document(self.stdout, as_document(found, job))
        else:
            print_lines(self.stdout, _of_job(found, job))


def _of_job(found: JobResources, job: JobCurrent) -> Iterator[str]:
    yield verdict(found).sentence
    yield f"{'':<12}{'configured':>12}{'used':>12}{'enough':>12}  state"
    for part in found.parts:
        sizes = (part.configured_bytes, part.used_bytes, part.suggested_bytes)
        yield f"{part.name:<12}{''.join(format(bytes_text(size), '>12') for size in sizes)}  {part.state}"
    yield f"CPU: {_cores(found.cpu_used)} of {_cores(found.cpu_allotted)} cores on {len(found.taskmanagers)} TaskManagers"
    yield from advice(found, job.configuration)
    for line in unknown(found):
        yield f"? {line}"


def _of_fleet(found: FleetResources) -> Iterator[str]:
    yield f"{'':<24}{'jobs':>6}{'slots':>7}{'memory':>12}{'spare':>12}{'cores':>8}{'used':>8}"
    for one in found.groups:
        sizes = f"{bytes_text(one.memory_bytes):>12}{bytes_text(one.spare_bytes):>12}{one.cpu_allotted:>8.1f}{one.cpu_used:>8.1f}"
        yield f"{one.name[:23]:<24}{one.jobs:>6,}{one.slots:>7,}{sizes}"
    yield f"{found.idle_slots:,} slots of {found.taskmanagers:,} TaskManagers are free: {bytes_text(found.idle_bytes)}."


def _cores(value: float | None) -> str:
    return "?" if value is None else f"{value:.2f}"
