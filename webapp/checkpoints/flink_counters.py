"""Flink's own counters of a job's checkpoints beside what Weir knows of them, and why the two
differ.

Flink counts checkpoints and savepoints since its JobManager leads the job. As failed it counts
whatever did not complete: also what a cancel took with it and, since 1.14, triggers that were
refused and never got an id. Its answer may be some seconds old.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Case, Count, F, Q, Sum, When
from django.db.models.functions import TruncDay

from spark_jobs.serving import FAILED_OUTCOMES, OUTCOMES, REFUSAL_KIND
from webapp.checkpoints.models import CheckpointFact, CheckpointRollup
from webapp.fleet.models import JobAnnotation, JobCurrent, LogEvent
from webapp.lib.instants import EARLIEST, begin_of_day, day_of, from_json

ANSWER_OLD_BY = timedelta(seconds=5)
"""Flink answers from a copy of its counters: three seconds by default (``web.refresh-interval``),
and REST is asked part by part.
"""
LONGEST = timedelta(days=1)
"""A checkpoint that was triggered longer before the answer had ended by then."""
DROPPED = ("aborted", "subsumed")


@dataclass(frozen=True)
class Counts:
    """Checkpoints and savepoints; ``None`` is unknown.

    Flink's ``failed`` has all in it that neither completed nor runs.
    """

    completed: int | None = None
    failed: int | None = None
    dropped: int | None = None
    refused: int | None = None
    in_progress: int | None = None
    total: int | None = None
    restored: int | None = None


@dataclass(frozen=True)
class Counters:
    """``at``: when Flink answered.

    ``why`` is one sentence, "" where the two agree or Weir knows none.
    """

    at: datetime
    flink: Counts
    weir: Counts | None
    why: str = ""


def counters_of(job: JobCurrent) -> Counters | None:
    """Five queries; ``None`` where no answer of Flink had counters."""
    reported = job.flink_counts if isinstance(job.flink_counts, Mapping) else {}
    at = from_json(reported.get("at"))
    if at is None:
        return None
    flink = Counts(
        **{
            name: reported.get(name)
            for name in ("completed", "failed", "in_progress", "total", "restored")
        }
    )
    since = begin_of_day(day_of(max(at, EARLIEST + LONGEST) - LONGEST))
    outcomes = _outcomes(job, since, at)
    if not outcomes:
        return Counters(at, flink, None)
    places = Counter[str]()
    for outcome, count in outcomes.items():
        if place := _place(outcome):
            places[place] += count
    restored = JobAnnotation.objects.filter(
        cluster=job.cluster, job_id=job.job_id, kind="restore", at__lte=at
    ).count()
    known = Counts(
        **{
            name: places[name]
            for name in ("completed", "failed", "dropped", "refused", "in_progress")
        },
        restored=restored,
    )
    changed = Q(trigger_time__gt=at) | Q(end_time__gt=at - ANSWER_OLD_BY)
    late = CheckpointFact.objects.filter(
        changed, cluster=job.cluster, job_id=job.job_id, trigger_time__gte=since
    )
    weir = _as_of(known, list(late.values_list("outcome", "trigger_time", "end_time")), at, flink)
    return Counters(at, flink, weir, why(flink, weir))


def _outcomes(job: JobCurrent, since: datetime, at: datetime) -> Counter[str]:
    """How many of each. Days are summed up some minutes late: those from ``since`` on are counted
    again, unless what was summed up is not kept any more.
    """
    of = {"cluster": job.cluster, "job_id": job.job_id}
    days = CheckpointRollup.objects.filter(**of, period="day")
    summed: dict[datetime | None, Counter[str]] = {}
    recent = Case(When(period_start__gte=since, then=F("period_start")))
    sums = {name: Sum(f"{name}_count") for name in OUTCOMES} | {
        REFUSAL_KIND: Sum("preflight_refusals")
    }
    rows: Any = days.annotate(recent=recent).order_by().values("recent").annotate(**sums)
    for row in rows:
        summed[row["recent"]] = Counter({name: row[name] or 0 for name in sums})
    counted: dict[datetime | None, Counter[str]] = defaultdict(Counter)
    facts = CheckpointFact.objects.filter(**of, trigger_time__gte=since).annotate(
        day=TruncDay("trigger_time", tzinfo=UTC)
    )
    for day, outcome, count in (
        facts.order_by().values_list("day", "outcome").annotate(count=Count("pk"))
    ):
        counted[day][outcome] += count
    refused = LogEvent.objects.filter(
        **of, kind=REFUSAL_KIND, checkpoint_id=None, ts__gte=since, ts__lte=at
    )
    for day, count in (
        refused.annotate(day=TruncDay("ts", tzinfo=UTC))
        .order_by()
        .values_list("day")
        .annotate(count=Count("pk"))
    ):
        counted[day][REFUSAL_KIND] += count
    of_days = (
        max(counted[day], summed.get(day, Counter()), key=Counter.total)
        for day in {*summed, *counted}
    )
    return sum(of_days, Counter[str]())


_Fact = tuple[str, datetime, datetime | None]


def _as_of(known: Counts, facts: list[_Fact], at: datetime, flink: Counts) -> Counts:
    """What was known when Flink answered: later ones left out, and what ended since then in
    progress.
    """
    running = flink.in_progress or 0
    for outcome, trigger, end in sorted(facts, key=lambda fact: fact[1], reverse=True):
        name = _place(outcome)
        if name is None or name == "refused":
            continue
        if trigger > at:
            known = _less(known, name)
        elif (
            name != "in_progress"
            and end is not None
            and end > at - ANSWER_OLD_BY
            and (end > at or running > (known.in_progress or 0))
        ):
            known = _less(known, name)
            known = replace(known, in_progress=(known.in_progress or 0) + 1)
    counted = (known.completed, known.failed, known.dropped, known.refused, known.in_progress)
    return replace(known, total=sum(count or 0 for count in counted))


def _place(outcome: str) -> str | None:
    if outcome in FAILED_OUTCOMES:
        return "failed"
    if outcome in DROPPED:
        return "dropped"
    return {
        "completed": "completed",
        "in_progress": "in_progress",
        "preflight": "refused",
        REFUSAL_KIND: "refused",
    }.get(outcome)


def _less(counts: Counts, name: str) -> Counts:
    changed: dict[str, Any] = {name: max((getattr(counts, name) or 0) - 1, 0)}
    return replace(counts, **changed)


def why(flink: Counts, weir: Counts) -> str:
    """Why they differ, as one sentence; "" where they agree."""
    if flink.completed is None or flink.failed is None:
        return ""
    completed = flink.completed - (weir.completed or 0)
    failed = flink.failed - (weir.failed or 0)
    if not completed and not failed:
        return ""
    dropped = min(weir.dropped or 0, max(failed, 0))
    refused = min(weir.refused or 0, max(failed - dropped, 0))
    also = [
        f"{dropped} aborted or superseded" if dropped else "",
        f"{refused} refused before the start" if refused else "",
    ]
    parts = [f"Flink also counts {' and '.join(filter(None, also))} as failed" if any(also) else ""]
    unseen, forgotten = failed - dropped - refused, -failed
    parts.append(
        f"{unseen} more failed ones are known to Flink only, such as refusals that no log has"
        if unseen > 0
        else ""
    )
    parts.append(
        f"{completed} more completed ones are known to Flink only, from before Weir saw the job"
        if completed > 0
        else ""
    )
    gone = " and ".join(
        filter(
            None,
            (
                f"{-completed} completed" if completed < 0 else "",
                f"{forgotten} failed" if forgotten > 0 else "",
            ),
        )
    )
    parts.append(
        f"{gone} ones are no longer in its counters, which start from 0 with each JobManager"
        if gone
        else ""
    )
    return "; ".join(filter(None, parts)) + "."
