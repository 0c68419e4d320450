"""Of all checkpoints those that the size chart draws, without a database."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from webapp.charts.checkpoints import MOST_DRAWN
from webapp.charts.sizes import SizePoint, Sizes


def worst_in_buckets(
    points: Sequence[Any],
    limit: int,
    time: Callable[[Any], datetime],
    badness: Callable[[Any], Any],
) -> list[Any]:
    """Of ``points``, sorted by ``time``, the worst of each of ``limit`` equal slices of time."""
    if len(points) <= limit:
        return list(points)
    start, end = time(points[0]), time(points[-1])
    width = (end - start) / limit or timedelta(milliseconds=1)
    worst: dict[int, Any] = {}
    for point in points:
        bucket = min((time(point) - start) // width, limit - 1)
        if bucket not in worst or badness(point) > badness(worst[bucket]):
            worst[bucket] = point
    return [worst[bucket] for bucket in sorted(worst)]


def drawn_of(points: Sequence[SizePoint]) -> Sizes:
    """``points``: all of them, sorted by time."""
    uploads = [point for point in points if point.checkpointed_bytes is not None]
    own = [point for point in points if not point.is_savepoint]
    full = [point for point in own if point.state_bytes is not None]
    return Sizes(
        worst_in_buckets(
            uploads,
            MOST_DRAWN,
            lambda point: point.trigger_time,
            lambda point: point.checkpointed_bytes or 0,
        ),
        worst_in_buckets(
            full,
            MOST_DRAWN,
            lambda point: point.trigger_time,
            lambda point: point.state_bytes or 0,
        ),
        len(uploads),
        uploads_only=bool(own) and not full,
    )
