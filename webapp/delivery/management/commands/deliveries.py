"""List deliveries, and send them again."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from webapp.config.preparation import REFUSED, PreparedCommand
from webapp.delivery import orders
from webapp.delivery.choices import DeliveryState
from webapp.delivery.export import NAMES
from webapp.delivery.filters import DeliveryFilters
from webapp.delivery.models import Delivery, Endpoint
from webapp.lib import timeranges
from webapp.lib.printing import json_line, print_lines
from webapp.lib.refusals import ActionRefused
from webapp.lib.timeranges import BadTimeRange

MOST = 10_000
WHO = "command line"


class Command(PreparedCommand):
    help = (
        "List deliveries of alerts, newest first. With --replay, send the selected deliveries again, "
        "under the same ids (dead ones, unless --state selects others). Exit code 0, 1 if there "
        "was nothing to send again, 2 if the input is invalid."
    )

    refusals = (ActionRefused, BadTimeRange)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("uid", nargs="?", metavar="MSG", help="only this one")
        parser.add_argument("--endpoint", metavar="NAME", help="only of this endpoint")
        parser.add_argument("--state", choices=DeliveryState.values, help="only in this state")
        parser.add_argument(
            "--from",
            dest="since",
            default="now-24h",
            metavar="TIME",
            help="made since, such as now-7d (default: now-24h)",
        )
        parser.add_argument(
            "--to", dest="until", default="now", metavar="TIME", help="made until (default: now)"
        )
        parser.add_argument("--replay", action="store_true", help="send them again")
        parser.add_argument(
            "--json", action="store_true", help="one JSON object per line instead of text"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        endpoint = self._endpoint(options["endpoint"])
        since, until = (
            timeranges.instant(options[name], timezone.now()) for name in ("since", "until")
        )
        if options["replay"]:
            self._replay(options, endpoint, since, until)
            return
        given = {"state": options["state"], "endpoint": endpoint.pk if endpoint else None}
        if not options["uid"]:
            given |= {"from": options["since"], "to": options["until"]}
        filters = DeliveryFilters(
            {name: value for name, value in given.items() if value}, Delivery.objects.listed()
        ).checked()
        filters = filters.filter(uid=options["uid"]) if options["uid"] else filters
        rows = filters.order_by("-id")[:MOST].iterator(500)
        print_lines(self.stdout, (_json(row) if options["json"] else _words(row) for row in rows))

    def _replay(
        self, options: dict[str, Any], endpoint: Endpoint | None, since: datetime, until: datetime
    ) -> None:
        now = timezone.now()
        if options["uid"]:
            row = Delivery.objects.select_related("endpoint").filter(uid=options["uid"]).first()
            if row is None:
                raise CommandError(f"There is no delivery {options['uid']}.", returncode=REFUSED)
            orders.replay(row, WHO, now)
            count = 1
        else:
            states = [options["state"] or DeliveryState.DEAD]
            count = orders.replay_range(since, until, states, WHO, now, endpoint)
        if not count:
            raise CommandError("There is nothing of that kind in this time.", returncode=1)
        self.stdout.write(f"{count:,} deliveries are sent again.")

    def _endpoint(self, name: str | None) -> Endpoint | None:
        if name is None:
            return None
        endpoint: Endpoint | None = Endpoint.objects.filter(name=name).first()
        if endpoint is None:
            raise CommandError(f"There is no endpoint {name}.", returncode=REFUSED)
        return endpoint


def _json(row: Delivery) -> str:
    return json_line(
        NAMES, [row.endpoint.name if name == "endpoint" else getattr(row, name) for name in NAMES]
    )


def _words(row: Delivery) -> str:
    tail = f"  {row.last_error}" if row.last_error else ""
    return (
        f"{row.made_at:%Y-%m-%d %H:%M:%S}  {row.state:9}  {row.attempts:2}  {row.uid}  "
        f"{row.endpoint.name}  {row.title}{tail}"
    )
