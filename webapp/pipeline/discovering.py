"""Follows declared sources: reads each source when it is due, adds and removes its clusters."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from ingest.discovery.declared import read_declared
from ingest.discovery.reading import read_sources
from ingest.discovery.sources import DiscoverySource, Listing
from ingest.errors import Refused
from webapp.findings import job_judgements, operator_findings, unreachable_clusters
from webapp.findings.signals import findings_changed
from webapp.fleet import listed_clusters
from webapp.fleet.listed_clusters import Changes
from webapp.fleet.models import SourceReading
from webapp.work.lease import WriteGuard
from webapp.work.texts import storable

KEY = "discovery"
EVERY_S = 5
FILE = "WEIR_SOURCES"
"""The name of the row for the file that declares the sources."""
REFUSED_KEPT = 20


def follow_due(lease: WriteGuard) -> None:
    """Read the sources that are due now. If the file of declarations cannot be read, all clusters
    stay as they are.
    """
    now = timezone.now()
    path = Path(settings.WEIR.sources)
    try:
        sources = read_declared(path)
    except Refused as error:
        with lease.writing():
            unreadable = Listing(error=f"{error} Until that is mended clusters stay as they are.")
            _save_reading(FILE, "declaration", str(path), now, EVERY_S, unreadable)
        return
    SourceReading.objects.mend(now)
    due_at = dict(SourceReading.objects.values_list("name", "due_at"))
    due = [source for source in sources if due_at.get(source.name, now) <= now]
    listings = read_sources(due)
    with lease.writing():
        _save_reading(FILE, "declaration", str(path), now, EVERY_S, Listing(), len(sources))
        SourceReading.objects.exclude(
            name__in=[FILE, *(source.name for source in sources)]
        ).delete()
        left = listed_clusters.forget_sources([source.name for source in sources], now)
    for source, listing in zip(due, listings, strict=True):
        with lease.writing():
            left += apply(source, listing, now).left
        reported = [cluster.name for cluster in listing.clusters if cluster.operator]
        if reported:
            operator_findings.watch(lease, reported, now)
    if left:
        with lease.writing():
            unreachable_clusters.close_unwatched(now)
            job_judgements.forget_unseen(now)
            findings_changed.send(sender=None)


def apply(source: DiscoverySource, listing: Listing, now: datetime) -> Changes:
    """Add, change and remove clusters as the source lists them, and save its reading. Call it in a
    transaction.
    """
    changes = listed_clusters.follow(source, listing, now)
    refused = (*listing.refused, *changes.refused)
    count = len(listing.clusters) - len(changes.refused)
    _save_reading(
        source.name,
        source.kind,
        source.place,
        now,
        source.refresh_s,
        Listing(refused=refused, error=listing.error),
        count,
    )
    return changes


def _save_reading(
    name: str,
    kind: str,
    place: str,
    now: datetime,
    every_s: int,
    listing: Listing,
    clusters: int | None = None,
) -> None:
    row = {
        "kind": kind,
        "place": place,
        "last_read_at": now,
        "due_at": now + timedelta(seconds=every_s),
        "last_error": storable(listing.error) or None,
    }
    if not listing.error:
        row |= {"last_success_at": now, "clusters": clusters}
    if not listing.error or listing.refused:
        refused: Sequence[dict[str, str]] = [
            {"what": target.what, "why": target.why} for target in listing.refused[:REFUSED_KEPT]
        ]
        row |= {"refused": storable(refused), "refused_count": len(listing.refused)}
    SourceReading.objects.update_or_create(name=name, defaults=row)
