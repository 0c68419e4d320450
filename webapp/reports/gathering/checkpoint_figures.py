"""How the checkpoints of one job fared in a stretch of time: counts, the longest time without a
recovery point, and the worst of them.
"""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Sum

from ingest.messages import message
from spark_jobs.serving import FAILED_OUTCOMES, OUTCOMES, UNSETTLED_OUTCOMES
from webapp.charts.downsample import worst_in_buckets
from webapp.checkpoints import querysets as facts_of
from webapp.checkpoints.models import CheckpointFact, CheckpointRollup
from webapp.config.row_retention import routine
from webapp.fleet.models import JobCurrent
from webapp.lib.instants import ms_after
from webapp.reports import texts
from webapp.reports.document import CheckpointFigures, ReportedCheckpoint
from webapp.reports.gathering.scope import ReportScope

MOST = 20_000
"""Checkpoints looked at one by one: two weeks at one a minute."""
_MS = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Outline:
    """One checkpoint, as far as counting needs it; the names are those of its columns."""

    pk: int
    checkpoint_id: int
    trigger_time: datetime
    outcome: str
    is_savepoint: bool | None
    end_to_end_ms: int | None
    end_time: datetime | None
    reason: str | None
    checkpointed_bytes: int | None

    @property
    def ended_at(self) -> datetime:
        return self.end_time or ms_after(self.trigger_time, self.end_to_end_ms)

    @property
    def failed(self) -> bool:
        return self.outcome in FAILED_OUTCOMES

    @property
    def badness(self) -> tuple[bool, int]:
        """Savepoints are in the time line one by one."""
        return self.failed, self.end_to_end_ms or 0


def outlines(job: JobCurrent, scope: ReportScope) -> list[Outline]:
    """The newest ``MOST`` of the range, oldest first."""
    facts = facts_of.of_job(job.cluster, job.job_id, scope.start, scope.end)
    rows = facts.order_by("-trigger_time", "-id").values_list(
        *(field.name for field in fields(Outline))
    )[:MOST]
    return [Outline(*row) for row in reversed(rows)]


def figures(
    job: JobCurrent, scope: ReportScope, seen: Sequence[Outline], *, kept_one_by_one: bool
) -> CheckpointFigures:
    """Three queries at most; counts are of all, the rest of those that are looked at.

    ``kept_one_by_one`` is false where completed ones of the range are too old to be still there.
    """
    settings: dict[str, Any] = {
        "interval_ms": job.checkpoint_interval_ms,
        "timeout_ms": job.checkpoint_timeout_ms,
    }
    if not kept_one_by_one:
        return _by_hours(job, scope, settings)
    own = [outline for outline in seen if not outline.is_savepoint]
    counts = facts_of.outcome_counts(
        facts_of.of_job(job.cluster, job.job_id, scope.start, scope.end)
    )
    outcomes = {
        outcome: counts[outcome] for outcome in OUTCOMES if outcome not in UNSETTLED_OUTCOMES
    }
    gap = _longest_gap(job, scope, own)
    # An aborted one is no loss: its job was cancelled, stopped or finished.
    lost = [outline.checkpointed_bytes for outline in seen if outline.failed]
    wasted = [size for size in lost if size is not None]
    return CheckpointFigures(
        settled=counts["total"],
        completed=counts["completed"],
        failed=counts["bad"],
        by_outcome=_failures_first(outcomes),
        savepoints=counts["savepoints"],
        longest_gap_ms=(gap[1] - gap[0]) / _MS if gap else None,
        gap_from=gap[0] if gap else None,
        gap_to=gap[1] if gap else None,
        gap_is_first=gap[2] if gap else False,
        wasted_bytes=sum(wasted) if wasted else None,
        wasted_unknown=len(lost) - len(wasted),
        **settings,
    )


def kept_one_by_one(scope: ReportScope, now: datetime, *, is_recording: bool) -> bool:
    """Whether every checkpoint of the range is still kept, not only those that failed."""
    return is_recording or scope.start >= now - routine()


