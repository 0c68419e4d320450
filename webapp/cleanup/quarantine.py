"""Places where moved files wait for the purge, outside all scanned roots."""

from collections.abc import Sequence
from pathlib import Path

from ingest.storage.layout import QUARANTINE_SUFFIX
from ingest.uris import BadUri, are_nested, canonical
from webapp.cleanup.choices import IN_PLACE
from webapp.cleanup.errors import PlanRefused
from webapp.cleanup.manifest import PlannedRoot


def beside(read_at: str) -> str:
    """The default quarantine: next to the root, so that most file systems can rename files."""
    return read_at.rstrip("/") + QUARANTINE_SUFFIX


def folder_of(quarantine: str, plan: str, root_number: int) -> str:
    """Plans may share a quarantine, so each plan and root has its folder."""
    return f"{quarantine.rstrip('/')}/{plan}/{root_number}"


def refuse_unsafe(
    roots: Sequence[PlannedRoot], searched: Sequence[str], also_scanned: Sequence[str] = ()
) -> None:
    """Raises :class:`PlanRefused` if a quarantine overlaps a scanned place, or if roots overlap.
    ``also_scanned``: places outside of the audit.
    """
    scanned = [
        *searched,
        *also_scanned,
        *(root.uri for root in roots),
        *(root.read_at for root in roots),
    ]
    for root in roots:
        for other in scanned:
            if root.moves not in IN_PLACE and _overlap(root.quarantine, other):
                raise PlanRefused(
                    f"The quarantine {root.quarantine} and the scanned {other} lie in each other, "
                    "so the next audit would take "
                    "quarantined files for new ones. Set another quarantine for this root."
                )
    for root in roots:
        for uri in searched:
            if uri != root.uri and _overlap(root.uri, uri):
                raise PlanRefused(
                    f"The roots {root.uri} and {uri} lie in each other: a file would belong to "
                    "both. Keep the outer one."
                )


def _overlap(place: str, other: str) -> bool:
    """Whether one place contains the other, by name or through links of the local file system."""
    return any(are_nested(spell(place), spell(other)) for spell in (_canonical, _resolved))


def _canonical(uri: str) -> str:
    try:
        return canonical(uri)
    except BadUri as error:
        raise PlanRefused(f"This cannot be a quarantine or a root: {error}") from error


def _resolved(uri: str) -> str:
    unresolved = _canonical(uri)
    if not unresolved.startswith("file:/"):
        return unresolved
    return f"file:{Path(unresolved.removeprefix('file:')).resolve()}"
