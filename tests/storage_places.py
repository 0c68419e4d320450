"""Places of single paths in Flink's layout, by the expressions that Spark reads too."""

import re
from dataclasses import dataclass

from ingest.storage.layout import PLACES, UNKNOWN


@dataclass(frozen=True, slots=True)
class Placed:
    place: str
    job_id: str | None = None
    checkpoint_id: int | None = None


_COMPILED = tuple((place, re.compile(place.pattern)) for place in PLACES)


def place_of(path: str) -> Placed:
    """Of one canonical path."""
    for place, pattern in _COMPILED:
        if place.literal in path and (match := pattern.search(path)):
            return Placed(place.name, match[1] or None, int(match[2]) if place.numbered else None)
    return Placed(UNKNOWN)