def points(seen: Sequence[Outline], limit: int) -> tuple[ReportedCheckpoint, ...]:
    """The worst of each slice of time; one query."""
    kept = worst_in_buckets(
        seen, limit, lambda outline: outline.trigger_time, lambda outline: outline.badness
    )
    rows = (
        CheckpointFact.objects.filter(pk__in=[outline.pk for outline in kept])
        .order_by("trigger_time", "id")
        .values(*facts_of.POINT_COLUMNS, "checkpointed_bytes")
    )
    return tuple(_point(row) for row in rows)


def _point(row: dict[str, Any]) -> ReportedCheckpoint:
    slowest = texts.name(row["slowest_vertex_name"])
    if slowest:
        slowest += f"/{row['slowest_subtask']}" if row["slowest_subtask"] is not None else ""
        slowest += (
            message(" on {name:name}", name=texts.name(row["slowest_host"]))
            if row["slowest_host"]
            else ""
        )
    values = facts_of.point_values(row) | {
        "reason": texts.name(row["reason"]) or None,
        "slowest": slowest if slowest and facts_of.is_slowest_known(row) else None,
        "checkpointed_bytes": row["checkpointed_bytes"],
    }
    return ReportedCheckpoint(**values)


def lived(job: JobCurrent, scope: ReportScope) -> tuple[datetime, datetime]:
    """The part of the range in which the job is known to have lived."""
    start = max(scope.start, job.start_time or job.first_seen_at or scope.start)
    known_to = job.end_time or job.last_seen_at or job.as_of
    return start, max(min(scope.end, known_to), start)


def _longest_gap(
    job: JobCurrent, scope: ReportScope, own: Sequence[Outline]
) -> tuple[datetime, datetime, bool] | None:
    """From the last completed checkpoint before the range, or the job's start, to the next and so
    on up to the end of the range.

    The third says that it is the time before the job's first one.
    """
    if job.checkpoint_interval_ms is None and not own:
        return None
    begins, ends = lived(job, scope)
    before = CheckpointFact.objects.filter(
        cluster=job.cluster, job_id=job.job_id, outcome="completed", trigger_time__lt=scope.start
    )
    last = (
        before.exclude(is_savepoint=True)
        .order_by("-trigger_time", "-id")
        .values_list("end_time", flat=True)
        .first()
    )
    is_first = True
    if last is not None and (job.start_time is None or last >= job.start_time):
        begins, is_first = last, False
    instants = [
        begins,
        *sorted(
            outline.ended_at
            for outline in own
            if outline.outcome == "completed" and outline.ended_at <= ends
        ),
        ends,
    ]
    starts_here = is_first and job.start_time is not None and job.start_time >= scope.start
    gaps = [
        (first, second, starts_here and place == 0)
        for place, (first, second) in enumerate(itertools.pairwise(instants))
        if second > first
    ]
    return max(gaps, key=lambda gap: gap[1] - gap[0], default=None)


def _by_hours(job: JobCurrent, scope: ReportScope, settings: dict[str, Any]) -> CheckpointFigures:
    """From what is kept of every hour; a gap cannot be found in it."""
    first = scope.start.replace(minute=0, second=0, microsecond=0)
    hours = CheckpointRollup.objects.filter(
        cluster=job.cluster,
        job_id=job.job_id,
        period="hour",
        period_start__gte=first,
        period_start__lt=scope.end,
    )
    names = ("completed", "declined", "expired", "failed", "subsumed", "aborted")
    sums = hours.aggregate(
        savepoints=Sum("savepoint_count"), **{name: Sum(f"{name}_count") for name in names}
    )
    outcomes = Counter({name: sums[name] or 0 for name in names})
    return CheckpointFigures(
        settled=outcomes.total(),
        completed=outcomes["completed"],
        failed=sum(outcomes[outcome] for outcome in FAILED_OUTCOMES),
        by_outcome=_failures_first(outcomes),
        savepoints=sums["savepoints"] or 0,
        by_hours=True,
        **settings,
    )


def _failures_first(outcomes: Mapping[str, int]) -> dict[str, int]:
    ordered = sorted(outcomes.items(), key=lambda item: (item[0] not in FAILED_OUTCOMES, -item[1]))
    return {outcome: count for outcome, count in ordered if count}
