from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from ingest.errors import IngestError
from ingest.recordings.importer import import_recording
from webapp.config.preparation import CommandRefused, PreparedCommand
from webapp.fleet.models import Cluster
from webapp.fleet.pipeline_status import disk_budget
from webapp.fleet.registration import AlreadyRegistered, fingerprint, recording_cluster
from webapp.work.lake import commits, lake


class Command(PreparedCommand):
    help = (
        "Load a recording (folder with rest.jsonl and logs/) into the lake and register it as a "
        "cluster. Then run run_pipeline to make it visible. A recording that was imported before is "
        "not imported again. Exit code 0, 1 if nothing in it could be used, 2 if it was refused."
    )
    refusals = (AlreadyRegistered, IngestError)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("directory", type=Path, metavar="DIR")
        parser.add_argument(
            "--cluster", required=True, metavar="NAME", help="name under which it is shown"
        )
        parser.add_argument(
            "--log-time-zone",
            default="UTC",
            metavar="ZONE",
            help="IANA name of the zone of the logs (default: UTC)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        directory: Path = options["directory"]
        if not directory.is_dir():
            raise CommandRefused(f"There is no folder {directory}.")
        try:
            cluster = recording_cluster(options["cluster"])
        except ValidationError as error:
            raise CommandRefused(" ".join(error.messages)) from error
        if why := disk_budget.why_stopped():
            raise CommandRefused(why)
        content = fingerprint(directory)
        if cluster.fingerprint == content and any(commits().values()):
            self.stdout.write(f"{directory} was imported before as cluster {cluster.name}.")
            return
        try:
            summary = import_recording(
                directory,
                cluster.name,
                lake(),
                log_time_zone=options["log_time_zone"],
            )
        except IngestError:
            if not cluster.fingerprint:
                cluster.delete()
            raise
        Cluster.objects.filter(pk=cluster.pk).update(
            fingerprint=content, flink_version=summary.flink_version
        )
        records = sum(summary.records.values())
        self.stdout.write(
            f"{directory}: {records:,} records of {len(summary.jobs)} jobs imported as cluster "
            f"{cluster.name}."
        )
        if summary.skipped:
            counts = ", ".join(
                f"{count} {reason}" for reason, count in summary.skipped.most_common()
            )
            self.stdout.write(f"Skipped, and listed on the pipeline page: {counts}.")
        if not summary.records.keys() - {"skips"}:
            raise CommandError(f"Nothing in {directory} could be used.")
