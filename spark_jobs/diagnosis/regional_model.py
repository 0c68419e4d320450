"""How many regional checkpoints complete if parts fail independently at one rate. A checkpoint
fails if more than ``allowed`` parts fail, or if a part fails whose older state was already reused
``reuse`` times in a row.
"""

from math import exp, log, log1p, sqrt
from typing import NamedTuple

from spark_jobs.diagnosis.statistics import log_probability

PROPOSED_LIMITS = (0.3, 2)
"""FLIP-600's share of regions that may fail, and how often in a row one may be reused."""
CONFIDENCE = 0.95
_SPREAD = 12
"""Standard deviations beyond which a binomial distribution is numerically zero."""


class Outcomes(NamedTuple):
    """Checkpoints of a job, each of ``tasks`` tasks."""

    completed: int
    failed: int
    tasks: int


def task_success(outcomes: Outcomes) -> float:
    total = outcomes.completed + outcomes.failed
    return float((outcomes.completed / total) ** (1 / outcomes.tasks))


def least_task_success(outcomes: Outcomes) -> float:
    """The lower bound with 95 % confidence: below it, few histories have so few failures."""
    checkpoints = outcomes.completed + outcomes.failed
    low, high = outcomes.failed / checkpoints, 1.0
    for _ in range(60):
        failure = (low + high) / 2
        if at_most(checkpoints, outcomes.failed, failure) > 1 - CONFIDENCE:
            low = failure
        else:
            high = failure
    return float((1 - high) ** (1 / outcomes.tasks))


def regional_share(part_failure: float, parts: int, allowed: int, reuse: int) -> float:
    """The share of checkpoints that complete. ``part_failure``: the probability for one part."""
    if part_failure <= 0:
        return 1.0
    if part_failure >= 1:
        return 0.0
    if not reuse or not allowed:
        return exp(parts * log1p(-part_failure))
    within_limit = at_most(parts, allowed, part_failure)
    if not within_limit:
        return 0.0
    reused_share = part_failure * at_most(parts - 1, allowed - 1, part_failure) / within_limit
    # The share of parts, between two completed checkpoints, that may not be reused again.
    at_limit = reused_share**reuse * (1 - reused_share) / (1 - reused_share ** (reuse + 1))
    tilted = at_limit / (1 - part_failure) / (1 - at_limit + at_limit / (1 - part_failure))
    attempts = 0.0
    for count in range(_most(parts, tilted) + 1):
        completes = at_most(parts - count, allowed, part_failure)
        if not completes:
            return 0.0
        term = (
            log_probability(parts, count, at_limit) - count * log1p(-part_failure) - log(completes)
        )
        if term > 700:
            return 0.0
        attempts += exp(term)
    return min(1.0, 1 / attempts) if attempts else 1.0


def at_most(parts: int, allowed: int, failure: float) -> float:
    """The probability that at most ``allowed`` parts fail."""
    if allowed >= parts or allowed >= _most(parts, failure):
        return 1.0
    if allowed < 0:
        return 0.0
    least = max(0, parts - _most(parts, 1 - failure))
    return min(
        1.0, sum(exp(log_probability(parts, count, failure)) for count in range(least, allowed + 1))
    )


def _most(parts: int, chance: float) -> int:
    mean = parts * chance
    return min(parts, int(mean + _SPREAD * sqrt(mean * (1 - chance)) + _SPREAD) + 1)
