from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.utils import timezone

from webapp.config.preparation import CommandRefused, PreparedCommand
from webapp.fleet.models import Cluster
from webapp.storage.auditing.work_keys import audit_now
from webapp.storage.choices import RootKind
from webapp.storage.models import StorageRoot
from webapp.storage.registration import attest, parse_root, save
from webapp.storage.suggestions import suggestions


class Command(PreparedCommand):
    help = (
        "Register a directory tree that Flink writes checkpoints, savepoints or high-availability "
        "data to. From then on it is audited, together with all other roots. Without URI, list "
        "unregistered directories that known jobs write to. Exit code 0, or 2 if the input is "
        "invalid."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "uri",
            nargs="?",
            metavar="URI",
            help="URI as in Flink's configuration: s3://bucket/flink, hdfs://…, file:/…",
        )
        parser.add_argument(
            "--read-at",
            default="",
            metavar="DIR",
            help="where Weir reads the same tree, if elsewhere",
        )
        parser.add_argument(
            "--kind",
            choices=RootKind.values,
            default=RootKind.CHECKPOINTS,
            help="what Flink writes there",
        )
        parser.add_argument(
            "--cluster",
            action="append",
            default=[],
            metavar="NAME",
            help="a cluster that uses it; may be repeated",
        )
        parser.add_argument(
            "--quarantine",
            default="",
            metavar="URI",
            help="where a clean-up moves files (default: beside the root)",
        )
        parser.add_argument(
            "--attest",
            default="",
            metavar="NAME",
            help="NAME attests that every reader of this root is known to Weir",
        )
        parser.add_argument(
            "--replace", action="store_true", help="change a root that is already registered"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["uri"]:
            return self._suggest()
        try:
            row = self._save(options)
        except ValidationError as error:
            raise CommandRefused(" ".join(error.messages)) from error
        self.stdout.write(f"{row.uri} is registered; an audit is due now.")
        return None

    def _save(self, options: dict[str, Any]) -> StorageRoot:
        clusters = list(Cluster.objects.filter(name__in=options["cluster"]))
        if unknown := set(options["cluster"]) - {cluster.name for cluster in clusters}:
            raise CommandRefused(f"There is no cluster {', '.join(sorted(unknown))}.")
        row = find_root(options["uri"])
        if row is None:
            row = StorageRoot(uri=options["uri"])
        elif not options["replace"]:
            raise CommandRefused(f"{row.uri} is registered already; use --replace to change it.")
        row.read_at, row.kind = options["read_at"], options["kind"]
        row.quarantine_uri = options["quarantine"]
        save(row, clusters)
        audit_now(timezone.now())
        if options["attest"]:
            attest(row, f"{options['attest']} (command line)")
        return row

    def _suggest(self) -> None:
        for suggestion in suggestions():
            self.stdout.write(
                f"{suggestion.uri}  {suggestion.kind}, used by "
                f"{', '.join(suggestion.clusters)} (from {suggestion.why})"
            )


def find_root(uri: str) -> StorageRoot | None:
    root: StorageRoot | None = StorageRoot.objects.filter(uri=parse_root(uri, "").uri).first()
    return root
