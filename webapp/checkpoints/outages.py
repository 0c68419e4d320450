"""When and how long a job was down, and what it had to process again. At most four queries."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, FloatField, QuerySet, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Cast

from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobAnnotation, JobCurrent, JobStart
from webapp.lib.instants import ms_after
from webapp.lib.outage import Outage

MOST_RESTARTS, MOST_RESTORES = 500, 1_000
RESTORED_WITHIN = timedelta(minutes=10)
"""If the end of a restart is unknown, a later restore belongs to another restart."""
DATED_WITHIN = timedelta(seconds=1)
"""The annotation and the start of one restart may differ by this much."""
_MS = timedelta(milliseconds=1)


@dataclass(frozen=True)
class OutageTotals:
    """``unknown``: the number of outages without a reported end; ``downtime_ms`` is without these."""

    count: int
    unknown: int
    downtime_ms: float


def outages(job: JobCurrent, start: datetime, end: datetime) -> tuple[Outage, ...]:
    """Outages that began in the range, oldest first; only the newest if there are too many."""
    annotations = JobAnnotation.objects.filter(**job.identity, at__gte=start)
    restarts = (
        _outage_begins(annotations.filter(at__lte=end))
        .order_by("-at", "-id")
        .values_list("at", "detail")
    )
    read_outages = [_outage(at, detail or {}) for at, detail in reversed(restarts[:MOST_RESTARTS])]
    if not read_outages:
        return ()
    if any(outage.downtime_ms is None for outage in read_outages):
        read_outages = _ended_by_starts(job, read_outages)
    restore_rows = (
        annotations.filter(kind="restore", at__lte=end + RESTORED_WITHIN)
        .order_by("at", "id")
        .values_list("at", "subject")
    )
    restores = [
        (at, int(subject))
        for at, subject in restore_rows[:MOST_RESTORES]
        if subject.isascii() and subject.isdigit() and len(subject) < 19
    ]
    triggers = _triggers(job, {number for _, number in restores})
    next_begins = [outage.at for outage in read_outages[1:]]
    return tuple(
        _with_restore(outage, until, restores, triggers)
        for outage, until in itertools.zip_longest(read_outages, next_begins)
    )


def outage_totals(job: JobCurrent, start: datetime, end: datetime) -> OutageTotals:
    """Totals of outages that began in the range, with the ends of :func:`outages` if needed."""
    restarts = _outage_begins(
        JobAnnotation.objects.filter(**job.identity, at__gte=start, at__lte=end)
    )
    downtime_ms = Cast(KT("detail__downtime_ms"), FloatField())
    sums = restarts.aggregate(
        count=Count("pk"), known=Count(downtime_ms), downtime_ms=Sum(downtime_ms)
    )
    if sums["known"] < sums["count"] <= MOST_RESTARTS:
        downtimes = [outage.downtime_ms for outage in outages(job, start, end)]
        return OutageTotals(len(downtimes), downtimes.count(None), sum(filter(None, downtimes)))
    return OutageTotals(sums["count"], sums["count"] - sums["known"], sums["downtime_ms"] or 0)


def _outage_begins(annotations: QuerySet[JobAnnotation]) -> QuerySet[JobAnnotation]:
    return annotations.filter(kind="restart").exclude(detail__has_key="outage_began_at")


def _outage(at: datetime, detail: Mapping[str, Any]) -> Outage:
    parts = detail.get("parts_ms") or {}
    downtime_ms = detail.get("downtime_ms")
    # Annotations are dated to the full second.
    at = datetime.fromisoformat(detail["began_at"]) if "began_at" in detail else at
    return Outage(
        at=at,
        until=None if downtime_ms is None else ms_after(at, downtime_ms),
        restarts=detail.get("restarts") or detail.get("count") or 1,
        downtime_ms=downtime_ms,
        at_least_ms=detail.get("downtime_at_least_ms"),
        parts=tuple((name, ms) for name, ms in parts.items() if ms is not None),
    )


def _ended_by_starts(job: JobCurrent, read_outages: Sequence[Outage]) -> list[Outage]:
    starts = JobStart.objects.filter(
        **job.identity,
        total_ms__isnull=False,
        begun_at__gte=read_outages[0].at - DATED_WITHIN,
        begun_at__lte=read_outages[-1].at + DATED_WITHIN,
    ).exclude(kind="start")
    ended_starts = list(starts.defer("detail").order_by("-at")[:MOST_RESTARTS])
    return [
        next(
            (
                _with_end(outage, start)
                for start in ended_starts
                if outage.downtime_ms is None
                and start.begun_at is not None
                and abs(start.begun_at - outage.at) < DATED_WITHIN
            ),
            outage,
        )
        for outage in read_outages
    ]


def _with_end(outage: Outage, start: Any) -> Outage:
    parts = {
        "detect": start.detect_ms,
        "cancel": start.cancel_ms,
        "wait": start.wait_ms,
        "failed_attempts": start.failed_attempts_ms,
        "redeploy": start.slots_ms + start.deploy_ms,
        "restore": start.restore_ms,
    }
    return replace(
        outage,
        until=start.running_at,
        downtime_ms=start.total_ms,
        at_least_ms=None,
        parts=tuple((name, ms) for name, ms in parts.items() if ms is not None),
    )


def _triggers(job: JobCurrent, numbers: set[int]) -> dict[int, datetime]:
    facts = CheckpointFact.objects.filter(
        **job.identity, outcome="completed", checkpoint_id__in=numbers
    )
    return dict(facts.order_by("trigger_time").values_list("checkpoint_id", "trigger_time"))


def _with_restore(
    outage: Outage,
    next_at: datetime | None,
    restores: Sequence[tuple[datetime, int]],
    triggers: Mapping[int, datetime],
) -> Outage:
    latest = outage.until or outage.at + RESTORED_WITHIN
    until = latest if next_at is None else min(latest, next_at)
    number = next(
        (number for at, number in reversed(restores) if outage.at - DATED_WITHIN < at <= until),
        None,
    )
    trigger = triggers.get(number) if number is not None else None
    reprocessed_ms = None if trigger is None or trigger > outage.at else (outage.at - trigger) / _MS
    return replace(outage, restored_id=number, reprocessed_ms=reprocessed_ms)
