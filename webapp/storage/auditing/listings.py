from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils import timezone

from ingest.errors import Refused
from ingest.storage.identities import VisitedDirectories
from ingest.storage.instants import refuse_future
from ingest.storage.inventory import import_inventory
from ingest.storage.listing import list_root
from ingest.storage.roots import Root
from ingest.storage.snapshots import SECOND_NAME, Listed, Unlisted, named_in
from webapp.lib.quantities import bytes_text, count_text
from webapp.lib.storage_uris import spellings
from webapp.storage.auditing.audit_request import AuditRequest, RequestedRoot


@dataclass(frozen=True)
class RootListing:
    requested: RequestedRoot
    folder: str
    listed: Listed
    unlisted_later: tuple[Unlisted, ...] = ()
    """Doubts about this root that listings of later roots found."""


def list_all(request: AuditRequest, run_dir: str, say: Callable[[str], None]) -> list[RootListing]:
    """Lists each root below ``run_dir``. Raises the errors of listing."""
    if request.inventory and len(request.roots) != 1:
        raise Refused("An inventory lists one root: name that root alone.")
    if request.as_of is not None:
        refuse_future(request.as_of, timezone.now(), "The instant of the audit")
    listings = []
    visited = VisitedDirectories()
    for number, root in enumerate(request.roots):
        folder = f"{run_dir}/listing-{number}"
        say(f"listing {root.root.uri}" + (f" at {root.root.read_at}" if root.root.read_at else ""))
        listed = _list(request, root, folder, visited)
        unlisted = [skip for skip in listed.unlisted if skip.reason != SECOND_NAME]
        say(
            f"{root.root.uri}: {count_text(listed.files)} files, {bytes_text(listed.bytes)}, "
            f"{len(unlisted)} directories not listed"
        )
        for skip in listed.unlisted:
            if skip.reason == SECOND_NAME:
                say(f"{skip.subject}: {skip.detail}")
        listings.append(RootListing(root, folder, listed))
    return [
        replace(listing, unlisted_later=tuple(visited.skips_of(listing.requested.root.uri)))
        for listing in listings
    ]


def as_of(listings: Sequence[RootListing]) -> datetime:
    """When the first listing began: an audit cannot know later files."""
    return min(listing.listed.as_of for listing in listings)


def _list(
    request: AuditRequest, root: RequestedRoot, folder: str, visited: VisitedDirectories
) -> Listed:
    if request.inventory:
        return import_inventory(
            request.inventory,
            root.root,
            folder,
            request.as_of,
            spellings=spellings(),
            at=timezone.now(),
        )
    return list_root(
        root.root,
        folder,
        threads=settings.WEIR.storage_threads,
        spellings=spellings(),
        at=request.as_of,
        visited=visited,
    )


def request_of(listing: RootListing, roots: Sequence[Root]) -> dict[str, Any]:
    """A root in ``request.json`` (:mod:`spark_jobs.audit_request`). ``roots``: all roots of the
    audit.
    """
    root = listing.requested
    skips = [*listing.listed.unlisted, *listing.unlisted_later]
    return {
        "uri": root.root.uri,
        "read_at": root.root.read_at,
        "listing": listing.folder,
        "clusters": list(root.clusters),
        "unreachable": list(root.unreachable),
        "unreachable_elsewhere": list(root.unreachable_elsewhere),
        "attested": root.attested,
        "unlisted": [
            {
                "subject": skip.subject,
                "reason": skip.reason,
                "detail": skip.detail,
                "other": named_in(roots, skip.other) if skip.other else "",
            }
            for skip in skips
        ],
    }
