"""Where files wait before the purge: outside all scanned roots, with one folder for each plan and
root.
"""

from collections.abc import Sequence
from pathlib import Path

from ingest.storage.layout import QUARANTINE_SUFFIX
from ingest.uris import BadUri, are_nested, canonical
from webapp.cleanup.choices import IN_PLACE
from webapp.cleanup.errors import PlanRefused
from webapp.cleanup.manifest import PlannedRoot


def beside(read_at: str) -> str:
    """The default quarantine: next to the root, so that a move is a rename on most file systems."""
    return read_at.rstrip("/") + QUARANTINE_SUFFIX


def folder_of(quarantine: str, plan: str, root_number: int) -> str:
    """Roots are numbered within the plan, so that several may share a quarantine."""
    return f"{quarantine.rstrip('/')}/{plan}/{root_number}"


def refuse_unsafe(
    roots: Sequence[PlannedRoot], searched: Sequence[str], also_scanned: Sequence[str] = ()
) -> None:
    """Raises :class:`PlanRefused` if a quarantine that files are moved to lies in a scanned root or
    holds one, or if roots lie in each other.

    ``also_scanned`` are further places where something is listed, such as where other roots are
    read.
    """
    scanned = [
        *searched,
        *also_scanned,
        *(root.uri for root in roots),
        *(root.read_at for root in roots),
    ]
    for root in roots:
        for other in scanned if root.moves not in IN_PLACE else ():
            if _overlap(root.quarantine, other):
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


def _overlap(other_place: str, other: str) -> bool:
    """Whether one contains the other, by name or through links of the local file system."""
    return any(are_nested(place(other_place), place(other)) for place in (_plainly, _really))


def _plainly(uri: str) -> str:
    try:
        return canonical(uri)
    except BadUri as error:
        raise PlanRefused(f"This cannot be a quarantine or a root: {error}") from error


def _really(uri: str) -> str:
    plain = _plainly(uri)
    return (
        f"file:{Path(plain.removeprefix('file:')).resolve()}"
        if plain.startswith("file:/")
        else plain
    )
