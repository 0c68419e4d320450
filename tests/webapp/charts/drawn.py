"""Of all checkpoints those that the size chart draws, without a database."""

from collections.abc import Sequence

from webapp.charts.checkpoints import MOST_BARS, MOST_POINTS, worst_in_buckets
from webapp.charts.sizes import SizePoint, Sizes


def drawn_of(points: Sequence[SizePoint]) -> Sizes:
    """``points``: all of them, sorted by time."""
    uploads = [point for point in points if point.checkpointed_bytes is not None]
    own = [point for point in points if not point.is_savepoint]
    full = [point for point in own if point.state_bytes is not None]
    return Sizes(
        worst_in_buckets(
            uploads,
            MOST_BARS,
            lambda point: point.trigger_time,
            lambda point: point.checkpointed_bytes or 0,
        ),
        worst_in_buckets(
            full,
            MOST_POINTS,
            lambda point: point.trigger_time,
            lambda point: point.state_bytes or 0,
        ),
        len(uploads),
        uploads_only=bool(own) and not full,
    )
