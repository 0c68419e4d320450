from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import transaction
from django.utils import timezone

from ingest.discovery.declared import read_declared
from ingest.discovery.reading import read_sources
from ingest.discovery.sources import DiscoverySource, Listing
from ingest.errors import Refused
from webapp.config.preparation import PreparedCommand
from webapp.fleet.listed_clusters import Changes
from webapp.pipeline.discovering import apply

NAMES_SHOWN = 10


class Command(PreparedCommand):
    help = (
        "Read the sources that a file declares and show which clusters would be added, changed, "
        "removed and refused. With --apply, do it. "
        "Exit code 0, 1 if a source could not be read completely, 2 if the file is invalid."
    )
    refusals = (Refused,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--file",
            default="",
            metavar="FILE",
            help="file that declares them (default: that of WEIR_SOURCES)",
        )
        parser.add_argument(
            "--apply",
            action="store_true",
            help="apply the changes now, as the next cycle would",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path = options["file"] or settings.WEIR.sources
        if not path:
            raise Refused(
                "Nothing is declared: set WEIR_SOURCES to a file of sources, or give --file.",
            )
        sources = read_declared(Path(path))
        listings = read_sources(sources)
        now = timezone.now()
        with transaction.atomic():
            changes = [
                apply(source, listing, now)
                for source, listing in zip(sources, listings, strict=True)
            ]
            transaction.set_rollback(not options["apply"])
        for source, listing, changed in zip(sources, listings, changes, strict=True):
            self.stdout.write(_in_words(source, listing, changed))
        if any(listing.error for listing in listings):
            raise CommandError(
                "Not every source could be read whole; clusters that it lacks are not removed."
            )


def _in_words(source: DiscoverySource, listing: Listing, changes: Changes) -> str:
    lines = [f"{source.name} ({source.kind}: {source.place}): {len(listing.clusters)} clusters"]
    if listing.error:
        lines.append(f"  error    {listing.error}")
    for word, names in (
        ("come", changes.came),
        ("change", changes.changed),
        ("leave", changes.left),
    ):
        more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
        lines += [f"  {word:8} {', '.join(names[:NAMES_SHOWN])}{more}"] if names else []
    lines += [
        f"  broken   {cluster.name}: {cluster.operator.sentence}"
        for cluster in listing.clusters
        if cluster.operator and cluster.operator.state == "broken"
    ]
    lines += [
        f"  refused  {target.what}: {target.why}" for target in (*listing.refused, *changes.refused)
    ]
    return "\n".join(lines)
