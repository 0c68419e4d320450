"""Two windows of one length around an instant: as long as was asked for, and as both sides are
known.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ingest.messages import message

LENGTHS = {
    "15m": timedelta(minutes=15),
    "1h": timedelta(hours=1),
    "6h": timedelta(hours=6),
    "24h": timedelta(hours=24),
}
DEFAULT = "1h"
SHORTEST = timedelta(seconds=10)


@dataclass(frozen=True)
class Windows:
    """``start`` to ``at`` and ``at`` to ``end``.

    ``cut``: why they are shorter than was asked for; "" where they are not.
    """

    start: datetime
    at: datetime
    end: datetime
    cut: str = ""

    @property
    def length(self) -> timedelta:
        return self.end - self.at


def windows(
    at: datetime, length: timedelta, known_from: datetime, known_to: datetime
) -> Windows | None:
    """None where one of the sides is not known at all."""
    before, after = at - known_from, known_to - at
    shortest = min(length, before, after)
    if shortest < SHORTEST:
        return None
    begins, ends = message("what is known begins there"), message("what is known ends there")
    cut = "" if shortest == length else begins if before <= after else ends
    return Windows(at - shortest, at, at + shortest, cut)
