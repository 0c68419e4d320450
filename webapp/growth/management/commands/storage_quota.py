"""Set or remove the quota of a root or a cluster."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from webapp.config.preparation import REFUSED, PreparedCommand
from webapp.growth.models import StorageQuota
from webapp.growth.quotas import set_quota
from webapp.lib.refusals import InputRefused


class Command(PreparedCommand):
    help = (
        "Set how much storage a root, or the jobs of a cluster, may take. The command growth then "
        "shows when the quota is reached."
    )
    refusals = (InputRefused,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("kind", choices=StorageQuota.Kind.values)
        parser.add_argument("subject", help="URI of the root, or name of the cluster")
        parser.add_argument("size", nargs="?", help="20 TB (10¹² bytes) or 20 TiB (2⁴⁰ bytes)")
        parser.add_argument("--remove", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        kind, subject = options["kind"], options["subject"]
        if bool(options["size"]) == options["remove"]:
            raise CommandError("Give a size, or --remove.", returncode=REFUSED)
        if options["size"]:
            row = set_quota(kind, subject, options["size"], "command line", timezone.now())
            self.stdout.write(f"The quota of {row} is {row.quota_bytes:,} bytes.")
        elif StorageQuota.objects.filter(kind=kind, subject=subject).delete()[0]:
            self.stdout.write(f"{kind} {subject} has no quota any more.")
        else:
            raise CommandError(f"{kind} {subject} has no quota.", returncode=REFUSED)
