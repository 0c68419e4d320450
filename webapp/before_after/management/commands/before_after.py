"""Print what differs of a job before and after something that happened to it."""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from webapp.before_after.api.views import as_document
from webapp.before_after.parameters import ChangeParameters
from webapp.before_after.windows import DEFAULT, LENGTHS
from webapp.before_after.words import figure
from webapp.config.preparation import REFUSED, PreparedCommand
from webapp.fleet.rows_command import job_named
from webapp.lib.filter_sets import WrongParameters
from webapp.lib.printing import print_document, print_lines


class Command(PreparedCommand):
    help = (
        "Print a job in two windows of one length around an instant: sizes, durations by phase, pressure, restarts, uploads, and what is "
        "configured otherwise. Exit code 0, or 2 where the job or a parameter cannot be used."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("cluster")
        parser.add_argument("job", metavar="JOB", help="its id, or its name where one job has it")
        parser.add_argument("at", metavar="AT", help="when it happened: an ISO 8601 instant, or relative as in now-6h")
        parser.add_argument("--window", default=DEFAULT, choices=tuple(LENGTHS), help="how long before and after")
        parser.add_argument("--json", action="store_true", help="one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        asked = ChangeParameters({"at": options["at"], "window": options["window"]})
        try:
            asked.check()
        except WrongParameters as error:
            raise CommandError(str(error), returncode=REFUSED) from error
        found = as_document(job_named(options["cluster"], options["job"]), asked.values)
        if options["json"]:
            print_document(self.stdout, found)
        else:
            print_lines(self.stdout, _lines(found))


def _lines(found: dict[str, Any]) -> Iterator[str]:
    yield found["verdict"]
    for one in (*found["measures"], *found["pressure"]):
        compared = one["comparison"]
        sides = "".join(f"{figure(compared[side]['median'], one['unit']):>12}" for side in ("before", "after"))
        yield f"{(one['vertex'] + ' ' + one['name']).strip()[:44]:<46}{sides}  {compared['says']}"
    for one in found["tallies"]:
        yield f"{one['name']:<46}{figure(one['before'], one['unit']):>12}{figure(one['after'], one['unit']):>12}"
    for change in found["changes"] or ():
        yield f"{change['of']} {change['name']}: {change['before'] or '–'} → {change['after'] or '–'}"
    for line in found["unknown"]:
        yield f"? {line}"
