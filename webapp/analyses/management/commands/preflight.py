import sys
from argparse import ArgumentParser
from typing import Any

from webapp.analyses.api import answer_data
from webapp.analyses.inputs import inputs_for_job
from webapp.analyses.job.preflight import preflight as analysis
from webapp.analyses.management.commands.analyse import checked_parameters, document_lines
from webapp.config.preparation import PreparedCommand
from webapp.fleet.rows_command import job_named
from webapp.lib.printing import print_document, print_lines

EXIT_CODES = {"ok": 0, "warn": 0, "crit": 1}
CANNOT_TELL = 2


class Command(PreparedCommand):
    help = (
        "Say whether JOB would restore from SNAPSHOT: compare its _metadata and files with what is "
        "known of the job. Exit code 0 if it restores, 1 if it does not, 2 if that cannot be told, "
        "or if the job or an option is unknown. SNAPSHOT must lie below a storage root that is "
        "registered."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "snapshot",
            metavar="SNAPSHOT",
            help="directory of a checkpoint or savepoint, or its _metadata, as Flink names it",
        )
        parser.add_argument(
            "--against",
            nargs=2,
            required=True,
            metavar=("CLUSTER", "JOB"),
            help="the job that would restore: its id, or its name if that is unique",
        )
        parser.add_argument(
            "--types-unchanged",
            action="store_true",
            help="types, serializers, time-to-live and timers of state are those of the snapshot",
        )
        parser.add_argument(
            "--allow-non-restored-state",
            action="store_true",
            help="the job is started with allowNonRestoredState",
        )
        parser.add_argument("--json", action="store_true", help="one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        job = job_named(*options["against"])
        parameters = {"snapshot": options["snapshot"]}
        if options["types_unchanged"]:
            parameters["types"] = "unchanged"
        if options["allow_non_restored_state"]:
            parameters["dropped"] = "allowed"
        inputs = inputs_for_job(job, checked_parameters(analysis, parameters))
        document = analysis.answer(job, inputs)
        if options["json"]:
            print_document(self.stdout, answer_data(analysis, inputs, document))
        else:
            print_lines(self.stdout, document_lines(document))
        sys.exit(EXIT_CODES.get(document.verdict.tone, CANNOT_TELL))
