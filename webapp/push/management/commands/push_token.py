from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from webapp.config.preparation import CommandRefused, PreparedCommand
from webapp.fleet.models import Cluster
from webapp.lib.refusals import ActionRefused
from webapp.push.models import issue


class Command(PreparedCommand):
    help = (
        "Issue a token to push logs, spans and metrics of a cluster, and print it once. Exit code 0, "
        "or 2 if there is no such live cluster."
    )

    refusals = (ActionRefused,)

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

    def handle(self, *args: Any, **options: Any) -> None:
        cluster = Cluster.objects.filter(name=options["cluster"]).first()
        if cluster is None:
            raise CommandRefused(
                f"There is no cluster {options['cluster']}; add_cluster registers one.",
            )
        if options["days"] < 0:
            raise CommandRefused("--days must not be negative.")
        _token, text = issue(cluster, options["name"][:100], options["days"], timezone.now())
        self.stdout.write(text)
