"""What if checkpoints were regional, and the job larger: how often one would complete, by its own
rate of tasks that fail.

Tasks are taken to fail independently, at a rate that is estimated from how many checkpoints
completed. Regions are those of failover.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Q

from spark_jobs.diagnosis.regional_model import (
    PROPOSED_LIMITS,
    Tried,
    at_least,
    regional_share,
    task_success,
)
from spark_jobs.placement.plan import Plan
from spark_jobs.serving import FAILED_OUTCOMES
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobCurrent

HISTORY = timedelta(days=7)
"""Of older ones only those that failed are kept one by one."""
FACTORS = (0.25, 0.5, 1, 2, 4, 8, 16)
MOST_PARALLELISM = 32_768
"""Flink's own limit."""
LEAST_CHECKPOINTS = 20
"""Of a job; from fewer nothing is said of how often its tasks fail one."""


@dataclass(frozen=True)
class Shares:
    """Of checkpoints that would complete: full ones, and those by region."""

    full: float
    by_region: float


@dataclass(frozen=True)
class AtParallelism:
    """``shares`` at the rate of the job, None where that is not known; ``at_least`` by its bound."""

    parallelism: int
    tasks: int
    regions: int
    is_now: bool
    shares: Shares | None
    at_least: Shares | None


@dataclass(frozen=True)
class RegionalCheckpoints:
    """``task_success``: of one task in one checkpoint, None where too few are known or none failed;
    ``at_least``: with 95 % confidence it is no less.
    """

    completed: int
    failed: int
    task_success: float | None
    at_least: float | None
    max_failed_share: float
    max_reuse: int
    curve: Sequence[AtParallelism]


def regional_checkpoints(
    job: JobCurrent,
    plan: Plan,
    regions: int,
    until: datetime,
    limits: tuple[float, int] = PROPOSED_LIMITS,
) -> RegionalCheckpoints:
    """``limits``: share of regions that may fail, and how often in a row one may be carried.

    One query.
    """
    until = min(until, job.last_seen_at or job.as_of)
    taken = CheckpointFact.objects.filter(
        cluster=job.cluster,
        job_id=job.job_id,
        trigger_time__gte=until - HISTORY,
        trigger_time__lte=until,
    )
    counts = taken.exclude(is_savepoint=True).aggregate(
        completed=Count("pk", filter=Q(outcome="completed")),
        failed=Count("pk", filter=Q(outcome__in=FAILED_OUTCOMES)),
    )
    tried = Tried(counts["completed"], counts["failed"], plan.tasks)
    enough = tried.completed + tried.failed >= LEAST_CHECKPOINTS
    own = task_success([tried]) if enough and tried.failed else None
    least = at_least(tried) if enough else None
    now = max(vertex.parallelism for vertex in plan.vertices)
    curve = []
    for parallelism in sorted(
        {min(max(round(now * factor), 1), MOST_PARALLELISM) for factor in FACTORS}
    ):
        tasks = sum(
            max(1, round(vertex.parallelism * parallelism / now)) if vertex.parallelism > 1 else 1
            for vertex in plan.vertices
        )
        parts = min(tasks, max(1, round(regions * parallelism / now))) if regions > 1 else 1
        shares, bounds = (
            None if rate is None else _shares(rate, tasks, parts, *limits) for rate in (own, least)
        )
        curve.append(AtParallelism(parallelism, tasks, parts, parallelism == now, shares, bounds))
    return RegionalCheckpoints(tried.completed, tried.failed, own, least, *limits, curve)


def _shares(rate: float, tasks: int, parts: int, share: float, reuse: int) -> Shares:
    by_region = regional_share(1 - rate ** (tasks / parts), parts, int(share * parts + 1e-9), reuse)
    return Shares(rate**tasks, by_region)
