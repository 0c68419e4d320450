"""Print hosts, the worst first, or one host."""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError

from webapp.config.preparation import REFUSED, PreparedCommand
from webapp.hosts import lookup
from webapp.hosts.api.views import as_document, span_of
from webapp.hosts.documents import HOST_NAMES, host_rows
from webapp.hosts.filters import HostsOfTimeFilters
from webapp.hosts.lives import lost
from webapp.hosts.models import HostEvent
from webapp.hosts.ranking import HostRow
from webapp.hosts.timeline import timeline
from webapp.lib.filter_sets import WrongParameters
from webapp.lib.instants import instant_text
from webapp.lib.printing import json_line, print_document, print_lines

WIDTHS = {
    "host": 32,
    "cluster": 20,
    "findings": 8,
    "losses": 6,
    "declines": 8,
    "expired": 7,
    "failures": 8,
    "jobs": 5,
    "subtasks": 8,
}


class Command(PreparedCommand):
    help = (
        "Print hosts and what happened on them in a time range, the worst first; or what happened "
        "on one host. Prints a table, or with --json one object per line (for one host, one "
        "object). Exit code 0, or 2 if the host is unknown or an option is invalid."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("host", nargs="?", help="only this host, in detail")
        for name, parameter in HostsOfTimeFilters.parameters().items():
            if name != "after":
                about = parameter.about or f"only of this {name}"
                parser.add_argument(f"--{name}", choices=parameter.choices or None, help=about)
        parser.add_argument("--json", action="store_true", help="JSON instead of a table")

    def handle(self, *args: Any, **options: Any) -> None:
        filters = HostsOfTimeFilters(
            {name: options[name] for name in HostsOfTimeFilters.parameters() if options.get(name)}
        )
        try:
            filters.check()
        except WrongParameters as error:
            raise CommandError(str(error), returncode=REFUSED) from error
        start, end = span_of(filters.values)
        if options["host"]:
            self._one(options["host"], options["cluster"], start, end, options["json"])
            return
        _, rows = host_rows(filters, start, end)
        lines = (
            (json_line(HOST_NAMES, [getattr(row, name) for name in HOST_NAMES]) for row in rows)
            if options["json"]
            else _table(rows)
        )
        print_lines(self.stdout, lines)

    def _one(
        self, host: str, cluster: str | None, start: datetime, end: datetime, as_json: bool
    ) -> None:
        clusters = [text for text in lookup.clusters_of(host) if cluster in (None, text)]
        if not clusters:
            raise CommandError(f"No job was seen on a host called {host}.", returncode=REFUSED)
        if as_json:
            print_document(self.stdout, as_document(host, clusters, start, end))
        else:
            print_lines(self.stdout, _story(host, clusters, start, end))


def _table(rows: Sequence[HostRow]) -> Iterator[str]:
    yield "  ".join(_cell(name, name) for name in WIDTHS)
    for row in rows:
        yield "  ".join(_cell(name, str(getattr(row, name))) for name in WIDTHS)


def _cell(name: str, text: str) -> str:
    return text.ljust(WIDTHS[name]) if name in ("host", "cluster") else text.rjust(WIDTHS[name])


def _story(host: str, clusters: Sequence[str], start: datetime, end: datetime) -> Iterator[str]:
    jobs, running = lookup.jobs_of(host, clusters)
    yield f"{host} of {', '.join(clusters)}: jobs that run there now: {running}"
    for sentence in lookup.concentrations(host, clusters, start, end):
        yield f"{'! ' if sentence.is_notable else '  '}{sentence.sentence}"
    events = HostEvent.objects.filter(host=host, cluster__in=clusters)
    losses = lost(start, end).filter(host=host, cluster__in=clusters)
    findings = lookup.findings_of(host, clusters, start, end)
    story = timeline(events, losses, jobs, findings, start, end, None)
    for moment in story.moments:
        about = [f"({moment.detail})"] if moment.detail else []
        yield "  ".join(
            [
                instant_text(moment.at),
                moment.title,
                *about,
                ", ".join(name for _, _, name in moment.jobs),
            ]
        ).rstrip()
