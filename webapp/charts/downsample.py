"""Fewer points that hide nothing bad: of each bucket of time, the worst one stays."""

import itertools
import statistics
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.utils.translation import gettext

PointT = TypeVar("PointT")

WIDEST_BAR_SHARE = 0.035
"""Of the chart: a single bar must not look like a block."""

MOST_POINTS = 1_000
"""Points of a line across a chart of about a thousand pixels; browsers get slow from about two
thousand.
"""

MOST_BARS = 480
"""Bars across a chart of about a thousand pixels: two pixels each."""


def worst_in_buckets(
    points: Sequence[PointT],
    limit: int,
    time: Callable[[PointT], datetime],
    badness: Callable[[PointT], Any],
) -> list[PointT]:
    """At most ``limit`` of ``points`` (sorted by ``time``), the one of largest ``badness`` from
    each equal slice of time.

    Returned as they are where they are few enough. ``badness`` values must compare with each other.
    """
    if len(points) <= limit:
        return list(points)
    start, end = time(points[0]), time(points[-1])
    width = (end - start) / limit or timedelta(milliseconds=1)
    worst: dict[int, PointT] = {}
    for point in points:
        bucket = min((time(point) - start) // width, limit - 1)
        if bucket not in worst or badness(point) > badness(worst[bucket]):
            worst[bucket] = point
    return [worst[bucket] for bucket in sorted(worst)]


def note(shown: int, total: int, what: str, kept: str) -> str:
    """What the reader must know about a thinned chart; empty where nothing was left out."""
    return (
        gettext("%(shown)s of %(total)s %(what)s drawn: %(kept)s of each slice of time.")
        % {"shown": f"{shown:,}", "total": f"{total:,}", "what": what, "kept": kept}
        if shown < total
        else ""
    )


def bar_widths_ms(times: Sequence[datetime], span_ms: float, share: float) -> list[float]:
    """Widths for bars at ``times`` (sorted): ``share`` of the usual distance, less where a
    neighbour is nearer.

    A savepoint often falls right beside a checkpoint; taking the smallest distance for all would
    make hairlines.
    """
    widest_ms = span_ms * WIDEST_BAR_SHARE
    gaps = [
        (later - earlier) / timedelta(milliseconds=1)
        for earlier, later in itertools.pairwise(times)
    ]
    usual_ms = statistics.median(gaps) if gaps else widest_ms / share
    narrowest_ms = max(usual_ms * share / 3, span_ms / 800)
    around = [float("inf"), *gaps, float("inf")] if times else []
    return [
        min(max(min(usual_ms * share, before * share, after * share), narrowest_ms), widest_ms)
        for before, after in itertools.pairwise(around)
    ]
