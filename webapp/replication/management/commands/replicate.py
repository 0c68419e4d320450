from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from webapp.config.preparation import CommandRefused, PreparedCommand
from webapp.fleet.rows_command import job_named
from webapp.lib.command_line import command_line_name
from webapp.lib.printing import print_document, print_lines
from webapp.lib.quantities import bytes_text, count_text, duration_text
from webapp.lib.refusals import InputRefused
from webapp.replication import findings, work_keys
from webapp.replication.api.views import as_document
from webapp.replication.job_replication import JobReplication, job_replication
from webapp.replication.models import Replica
from webapp.replication.registration import DEFAULT_EVERY_S, register
from webapp.work.perform import Performed, perform
from webapp.work.runs import describe


class Command(PreparedCommand):
    help = (
        "Copy the newest checkpoint of a job to DESTINATION and keep that copy up to date. The job "
        "can be restored from the copy alone. Without DESTINATION, update the existing copy now. "
        "The original checkpoints are never changed. Exit code 0, 1 if copying failed (the "
        "previous copy is unchanged), 2 if the input is invalid."
    )
    refusals = (InputRefused,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("cluster")
        parser.add_argument("job", metavar="JOB", help="id of the job, or its name if it is unique")
        parser.add_argument(
            "destination",
            nargs="?",
            metavar="DESTINATION",
            help="an empty directory outside all storage roots, as Flink reads it",
        )
        parser.add_argument(
            "--read-at",
            default="",
            metavar="DIR",
            help="where Weir writes the same directory, if elsewhere",
        )
        parser.add_argument(
            "--source",
            default="",
            metavar="URI",
            help="directory of the job's checkpoints (default: that of its newest one)",
        )
        parser.add_argument(
            "--every",
            type=int,
            metavar="S",
            help=(
                "seconds from the start of one look for a newer checkpoint to the start of the "
                f"next, by the workers (default: as set before, {DEFAULT_EVERY_S} at first); a "
                "round that takes longer is followed by the next at once"
            ),
        )
        parser.add_argument(
            "--stop", action="store_true", help="stop updating the copy; its files stay"
        )
        parser.add_argument("--show", action="store_true", help="only show the copy")
        parser.add_argument("--json", action="store_true", help="one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["show"] and options["destination"]:
            raise CommandRefused("--show changes nothing: leave out DESTINATION.")
        if options["every"] is not None and not options["destination"]:
            raise CommandRefused("--every is set with the DESTINATION.")
        job = job_named(options["cluster"], options["job"])
        if options["destination"]:
            register(
                job,
                options["destination"],
                name=command_line_name(),
                at=timezone.now(),
                read_at=options["read_at"],
                source=options["source"],
                every_s=options["every"],
            )
        replication = job_replication(job, timezone.now())
        if replication is None:
            raise CommandRefused("No copy of this job was requested: name a DESTINATION.")
        if options["stop"]:
            replication.replica.enabled = False
            replication.replica.save(update_fields=["enabled"])
            findings.close(replication.replica, timezone.now())
        elif not options["show"]:
            self._copy(replication.replica)
            replication = job_replication(job, timezone.now()) or replication
        if options["json"]:
            print_document(self.stdout, as_document(replication))
        else:
            print_lines(self.stdout, _words(replication, stopped=options["stop"]))

    def _copy(self, replica: Replica) -> None:
        work_keys.wake(replica, timezone.now())
        try:
            performed = perform(work_keys.key_of(replica), even_if_not_due=True, echo=self.say)
        except Exception as error:
            raise CommandError(describe(error)) from error
        if performed.state == Performed.HELD:
            raise CommandError("A worker is copying already; see the job's page of replication.")


def _words(replication: JobReplication, *, stopped: bool) -> Iterator[str]:
    copy = replication.replica
    if stopped:
        yield f"The copy at {copy.destination} stays as it is, and is no longer kept up to date."
    elif copy.enabled:
        yield f"Workers look for a newer checkpoint every {duration_text(copy.every_s * 1000)}."
    if copy.checkpoint_id is None:
        yield f"No copy is complete yet. {copy.trouble}".strip()
        return
    yield (
        f"Checkpoint {copy.checkpoint_id} is at {copy.location}: {count_text(copy.files)} files, "
        f"{bytes_text(copy.bytes)}."
    )
    yield f"It lies {duration_text(replication.lag_ms)} behind: so much would be lost with the original."
    if copy.trouble:
        yield f"The last try failed: {copy.trouble}"
