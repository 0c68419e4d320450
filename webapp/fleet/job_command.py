"""Commands that print what is known of one job: lines for people, or the API's document."""

from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from webapp.config.preparation import PreparedCommand
from webapp.fleet.models import JobCurrent
from webapp.fleet.rows_command import job_named
from webapp.lib.printing import print_document, print_lines

Document = Callable[[], Mapping[str, Any]]


class JobCommand(PreparedCommand):
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("cluster")
        parser.add_argument("job", metavar="JOB", help="its id, or its name where one job has it")
        self.add_options(parser)
        parser.add_argument("--json", action="store_true", help="one JSON object")

    def add_options(self, parser: ArgumentParser) -> None:
        """Those of this command alone."""

    def handle(self, *args: Any, **options: Any) -> None:
        document, lines = self.shown(job_named(options["cluster"], options["job"]), options)
        if options["json"]:
            print_document(self.stdout, document())
        else:
            print_lines(self.stdout, lines)

    def shown(self, job: JobCurrent, options: Mapping[str, Any]) -> tuple[Document, Iterable[str]]:
        """What is asked for both ways; only the one that is printed is worked out further."""
        raise NotImplementedError


class DocumentCommand(JobCommand):
    """Whose lines tell of the document itself."""

    def document(self, job: JobCurrent, options: Mapping[str, Any]) -> Mapping[str, Any]:
        raise NotImplementedError

    def lines(self, found: Mapping[str, Any]) -> Iterable[str]:
        raise NotImplementedError

    def shown(self, job: JobCurrent, options: Mapping[str, Any]) -> tuple[Document, Iterable[str]]:
        found = self.document(job, options)
        return lambda: found, self.lines(found)
