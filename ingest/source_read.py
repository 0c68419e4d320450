from dataclasses import dataclass, field
from typing import Any

from ingest.records import Observed, Skip


@dataclass(frozen=True, slots=True)
class SourceRead:
    """``reachable`` is ``None`` if nothing was due, or if the source cannot show whether the
    cluster runs. ``cursor`` must be saved after the records are written.
    """

    observed: tuple[Observed, ...]
    cursor: dict[str, Any]
    skips: tuple[Skip, ...] = ()
    reachable: bool | None = None
    error: str | None = None
    jobs_seen: int = 0


@dataclass(slots=True)
class ProbeNotes:
    """What Weir can read (``sees``) and cannot (``misses``)."""

    sees: list[str] = field(default_factory=list)
    misses: list[str] = field(default_factory=list)
    flink_version: str | None = None

    @property
    def reachable(self) -> bool:
        return bool(self.sees)
