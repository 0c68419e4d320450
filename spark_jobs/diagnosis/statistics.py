from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import ceil, exp, inf, lgamma, log, log1p

NEGLIGIBLE = 1e-15


def quantile(values: Iterable[float], q: float) -> float:
    """Nearest-rank quantile: the smallest value that at least ``q`` of all do not exceed. Raises
    ValueError for no values.
    """
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values have no quantile")
    # Rounding first: 0.95 * 20 is 19.000000000000004 in some orders of evaluation.
    return ordered[max(0, ceil(round(q * len(ordered), 9)) - 1)]


def slopes(points: Iterable[tuple[int, float]], per_x: int = 1) -> list[float]:
    """Change per ``per_x`` between all pairs of points (x, y) of different x. Their median is the
    trend by Theil and Sen.
    """
    return [
        (other_y - y) * per_x / (other_x - x)
        for (x, y), (other_x, other_y) in combinations(points, 2)
        if other_x != x
    ]


def log_probability(tries: int, hits: int, chance: float) -> float:
    """Logarithm of a binomial probability: for thousands of tries no float holds it."""
    if chance <= 0 or chance >= 1:
        certain_hits = tries if chance >= 1 else 0
        return 0.0 if hits == certain_hits else -inf
    ways = lgamma(tries + 1) - lgamma(hits + 1) - lgamma(tries - hits + 1)
    return ways + hits * log(chance) + (tries - hits) * log1p(-chance)


def at_least_by_chance(hits: int, tries: int, chance: float) -> float:
    """Probability of ``hits`` or more in independent tries that succeed with ``chance`` each."""
    if hits <= 0:
        return 1.0
    probability = 0.0
    for count in range(hits, tries + 1):
        term = exp(log_probability(tries, count, chance))
        probability += term
        if count > tries * chance and term < NEGLIGIBLE * probability:
            break
    return min(1.0, probability)


def counts_of(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items(), key=lambda item: (-item[1], item[0])))


def largest_group(values: Sequence[str]) -> tuple[str, int]:
    """The most frequent value and its count. If counts are equal, the alphabet decides."""
    return next(iter(counts_of(values).items()))
