"""Statistics of small samples for rules and advice."""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import ceil, exp, lgamma, log, log1p

NEGLIGIBLE = 1e-15


def quantile(values: Iterable[float], q: float) -> float:
    """Nearest-rank quantile: the smallest value that at least ``q`` of all do not exceed.

    Raises ValueError for no values.
    """
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values have no quantile")
    # Rounding first: 0.95 * 20 is 19.000000000000004 in some orders of evaluation.
    return ordered[max(0, ceil(round(q * len(ordered), 9)) - 1)]


def median(values: Iterable[float]) -> float:
    """The middle value, or the mean of the middle two. Raises ValueError for no values."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values have no median")
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def at_least_by_chance(hits: int, tries: int, chance: float) -> float:
    """Probability of ``hits`` or more in ``tries`` independent tries that succeed with ``chance``
    each, 0 to 1.

    Terms are added as exponentials of logarithms: those of thousands of tries fit no float.
    """
    if hits <= 0 or chance >= 1:
        return 1.0 if hits <= tries else 0.0
    if chance <= 0:
        return 0.0
    success, failure = log(chance), log1p(-chance)
    probability = 0.0
    for k in range(hits, tries + 1):
        ways = lgamma(tries + 1) - lgamma(k + 1) - lgamma(tries - k + 1)
        term = exp(ways + k * success + (tries - k) * failure)
        probability += term
        if k > tries * chance and term < NEGLIGIBLE * probability:
            break
    return min(1.0, probability)


def counts_of(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items(), key=lambda item: (-item[1], item[0])))


def largest_group(values: Sequence[str]) -> tuple[str, int]:
    """The most frequent value and its count; of several, the first in the alphabet. Raises
    ValueError for none.
    """
    if not values:
        raise ValueError("no values have no most frequent one")
    return next(iter(counts_of(values).items()))
