"""Figures of one job in a report's range: checkpoints, restarts, outages and exceptions."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Min, Q, Sum
from django.db.models.functions import Coalesce

from spark_jobs.serving import FAILED_OUTCOMES, OUTCOMES, UNSETTLED_OUTCOMES
from webapp.checkpoints import querysets as facts_of
from webapp.checkpoints.models import CheckpointFact, CheckpointRollup
from webapp.checkpoints.outages import outages
from webapp.config.row_retention import routine
from webapp.fleet.models import RESTARTS_OF_MARK, JobAnnotation, JobCurrent, JobException
from webapp.lib.instants import ms_after
from webapp.lib.outage import Outage
from webapp.reports import texts
from webapp.reports.report_scope import ReportScope

MOST_COMPLETED = 20_000
"""Checkpoints searched for the longest gap: two weeks with one a minute."""
MOST_EXCEPTIONS = 8
_MS = timedelta(milliseconds=1)


@dataclass(frozen=True)
class Checkpoints:
    """Settled checkpoints of the range. ``gap``: the longest time without a new recovery point,
    None if there was none or it is unknown; ``gap_is_first``: it is from the job's start to its
    first checkpoint. ``wasted_bytes``: known uploads of failed checkpoints. ``by_hours``: single
    checkpoints are not stored any more, so counts are of whole hours, with savepoints.
    """

    by_outcome: Mapping[str, int] = field(default_factory=dict)
    gap: tuple[datetime, datetime] | None = None
    gap_is_first: bool = False
    wasted_bytes: int | None = None
    by_hours: bool = False

    @property
    def settled(self) -> int:
        return sum(self.by_outcome.values())

    @property
    def failed(self) -> int:
        return sum(self.by_outcome.get(outcome, 0) for outcome in FAILED_OUTCOMES)

    @property
    def longest_gap_ms(self) -> float | None:
        return (self.gap[1] - self.gap[0]) / _MS if self.gap else None


@dataclass(frozen=True)
class Thrown:
    """The newest exception of a name; ``count``: exceptions of this name in the range."""

    newest: JobException
    count: int


@dataclass(frozen=True)
class JobFigures:
    """``signs``: times of the first and the last failed checkpoint, restart or failure."""

    job: JobCurrent
    name: str
    is_recording: bool
    checkpoints: Checkpoints
    restarts: int
    outages: tuple[Outage, ...]
    thrown: tuple[Thrown, ...]
    signs: tuple[datetime, ...]

    @property
    def key(self) -> tuple[str, str]:
        return self.job.key

    @property
    def interval_ms(self) -> int | None:
        return self.job.checkpoint_interval_ms

    @property
    def has_failed(self) -> bool:
        return bool(self.job.state == "FAILED")


def job_figures(
    job: JobCurrent, scope: ReportScope, now: datetime, *, is_recording: bool
) -> JobFigures:
    facts = facts_of.of_job(*job.key, scope.start, scope.end)
    is_stored = is_recording or scope.start >= now - routine()
    marks = JobAnnotation.objects.filter(
        **job.identity, at__range=(scope.start, scope.end)
    ).aggregate(
        restarts=Sum(RESTARTS_OF_MARK, filter=Q(kind="restart")),
        first=Min("at", filter=Q(kind__in=("restart", "failure"))),
        last=Max("at", filter=Q(kind__in=("restart", "failure"))),
    )
    failed = facts.filter(outcome__in=FAILED_OUTCOMES).aggregate(
        first=Min(Coalesce("end_time", "trigger_time")),
        last=Max(Coalesce("end_time", "trigger_time")),
    )
    started_at, seen_at = job.start_time, job.last_seen_at
    # Without logs, a restart between two samples has no annotation: use Flink's count.
    is_whole_life = started_at and seen_at and scope.start <= started_at and seen_at <= scope.end
    signs = sorted(filter(None, (*failed.values(), marks["first"], marks["last"])))
    return JobFigures(
        job=job,
        name=texts.name(job.name, job.job_id),
        is_recording=is_recording,
        checkpoints=_checkpoints(job, scope, facts) if is_stored else _by_hours(job, scope),
        restarts=max(marks["restarts"] or 0, (job.restarts or 0) if is_whole_life else 0),
        outages=outages(job, scope.start, scope.end),
        thrown=_thrown(
            JobException.objects.filter(**job.identity, ts__range=(scope.start, scope.end))
        ),
        signs=(signs[0], signs[-1]) if signs else (),
    )


def _checkpoints(job: JobCurrent, scope: ReportScope, facts: Any) -> Checkpoints:
    counts = facts_of.outcome_counts(facts)
    # An aborted checkpoint is no loss: its job was cancelled, stopped or finished.
    wasted = facts.filter(outcome__in=FAILED_OUTCOMES).aggregate(sum=Sum("checkpointed_bytes"))
    gap, is_first = _longest_gap(job, scope, facts.filter(facts_of.WITHOUT_SAVEPOINTS))
    return Checkpoints(
        by_outcome=_failures_first(
            {name: counts[name] for name in OUTCOMES if name not in UNSETTLED_OUTCOMES}
        ),
        gap=gap,
        gap_is_first=is_first,
        wasted_bytes=wasted["sum"],
    )


def _longest_gap(
    job: JobCurrent, scope: ReportScope, facts: Any
) -> tuple[tuple[datetime, datetime] | None, bool]:
    """``gap`` and ``gap_is_first`` of :class:`Checkpoints`."""
    if job.checkpoint_interval_ms is None and not facts.exists():
        return None, False
    start = max(scope.start, job.start_time or job.first_seen_at or scope.start)
    end = max(min(scope.end, job.end_time or job.last_seen_at or job.as_of), start)
    earlier = CheckpointFact.objects.filter(
        facts_of.WITHOUT_SAVEPOINTS,
        **job.identity,
        outcome="completed",
        trigger_time__lt=scope.start,
    )
    last = earlier.order_by("-trigger_time", "-id").values_list("end_time", flat=True).first()
    starts_here = job.start_time is not None and job.start_time >= scope.start
    if last is not None and (job.start_time is None or last >= job.start_time):
        start, starts_here = last, False
    newest = (
        facts.filter(outcome="completed")
        .order_by("-trigger_time")
        .values_list("end_time", "trigger_time", "end_to_end_ms")
    )
    completed_at = sorted(
        end_time or ms_after(at, ms) for end_time, at, ms in newest[:MOST_COMPLETED]
    )
    within = [at for at in completed_at if at <= end]
    gaps = [pair for pair in itertools.pairwise((start, *within, end)) if pair[1] > pair[0]]
    longest = max(gaps, key=lambda gap: gap[1] - gap[0], default=None)
    return longest, starts_here and longest is not None and longest[0] == start


def _by_hours(job: JobCurrent, scope: ReportScope) -> Checkpoints:
    names = ("completed", "declined", "expired", "failed", "subsumed", "aborted")
    sums = CheckpointRollup.objects.filter(
        **job.identity,
        period="hour",
        period_start__gte=scope.start.replace(minute=0, second=0, microsecond=0),
        period_start__lt=scope.end,
    ).aggregate(**{name: Sum(f"{name}_count") for name in names})
    return Checkpoints(
        by_outcome=_failures_first({name: sums[name] or 0 for name in names}), by_hours=True
    )


def _failures_first(counts: Mapping[str, int]) -> dict[str, int]:
    ordered = sorted(counts.items(), key=lambda item: (item[0] not in FAILED_OUTCOMES, -item[1]))
    return {outcome: count for outcome, count in ordered if count}


def _thrown(exceptions: Any) -> tuple[Thrown, ...]:
    groups = exceptions.order_by().values("exception_name")
    counted = groups.annotate(
        count=Count("pk"), newest=Max("ts"), root=Max("ts", filter=Q(is_root=True))
    )
    ordered = sorted(counted, key=lambda row: (row["root"] is None, -row["count"]))
    thrown = []
    for row in ordered[:MOST_EXCEPTIONS]:
        same_name = exceptions.filter(exception_name=row["exception_name"], ts=row["newest"])
        thrown.append(Thrown(same_name.order_by("-id").first(), row["count"]))
    return tuple(thrown)
