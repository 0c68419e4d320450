from argparse import ArgumentParser
from typing import Any

from spark_jobs.storage_words import STATEMENTS
from webapp.config.preparation import CommandRefused, PreparedCommand
from webapp.lib.command_line import command_line_name
from webapp.lib.refusals import InputRefused
from webapp.storage.models import StorageStatement
from webapp.storage.statements import StatedSubject, state, take_back


class Command(PreparedCommand):
    help = (
        "State that a job is dead, that a directory is excluded, or that a file is no checkpoint, "
        "so that doubts of audits end. Without KIND, list the statements that count. A statement "
        "counts from the next audit on, until you take it back or an audit finds that it is not "
        "true any more. Exit code 0, or 2 if the input is invalid."
    )
    refusals = (InputRefused,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "kind", nargs="?", metavar="KIND", choices=list(STATEMENTS), help=", ".join(STATEMENTS)
        )
        parser.add_argument(
            "subject",
            nargs="?",
            default="",
            metavar="URI",
            help="directory of the job, directory, or file, as in Flink",
        )
        parser.add_argument("--cluster", default="", metavar="NAME", help="cluster of a dead job")
        parser.add_argument("--job", default="", metavar="ID", help="id of a dead job")
        parser.add_argument("--reason", default="", metavar="TEXT", help="why this is true")
        parser.add_argument("--take-back", type=int, metavar="ID", help="end this statement")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["take_back"] is not None:
            self._take_back(options["take_back"])
        elif options["kind"]:
            if not options["subject"] and not options["job"]:
                raise CommandRefused("Name a URI, or a --cluster and --job.")
            stated = StatedSubject(
                options["kind"], options["subject"], options["cluster"], options["job"]
            )
            statement = state(stated, options["reason"], command_line_name())
            self._print(statement)
        else:
            for row in StorageStatement.objects.valid():
                self._print(row)

    def _take_back(self, number: int) -> None:
        row = StorageStatement.objects.valid().filter(pk=number).first()
        if row is None:
            raise CommandRefused(f"No statement {number} counts.")
        take_back(row, command_line_name())
        self.stdout.write(f"{row} is taken back.")

    def _print(self, row: StorageStatement) -> None:
        self.stdout.write(
            f"{row.pk}  {row}  {row.stated_name}, {row.stated_at:%Y-%m-%d %H:%M} UTC: {row.reason}"
        )
