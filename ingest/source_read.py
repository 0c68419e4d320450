"""What one cycle read of a source that answers for a whole cluster beside its JobManager."""

from dataclasses import dataclass
from typing import Any

from ingest.records import Observed, Skip


@dataclass(frozen=True, slots=True)
class SourceRead:
    """``reachable`` is ``None`` where nothing was due; ``cursor`` is to be saved after the records are safe."""

    observed: tuple[Observed, ...]
    cursor: dict[str, Any]
    skips: tuple[Skip, ...] = ()
    reachable: bool | None = None
    error: str | None = None
    jobs_seen: int = 0
