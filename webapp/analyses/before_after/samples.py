"""Two samples of one measure, and whether they differ by more than they scatter.

The comparison is by ranks (Mann and Whitney), which wild values do not move: ``above`` is the share
of pairs in which a value after is larger than one before, ties counting half. There is a difference
where that is beyond chance (at the level of one in a hundred), where it holds for most pairs, and
where the medians lie a tenth apart.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from ingest.messages import message
from spark_jobs.diagnosis.statistics import median, quantile

LEAST = 5
"""With fewer values on either side nothing is known."""
BEYOND_CHANCE_Z = 2.576
MOST_PAIRS = 0.75
LEAST_CHANGE = 0.1

HIGHER, LOWER = message("higher"), message("lower")
SAME, TOO_FEW, UNKNOWN = message("no difference"), message("too few"), message("unknown")
DIFFERS = (HIGHER, LOWER)


@dataclass(frozen=True)
class Sample:
    """``low`` to ``high``: eight of ten values. Without values all but the count are None."""

    count: int
    median: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Comparison:
    """``change``: of the medians, as a ratio of the one before; None where that is nothing or not
    known.
    """

    before: Sample
    after: Sample
    state: str
    above: float | None
    change: float | None


def sample(values: Sequence[float]) -> Sample:
    if not values:
        return Sample(0, None, None, None)
    return Sample(len(values), median(values), quantile(values, 0.1), quantile(values, 0.9))


def compared(before: Sequence[float], after: Sequence[float]) -> Comparison:
    sample_before, other = sample(before), sample(after)
    if sample_before.median is None or other.median is None:
        return Comparison(sample_before, other, UNKNOWN, None, None)
    change = other.median / sample_before.median - 1 if sample_before.median else None
    if min(sample_before.count, other.count) < LEAST:
        return Comparison(sample_before, other, TOO_FEW, None, change)
    above = share_above(before, after)
    z = (above - 0.5) / sqrt(
        (sample_before.count + other.count + 1) / (12 * sample_before.count * other.count)
    )
    is_large = sample_before.median != other.median and (
        change is None or abs(change) >= LEAST_CHANGE
    )
    differs = abs(z) >= BEYOND_CHANCE_Z and max(above, 1 - above) >= MOST_PAIRS and is_large
    return Comparison(
        sample_before, other, (HIGHER if above > 0.5 else LOWER) if differs else SAME, above, change
    )


def share_above(before: Sequence[float], after: Sequence[float]) -> float:
    """Of all pairs, those whose value after is the larger one; ties count half."""
    ordered = sorted(before)
    twice = sum(bisect_left(ordered, value) + bisect_right(ordered, value) for value in after)
    return twice / (2 * len(before) * len(after))
