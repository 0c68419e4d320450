"""What if checkpoints were regional, and the job larger: how often one would complete, by its own rate of tasks that fail and the fleet's.

Tasks are taken to fail independently, at a rate that is estimated from how many checkpoints completed. Regions are those of failover.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core.cache import cache
from django.db.models import Count, Q

from spark_jobs.diagnosis.regional_model import Tried, regional_share, task_success
from spark_jobs.placement.plan import Plan
from spark_jobs.serving import FAILED_OUTCOMES
from webapp.checkpoints.advice import DEFAULT_FAILED_SHARE, DEFAULT_REUSE
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobCurrent
from webapp.lib.recent_answers import KEPT_S, answer_key

HISTORY = timedelta(days=7)
"""Of older ones only those that failed are kept one by one."""
FACTORS = (0.25, 0.5, 1, 2, 4, 8, 16)
MOST_PARALLELISM = 32_768
"""Flink's own limit."""
LEAST_CHECKPOINTS = 20
"""Of a job; from fewer nothing is said of how often its tasks fail one."""
FLEET_JOBS = 300
"""Those seen last; of each its newest checkpoints."""


@dataclass(frozen=True)
class Shares:
    """Of checkpoints that would complete: full ones, those by region, and those where each subtask is a part by itself."""

    full: float
    by_region: float
    by_subtask: float


@dataclass(frozen=True)
class AtParallelism:
    """``own`` and ``fleet``: at the rate of the job, and at that of the fleet; None where it is not known."""

    parallelism: int
    tasks: int
    regions: int
    is_now: bool
    own: Shares | None
    fleet: Shares | None


@dataclass(frozen=True)
class RegionalCheckpoints:
    """``task_success``: of one task in one checkpoint; ``at_least`` where none failed: with 95 % confidence it is no less."""

    completed: int
    failed: int
    task_success: float | None
    at_least: float | None
    fleet_success: float | None
    fleet_jobs: int
    max_failed_share: float
    max_reuse: int
    curve: Sequence[AtParallelism]


def regional_checkpoints(
    job: JobCurrent, plan: Plan, regions: int, until: datetime, share: float = DEFAULT_FAILED_SHARE, reuse: int = DEFAULT_REUSE
) -> RegionalCheckpoints:
    """``share`` of parts that may fail, ``reuse``: how often in a row one may be carried. Two queries."""
    until = min(until, job.last_seen_at or job.as_of)
    taken = CheckpointFact.objects.filter(
        cluster=job.cluster, job_id=job.job_id, trigger_time__gte=until - HISTORY, trigger_time__lte=until
    )
    counts = taken.exclude(is_savepoint=True).aggregate(
        completed=Count("pk", filter=Q(outcome="completed")), failed=Count("pk", filter=Q(outcome__in=FAILED_OUTCOMES))
    )
    tried = Tried(counts["completed"], counts["failed"], plan.tasks)
    enough = tried.completed + tried.failed >= LEAST_CHECKPOINTS
    own, (fleet, jobs) = task_success([tried]) if enough else None, _fleet()
    # Rule of three.
    at_least = max(1 - 3 / tried.completed, 0) ** (1 / plan.tasks) if own is not None and not tried.failed else None
    now = max(vertex.parallelism for vertex in plan.vertices)
    curve = []
    for parallelism in sorted({min(max(round(now * factor), 1), MOST_PARALLELISM) for factor in FACTORS}):
        tasks = sum(max(1, round(vertex.parallelism * parallelism / now)) if vertex.parallelism > 1 else 1 for vertex in plan.vertices)
        parts = min(tasks, max(1, round(regions * parallelism / now))) if regions > 1 else 1
        by_rate = [None if rate is None else _shares(rate, tasks, parts, share, reuse) for rate in (own, fleet)]
        curve.append(AtParallelism(parallelism, tasks, parts, parallelism == now, *by_rate))
    return RegionalCheckpoints(tried.completed, tried.failed, own, at_least, fleet, jobs, share, reuse, curve)


def _shares(rate: float, tasks: int, parts: int, share: float, reuse: int) -> Shares:
    def of(count: int) -> float:
        return regional_share(1 - rate ** (tasks / count), count, int(share * count + 1e-9), reuse)

    return Shares(rate**tasks, of(parts), of(tasks))


def _fleet() -> tuple[float | None, int]:
    """The rate over the newest checkpoints of jobs that run, and how many jobs that is."""
    key = answer_key("fleet-task-success", ())
    kept = cache.get(key)
    if isinstance(kept, tuple):
        return kept
    rows = JobCurrent.objects.filter(terminal=False, recent_total__gt=0).order_by("-last_seen_at")
    tried = []
    for total, failed, graph in rows.values_list("recent_total", "recent_failed", "graph")[:FLEET_JOBS]:
        tasks = sum(one.get("parallelism") or 0 for one in (graph or {}).get("vertices") or ())
        if tasks and total:
            tried.append(Tried(total - (failed or 0), failed or 0, tasks))
    found = task_success(tried), len(tried)
    cache.set(key, found, KEPT_S)
    return found
