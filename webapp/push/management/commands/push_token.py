from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from webapp.config.preparation import REFUSED, PreparedCommand
from webapp.fleet.models import Cluster
from webapp.lib.printing import print_document
from webapp.lib.refusals import ActionRefused
from webapp.push.models import issue


class Command(PreparedCommand):
    help = (
        "Issue a token to push logs and metrics of a cluster, and print it once. Exit code 0, or 2 "
        "if there is no such live cluster."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("cluster", metavar="CLUSTER")
        parser.add_argument(
            "--name", default="command line", help="name of the shipper (default: command line)"
        )
        parser.add_argument(
            "--days",
            type=int,
            default=365,
            help="days until it expires, 0 for never (default: 365)",
        )
        parser.add_argument(
            "--json", action="store_true", help="one JSON object instead of the bare token"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        cluster = Cluster.objects.filter(name=options["cluster"]).first()
        if cluster is None or options["days"] < 0:
            reason = (
                "--days must not be negative."
                if cluster
                else f"There is no cluster {options['cluster']}; add_cluster registers one."
            )
            raise CommandError(reason, returncode=REFUSED)
        try:
            token, text = issue(cluster, options["name"][:100], options["days"], timezone.now())
        except ActionRefused as refused:
            raise CommandError(str(refused), returncode=REFUSED) from refused
        if options["json"]:
            print_document(
                self.stdout,
                {
                    "token": text,
                    "prefix": token.prefix,
                    "cluster": cluster.name,
                    "expires_at": token.expires_at,
                },
            )
        else:
            self.stdout.write(text)
