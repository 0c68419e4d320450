from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

PARTS = ("detect", "cancel", "wait", "failed_attempts", "redeploy", "restore")


@dataclass(frozen=True)
class Outage:
    """Lasts from a restart until all tasks run again, over any number of restarts. ``downtime_ms``
    is None if no source reported the end; then ``at_least_ms`` is certain. ``parts``: (name, ms),
    including the detection, which is before ``at``. ``reprocessed_ms``: the age of the restored
    checkpoint; records since then were processed twice.
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
        """None if a part is unknown or did not happen."""
        return {**dict.fromkeys(PARTS), **dict(self.parts)}
