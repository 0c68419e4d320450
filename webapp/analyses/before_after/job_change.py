"""A job in two windows around an instant, under all its ids. A handful of queries, bounded."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ingest.messages import message
from spark_jobs.serving import FAILED_OUTCOMES
from webapp.analyses.before_after.configuration_changes import Change, changes, not_reported
from webapp.analyses.before_after.samples import Comparison, compared
from webapp.analyses.before_after.windows import Windows, windows
from webapp.analyses.document import Unit
from webapp.checkpoints.models import CheckpointFact
from webapp.config.row_retention import routine
from webapp.fleet.attempts import began_at, lived_in, other_attempts, over_at
from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster, JobAnnotation, JobCurrent
from webapp.pressure.models import PressureWindow

MOST_FACTS = 5_000
MOST_WINDOWS = 20_000
MOST_MARKS = 50
SAME_MOMENT = timedelta(seconds=2)
"""Addresses carry whole seconds, and a restart and its restore lie close together."""
MEASURES: dict[str, tuple[str, Unit]] = {
    "end_to_end_ms": (message("end to end"), "ms"),
    "start_delay_ms": (message("start delay"), "ms"),
    "alignment_ms": (message("alignment"), "ms"),
    "sync_ms": (message("sync"), "ms"),
    "async_ms": (message("async"), "ms"),
    "state_bytes": (message("full state"), "bytes"),
    "checkpointed_bytes": (message("uploaded"), "bytes"),
    "persisted_bytes": (message("in-flight data"), "bytes"),
}
PRESSURE = {
    "backpressured_ms_per_s_mean": (message("back-pressured"), 1000),
    "busy_ms_per_s_mean": (message("busy"), 1000),
    "in_pool_mean": (message("input buffers"), 1),
}
"""Its name, and what of it is all of the time, or of the pool."""


@dataclass(frozen=True)
class Measure:
    """``vertex`` is empty where it is of the whole job."""

    name: str
    unit: Unit
    vertex: str
    comparison: Comparison


@dataclass(frozen=True)
class Tally:
    """How often something happened in each window."""

    name: str
    before: int
    after: int


@dataclass(frozen=True)
class Mark:
    at: datetime
    kind: str
    label: str
    job_id: str


@dataclass(frozen=True)
class JobChange:
    """``marks``: what happened at the instant; ``others``: what else did in the windows, which is
    in the figures too. ``windows`` is None where one side is not known. ``changes`` is None where
    one id goes on, whose settings Flink does not change. ``uploaded``: bytes in both windows, None
    where none completed. ``first``: the first checkpoint that completed after it.
    """

    windows: Windows | None
    marks: Sequence[Mark]
    others: Sequence[Mark]
    before: JobCurrent | None
    after: JobCurrent | None
    changes: Sequence[Change] | None
    measures: Sequence[Measure]
    pressure: Sequence[Measure]
    tallies: Sequence[Tally]
    uploaded: tuple[int | None, int | None]
    first: CheckpointFact | None
    unknown: Sequence[str]


def job_change(job: JobCurrent, at: datetime, length: timedelta, now: datetime) -> JobChange:
    line = [job, *other_attempts(job)]
    begins = [began for job in line if (began := began_at(job))]
    ends = [over for job in line if (over := over_at(job))]
    # Of recordings nothing is deleted.
    is_recording = Cluster.objects.filter(name=job.cluster, kind=ClusterKind.RECORDING).exists()
    deleted_to = None if is_recording else now - routine()
    known_from = max(filter(None, (min(begins, default=at), deleted_to)))
    span = windows(at, length, known_from, min(max(ends, default=now), now))
    ids = [job.job_id for job in line if span is None or lived_in(job, span.start, span.end)]
    around = (span.start, span.end) if span else (at - SAME_MOMENT, at + SAME_MOMENT)
    marks = _marks(job.cluster, ids, *around)
    before, after = _attempts(line, at)
    own_marks = [mark for mark in marks if abs(mark.at - at) <= SAME_MOMENT]
    unknown = _not_known(span, at, deleted_to)
    if before and after and before.pk != after.pk:
        unknown += not_reported(before, after)
    facts = _facts(job.cluster, ids, span) if span else []
    pressure, samples_cut = _pressure(job.cluster, ids, span) if span else ([], False)
    if span and not pressure:
        unknown.append(message("No minute of buffer pressure is known in both windows."))
    if samples_cut or len(facts) >= MOST_FACTS:
        unknown.append(message("There are more rows than are compared: choose shorter windows."))
    sides = (
        [fact for fact in facts if fact.trigger_time < at],
        [fact for fact in facts if fact.trigger_time >= at],
    )
    return JobChange(
        span,
        own_marks,
        [mark for mark in marks if mark not in own_marks][:MOST_MARKS],
        before,
        after,
        changes(before, after) if before and after and before.pk != after.pk else None,
        _measures(*sides),
        pressure,
        _tallies(sides, marks, at) if span else (),
        (_uploaded(sides[0]), _uploaded(sides[1])),
        next(filter(_is_own, sides[1]), None),
        unknown,
    )


def marks_of(job: JobCurrent, start: datetime, end: datetime) -> list[Mark]:
    """What may be asked about, the newest first."""
    return _marks(
        job.cluster, [job.job_id, *(one.job_id for one in other_attempts(job))], start, end
    )[::-1]


def _marks(cluster: str, ids: Sequence[str], start: datetime, end: datetime) -> list[Mark]:
    rows = JobAnnotation.objects.filter(
        cluster=cluster, job_id__in=ids, at__gte=start, at__lte=end
    ).order_by("-at", "-id")
    marks = rows.values_list("at", "kind", "label", "subject", "job_id")[: 2 * MOST_MARKS]
    return [
        Mark(at, kind, label or subject or kind, job_id)
        for at, kind, label, subject, job_id in reversed(marks)
    ]


def _attempts(
    line: Sequence[JobCurrent], at: datetime
) -> tuple[JobCurrent | None, JobCurrent | None]:
    begun = sorted((job for job in line if began_at(job)), key=lambda job: (began_at(job), job.pk))
    before = [job for job in begun if (began_at(job) or at) < at - SAME_MOMENT]
    after = [job for job in begun if (over_at(job) or at) > at + SAME_MOMENT]
    pks = (before[-1].pk if before else None, after[0].pk if after else None)
    rows = {job.pk: job for job in JobCurrent.objects.filter(pk__in=[pk for pk in pks if pk])}
    first, second = (rows.get(pk) if pk else None for pk in pks)
    return first, second


def _facts(cluster: str, ids: Sequence[str], span: Windows) -> list[CheckpointFact]:
    fields = ("job_id", "checkpoint_id", "trigger_time", "outcome", "is_savepoint", *MEASURES)
    rows = CheckpointFact.objects.filter(
        cluster=cluster, job_id__in=ids, trigger_time__gte=span.start, trigger_time__lte=span.end
    )
    return list(rows.only(*fields).order_by("trigger_time", "id")[:MOST_FACTS])


def _is_own(fact: CheckpointFact) -> bool:
    return fact.outcome == "completed" and not fact.is_savepoint


def _measures(*sides: Sequence[CheckpointFact]) -> list[Measure]:
    own = [list(filter(_is_own, side)) for side in sides]
    measures = []
    for field, (name, unit) in MEASURES.items():
        values = [
            [value for fact in side if (value := getattr(fact, field)) is not None] for side in own
        ]
        if any(values):
            measures.append(Measure(name, unit, "", compared(*values)))
    return measures


def _pressure(cluster: str, ids: Sequence[str], span: Windows) -> tuple[list[Measure], bool]:
    rows = PressureWindow.objects.filter(
        cluster=cluster, job_id__in=ids, window_start__gte=span.start, window_start__lt=span.end
    )
    pressures = rows.order_by("window_start").values_list(
        "vertex_name", "vertex_id", "window_start", "window_s", *PRESSURE
    )[: MOST_WINDOWS + 1]
    sides: dict[tuple[str, str], tuple[list[float], list[float]]] = {}
    count = 0
    for name, vertex_id, start, lasts_s, *values in pressures:
        count += 1
        if start < span.at < start + timedelta(seconds=lasts_s):
            continue
        for field, value in zip(PRESSURE, values, strict=True):
            if value is not None:
                side = sides.setdefault((name or vertex_id, field), ([], []))[start >= span.at]
                side.append(value / PRESSURE[field][1])
    measures = [
        Measure(PRESSURE[field][0], "share", vertex, compared(*values))
        for (vertex, field), values in sides.items()
    ]
    return measures, count > MOST_WINDOWS


def _tallies(
    sides: tuple[Sequence[CheckpointFact], Sequence[CheckpointFact]],
    marks: Sequence[Mark],
    at: datetime,
) -> list[Tally]:
    restarts = [
        [mark for mark in marks if mark.kind == "restart" and (mark.at < at) is early]
        for early in (True, False)
    ]
    return [
        Tally(message("checkpoints completed"), *(sum(map(_is_own, side)) for side in sides)),
        Tally(
            message("checkpoints failed"),
            *(sum(fact.outcome in FAILED_OUTCOMES for fact in side) for side in sides),
        ),
        Tally(
            message("savepoints"),
            *(sum(bool(fact.is_savepoint) for fact in side) for side in sides),
        ),
        Tally(message("restarts"), *(len(side) for side in restarts)),
    ]


def _uploaded(side: Sequence[CheckpointFact]) -> int | None:
    sizes = [
        fact.checkpointed_bytes
        for fact in side
        if fact.outcome == "completed" and fact.checkpointed_bytes is not None
    ]
    return sum(sizes) if sizes else None


def _not_known(span: Windows | None, at: datetime, deleted_to: datetime | None) -> list[str]:
    if deleted_to and at <= deleted_to:
        return [
            message(
                "Routine checkpoints and pressure are deleted after {days:number} days: there "
                "is no data left to compare for that time.",
                days=routine().days,
            )
        ]
    if span is None:
        return [
            message(
                "There is no data for one of the sides: it is before the job began, or after "
                "the last data."
            )
        ]
    return []
