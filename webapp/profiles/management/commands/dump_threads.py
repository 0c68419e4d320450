from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from webapp.config.preparation import PreparedCommand
from webapp.fleet.rows_command import job_named
from webapp.profiles.job_threads import job_threads
from webapp.profiles.thread_dump_requests import MOST_AT_ONCE, request_dumps


class Command(PreparedCommand):
    help = (
        f"Request thread dumps of TaskManagers that run a job, at most {MOST_AT_ONCE}. The next "
        "collect cycle takes them, and the analysis threads shows them. Exit code 0, or 2 if "
        "the job is unknown."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("cluster")
        parser.add_argument("job", metavar="JOB", help="id of the job, or its name if it is unique")
        parser.add_argument(
            "--vertex", metavar="ID", default="", help="only TaskManagers that run this vertex"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        job, now = job_named(options["cluster"], options["job"]), timezone.now()
        threads = job_threads(job, job.last_seen_at or job.as_of, now, options["vertex"])
        count = request_dumps(job.cluster, threads.taskmanager_ids, now)
        self.stdout.write(
            threads.why or f"{count} of {len(threads.taskmanagers)} TaskManagers are asked."
        )
