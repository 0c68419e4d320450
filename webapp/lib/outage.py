"""An outage of a job, for its page and reports."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

PARTS = ("detect", "cancel", "wait", "failed_attempts", "redeploy", "restore")


@dataclass(frozen=True)
class Outage:
    """From a restart until all tasks ran again, over any number of restarts.

    ``downtime_ms`` is ``None`` if no source reported its end; ``at_least_ms`` is then what is
    certain. ``parts``: (name, ms), detection before it included. ``reprocessed_ms``: the age of the
    checkpoint it went back to, whose records were processed twice.
    """

    at: datetime
    until: datetime | None = None
    restarts: int = 1
    downtime_ms: float | None = None
    at_least_ms: float | None = None
    parts: tuple[tuple[str, float], ...] = ()
    restored_id: int | None = None
    reprocessed_ms: float | None = None

    @property
    def part_ms(self) -> Mapping[str, float | None]:
        """All its parts by name, ``None`` if unknown or there was none."""
        return {**dict.fromkeys(PARTS), **dict(self.parts)}
