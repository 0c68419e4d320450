"""How the full state of a job grows: the median of the slopes between all pairs of points (Theil
and Sen) since the last change point. A rate is known from an hour on, a forecast of a day from six
hours on.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import ceil
from typing import Any

from spark_jobs.fold.older_facts import OlderFacts, is_completed_checkpoint
from spark_jobs.fold.older_facts import points as points_of
from spark_jobs.fold.rows import HOUR_MS, Row, largest, percentile, quantile

MIN_POINTS = 5
MIN_SPAN_MS = HOUR_MS
MIN_FORECAST_SPAN_MS = 6 * HOUR_MS
MAX_POINTS = 60
"""1,770 pairs, whether the job has an hour or a month of checkpoints."""

STEP_POINTS = 5
"""A step must part this many points before it from as many after it."""
STEP_RATIO = 0.5
STEP_OVER_USUAL_CHANGE = 10
STEP_MIN_BYTES = 1024 * 1024

FORECAST_H = 24

Point = tuple[int, int, int]
"""End (epoch ms) and id of a completed checkpoint, and its full state in bytes."""


def size_trend(
    facts: Iterable[Row], annotations: Iterable[Row], older: OlderFacts
) -> dict[str, Any] | None:
    """None if the job completed no checkpoint."""
    completed = [fact for fact in facts if is_completed_checkpoint(fact)]
    if not completed and older.completed_as_of is None:
        return None
    points = sorted(
        (at, checkpoint_id, size)
        for at, checkpoint_id, size, _ in (*older.points, *points_of(completed))
    )
    cuts = [row["at"] for row in annotations if row["kind"] in ("restart", "restore")]
    changed_at = max([*_steps(points), *cuts], default=None)
    since = points if changed_at is None else [point for point in points if point[0] >= changed_at]
    return {
        **_slope(since),
        "points": len(since),
        "as_of": largest(older.completed_as_of, *(fact["as_of"] for fact in completed)),
    }


def _steps(points: Sequence[Point]) -> Iterator[int]:
    """Where all points after are beyond all points before."""
    sizes = [size for _, _, size in points]
    changes = [abs(after - before) for before, after in pairwise(sizes)]
    if not changes or max(changes) < STEP_MIN_BYTES:
        return
    usual = percentile(changes, 0.5)
    for place in range(STEP_POINTS, len(points) - STEP_POINTS + 1):
        if changes[place - 1] < STEP_MIN_BYTES:
            continue  # no gap is larger than the change in it
        before, after = sizes[place - STEP_POINTS : place], sizes[place : place + STEP_POINTS]
        gap = max(min(after) - max(before), min(before) - max(after))
        if (
            gap >= STEP_MIN_BYTES
            and gap > STEP_RATIO * max(before)
            and usual is not None
            and gap > STEP_OVER_USUAL_CHANGE * usual
        ):
            yield points[place][0]


_PARTS = {"": 0.5, "_low": 0.1, "_high": 0.9}
_NO_SLOPE: dict[str, Any] = dict.fromkeys(
    (
        *("from_time", "to_time"),
        *(f"bytes_per_h{suffix}" for suffix in _PARTS),
        *(f"forecast_24h{suffix}_bytes" for suffix in _PARTS),
    )
)


def _slope(points: Sequence[Point]) -> dict[str, Any]:
    if not points:
        return _NO_SLOPE
    thinned = points[::-1][:: ceil(len(points) / MAX_POINTS)]
    to_time, from_time = thinned[0][0], thinned[-1][0]
    trend = _NO_SLOPE | {"from_time": from_time, "to_time": to_time}
    if len(points) < MIN_POINTS or to_time - from_time < MIN_SPAN_MS:
        return trend
    # Hours before the newest point, so that the level at 0 is the level now.
    line = sorted(((at - to_time) / HOUR_MS, float(size)) for at, _, size in thinned)
    slopes = [
        (bytes_after - bytes_before) / (after - before)
        for place, (before, bytes_before) in enumerate(line)
        for after, bytes_after in line[place + 1 :]
        if after > before
    ]
    slopes.sort()
    slope = quantile(slopes, 0.5) or 0.0
    level = quantile(sorted(size - slope * hour for hour, size in line), 0.5) or 0.0
    for suffix, part in _PARTS.items():
        bytes_per_h = quantile(slopes, part) or 0.0
        trend[f"bytes_per_h{suffix}"] = bytes_per_h
        if to_time - from_time >= MIN_FORECAST_SPAN_MS:
            trend[f"forecast_24h{suffix}_bytes"] = max(0.0, level + FORECAST_H * bytes_per_h)
    return trend
