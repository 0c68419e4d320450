"""When a rule fired, as two rows of bars over time: with the thresholds in force, and with others.

Geometry for an SVG.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

WIDTH = 1000.0
_LEAST = 4.0
"""Of a thousand: a minute of a day would be less than a pixel."""


@dataclass(frozen=True)
class Bar:
    x: float
    width: float
    title: str


def bars(
    episodes: Iterable[tuple[datetime, datetime, str]], start: datetime, end: datetime
) -> list[Bar]:
    """``episodes`` as (first, last, words); what lies outside is cut off."""
    span = (end - start).total_seconds() or 1.0
    drawn = []
    for first, last, words in episodes:
        if last < start or first > end:
            continue
        x = WIDTH * (max(first, start) - start).total_seconds() / span
        width = max(_LEAST, WIDTH * (min(last, end) - max(first, start)).total_seconds() / span)
        drawn.append(Bar(round(min(x, WIDTH - width), 2), round(width, 2), words))
    return drawn
