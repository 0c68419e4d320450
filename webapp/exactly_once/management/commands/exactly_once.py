"""Print how long transactions of a job's sinks are open, against their time-out."""

from argparse import ArgumentParser
from typing import Any

from webapp.config.preparation import PreparedCommand
from webapp.exactly_once.api.views import as_document
from webapp.fleet.rows_command import job_named
from webapp.lib.printing import print_document, print_lines
from webapp.lib.quantities import duration_text


class Command(PreparedCommand):
    help = (
        "Print how long transactions of two-phase-commit sinks of a job are open, against the time-out after which they are lost: "
        "some lines, or with --json one object. Exit code 0, or 2 where the job is unknown."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("cluster")
        parser.add_argument("job", metavar="JOB", help="its id, or its name where one job has it")
        parser.add_argument("--json", action="store_true", help="one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        found = as_document(job_named(options["cluster"], options["job"]))
        if options["json"]:
            print_document(self.stdout, found)
        else:
            print_lines(self.stdout, [found["verdict"], found["advice"], *map(_line, found["commits"])])


def _line(commit: dict[str, Any]) -> str:
    return f"{commit['at']}  checkpoint {commit['checkpoint_id']:>8}  open for up to {duration_text(commit['open_ms'])}"
