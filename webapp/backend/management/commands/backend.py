"""Print the state backend of a job."""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from webapp.backend.api.views import as_document
from webapp.config.preparation import PreparedCommand
from webapp.fleet.rows_command import job_named
from webapp.lib.printing import print_document, print_lines


class Command(PreparedCommand):
    help = (
        "Print the options of a job's state backend and how RocksDB is by its own metrics: some lines, or with --json one object. "
        "Exit code 0, or 2 where the job is unknown."
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
            print_lines(self.stdout, _lines(found))


def _lines(found: dict[str, Any]) -> Iterator[str]:
    yield found["verdict"]
    for option in found["options"] or ():
        yield f"{option['key']:<48} {option['value']}{'' if option['is_set'] else ' (default)'}"
    for vertex in found["vertices"] or ():
        known = ", ".join(f"{name} {value:,}" for name, value in vertex["newest"].items() if value is not None)
        yield f"{vertex['name']}: stalled in {vertex['stalled']} of {vertex['samples']} samples; {known}"
