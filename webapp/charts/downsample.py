"""Fewer points that hide nothing bad: of each bucket of time, the worst one stays."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

PointT = TypeVar("PointT")

MOST_POINTS = 2_000
"""Points per trace beyond which a browser gets slow and a screen shows no more."""

MOST_BARS = 480
"""Bars across a chart of about a thousand pixels: two pixels each."""


def worst_in_buckets(
    points: Sequence[PointT],
    limit: int,
    time: Callable[[PointT], datetime],
    badness: Callable[[PointT], Any],
) -> list[PointT]:
    """At most ``limit`` of ``points`` (sorted by ``time``), the one of largest ``badness`` from each equal slice of time.

    Returned as they are where they are few enough. ``badness`` values must compare with each other.
    """
    if len(points) <= limit:
        return list(points)
    start, end = time(points[0]), time(points[-1])
    width = (end - start) / limit or timedelta(milliseconds=1)
    worst: dict[int, PointT] = {}
    for point in points:
        bucket = min(int((time(point) - start) / width), limit - 1)
        if bucket not in worst or badness(point) > badness(worst[bucket]):
            worst[bucket] = point
    return [worst[bucket] for bucket in sorted(worst)]


def note(shown: int, total: int, what: str, kept: str) -> str:
    """What the reader must know about a thinned chart; empty where nothing was left out."""
    return f"{shown:,} of {total:,} {what} drawn: {kept} of each slice of time." if shown < total else ""


def narrowest_gap_ms(times: Iterable[datetime], fallback_ms: float) -> float:
    """Smallest distance of neighbours, for bar widths that do not overlap."""
    ordered = sorted(times)
    gaps = [(later - earlier) / timedelta(milliseconds=1) for earlier, later in itertools.pairwise(ordered)]
    return min((gap for gap in gaps if gap > 0), default=fallback_ms)
