"""Growth of a job's full state: the median of the slopes between all pairs of points (Theil and
Sen) since the last change point. Points that span less than an hour have no rate.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil

from spark_jobs.diagnosis.statistics import slopes
from spark_jobs.fold.older_facts import OlderFacts, is_completed_checkpoint
from spark_jobs.fold.older_facts import points as points_of
from spark_jobs.fold.rows import HOUR_MS, Row, Rows, largest, percentile, quantile

MIN_POINTS = 5
MIN_SPAN_MS = HOUR_MS
MAX_POINTS = 60
"""At most 1,770 pairs, even for a month of checkpoints."""

STEP_POINTS = 5
"""This many sizes before a step are all smaller, or all larger, than as many after it."""
STEP_RATIO = 0.5
STEP_OVER_USUAL_CHANGE = 10
STEP_MIN_BYTES = 1024 * 1024

Point = tuple[int, int, int]
"""End (epoch ms) and id of a completed checkpoint, and its full state in bytes."""


def size_trend(facts: Rows, annotations: Rows, older: OlderFacts) -> Row | None:
    completed = [fact for fact in facts if is_completed_checkpoint(fact)]
    if not completed and older.completed_as_of is None:
        return None
    points = sorted(
        (at, checkpoint_id, size)
        for at, checkpoint_id, size, _ in (*older.points, *points_of(completed))
    )
    cuts = [row["at"] for row in annotations if row["kind"] in ("restart", "restore")]
    changed_at = max([*_steps(points), *cuts], default=None)
    recent = points if changed_at is None else [point for point in points if point[0] >= changed_at]
    return {
        **_slope(recent),
        "points": len(recent),
        "as_of": largest(older.completed_as_of, *(fact["as_of"] for fact in completed)),
    }


def _steps(points: Sequence[Point]) -> Iterator[int]:
    sizes = [size for _, _, size in points]
    changes = [abs(after - before) for before, after in pairwise(sizes)]
    if not changes or max(changes) < STEP_MIN_BYTES:
        return
    usual = percentile(changes, 0.5)
    for index in range(STEP_POINTS, len(points) - STEP_POINTS + 1):
        if changes[index - 1] < STEP_MIN_BYTES:
            continue  # the gap cannot be larger than this change
        before, after = sizes[index - STEP_POINTS : index], sizes[index : index + STEP_POINTS]
        gap = max(min(after) - max(before), min(before) - max(after))
        if (
            gap >= STEP_MIN_BYTES
            and gap > STEP_RATIO * max(before)
            and usual is not None
            and gap > STEP_OVER_USUAL_CHANGE * usual
        ):
            yield points[index][0]


_NO_SLOPE: Row = dict.fromkeys(("from_time", "to_time", "bytes_per_h", "bytes_per_h_low"))


def _slope(points: Sequence[Point]) -> Row:
    if not points:
        return _NO_SLOPE
    thinned = points[::-1][:: ceil(len(points) / MAX_POINTS)]
    to_time, from_time = thinned[0][0], thinned[-1][0]
    trend = _NO_SLOPE | {"from_time": from_time, "to_time": to_time}
    if len(points) < MIN_POINTS or to_time - from_time < MIN_SPAN_MS:
        return trend
    per_h = sorted(slopes(((at, size) for at, _, size in thinned[::-1]), HOUR_MS))
    return trend | {"bytes_per_h": quantile(per_h, 0.5), "bytes_per_h_low": quantile(per_h, 0.1)}
