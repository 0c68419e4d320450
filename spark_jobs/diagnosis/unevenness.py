from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

MOST_TOP = 10
REPORTING_SHARE = 0.5


@dataclass(frozen=True)
class Spread:
    """``ratio``: the largest value over the median of the others; None if that is 0. ``top``:
    indexes of outliers, largest first. ``top_share``: their part of the sum.
    """

    largest: float
    ratio: float | None
    top: tuple[int, ...]
    top_share: float


def spread(
    values: Sequence[float | None], ratio: float, least: float, reporting_share: float
) -> Spread | None:
    """None unless the largest is at least ``least``, and ``ratio`` times the others' median."""
    if len(values) < 2:
        return None
    ordered = sorted([value for value in values if value is not None], reverse=True)
    if len(ordered) < 2 or len(ordered) < reporting_share * len(values):
        return None
    if not ordered[0] or ordered[0] < least:
        return None
    largest, typical = ordered[0], median(ordered[1:])
    if largest < ratio * typical:
        return None
    least_hot = max(ratio * typical, least)
    hot = [
        (value, index)
        for index, value in enumerate(values)
        if value is not None and value >= least_hot
    ]
    top = sorted(hot, key=lambda item: (-item[0], item[1]))[:MOST_TOP]
    share = sum(value for value, _ in top) / sum(ordered)
    return Spread(
        largest, largest / typical if typical > 0 else None, tuple(index for _, index in top), share
    )
