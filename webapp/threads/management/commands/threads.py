"""Print what the threads of a job's TaskManagers do."""

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from getpass import getuser
from typing import Any

from django.utils import timezone

from webapp.fleet.job_command import DocumentCommand
from webapp.fleet.models import JobCurrent
from webapp.threads.api.views import as_document
from webapp.threads.requests import want

MOST_ASKED = 20


class Command(DocumentCommand):
    help = (
        "Print what the threads of a job's TaskManagers do, by their newest dumps: a line for each task, or with --json one object. "
        "--ask wants new dumps, which the next collect cycle takes. Exit code 0, or 2 where the job is unknown."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--vertex", metavar="ID", default="", help="of this vertex alone")
        parser.add_argument("--ask", action="store_true", help=f"ask for new dumps, of {MOST_ASKED} TaskManagers at most")

    def document(self, job: JobCurrent, options: Mapping[str, Any]) -> Mapping[str, Any]:
        if options["ask"]:
            for one in as_document(job, options["vertex"])["taskmanagers"][:MOST_ASKED]:
                want(job.cluster, one["taskmanager_id"], timezone.now(), by=getuser())
        return as_document(job, options["vertex"])

    def lines(self, found: Mapping[str, Any]) -> Iterator[str]:
        if found["why"]:
            yield found["why"]
        for taskmanager in found["taskmanagers"]:
            taken = taskmanager["taken_at"] or "never"
            yield f"{taskmanager['taskmanager_id']}: dumped {taken}. {taskmanager['sentence']}".rstrip()
            yield from taskmanager["deadlocks"]
            for thread in taskmanager["threads"]:
                if thread["vertex_id"]:
                    times = f" ({thread['in_a_row']} dumps in a row)" if thread["in_a_row"] > 1 else ""
                    yield f"  {thread['name']} {thread['does']}{times}"
