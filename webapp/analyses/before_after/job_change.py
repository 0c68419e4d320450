"""A job in two windows around an instant, over all its attempts, by a few bounded queries."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import sqrt
from statistics import median
from typing import Any

from ingest.messages import message
from spark_jobs.serving import FAILED_OUTCOMES
from webapp.analyses.document import Unit
from webapp.checkpoints.models import CheckpointFact
from webapp.config.row_retention import routine
from webapp.fleet.attempts import began_at, lived_in, other_attempts, over_at
from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster, JobAnnotation, JobCurrent
from webapp.pressure.models import PressureWindow

LEAST_VALUES = 5
"""With fewer values on one side, the change is unknown."""
BEYOND_CHANCE_Z = 2.576
MOST_PAIRS = 0.75
LEAST_CHANGE = 0.1

HIGHER, LOWER = message("higher"), message("lower")
SAME, TOO_FEW, UNKNOWN = message("no difference"), message("too few"), message("unknown")
DIFFERS = (HIGHER, LOWER)


@dataclass(frozen=True)
class Sample:
    """``median``: None without values."""

    count: int
    median: float | None


@dataclass(frozen=True)
class Comparison:
    """``change`` of the medians, divided by the first; None if the first is 0 or one is unknown."""

    before: Sample
    after: Sample
    state: str
    change: float | None = None


def compare(before: Sequence[float], after: Sequence[float]) -> Comparison:
    first, second = (
        Sample(len(values), median(values) if values else None) for values in (before, after)
    )
    if first.median is None or second.median is None:
        return Comparison(first, second, UNKNOWN)
    change = second.median / first.median - 1 if first.median else None
    if min(first.count, second.count) < LEAST_VALUES:
        return Comparison(first, second, TOO_FEW, change)
    above = share_above(before, after)
    z = (above - 0.5) / sqrt((first.count + second.count + 1) / (12 * first.count * second.count))
    is_large = first.median != second.median and (change is None or abs(change) >= LEAST_CHANGE)
    differs = abs(z) >= BEYOND_CHANCE_Z and max(above, 1 - above) >= MOST_PAIRS and is_large
    state = (HIGHER if above > 0.5 else LOWER) if differs else SAME
    return Comparison(first, second, state, change)


def share_above(before: Sequence[float], after: Sequence[float]) -> float:
    """The share of all pairs in which the later value is larger; ties count half."""
    ordered = sorted(before)
    twice = sum(bisect_left(ordered, value) + bisect_right(ordered, value) for value in after)
    return twice / (2 * len(before) * len(after))


MOST_CHANGES = 200


@dataclass(frozen=True)
class Change:
    """``section``: what the setting belongs to. ``before``, ``after``: None if not set."""

    section: str
    name: str
    before: str | None
    after: str | None


def changes(before: JobCurrent, after: JobCurrent) -> list[Change]:
    """The first ``MOST_CHANGES``, without sections that are in :func:`not_reported`."""
    differences = [
        *_mapping_changes(message("job"), _figures(before), _figures(after)),
        *_mapping_changes(
            message("checkpoints"), before.checkpoint_config, after.checkpoint_config
        ),
        *_mapping_changes(message("configuration"), before.configuration, after.configuration),
        *_mapping_changes(message("vertices"), _parallelisms(before), _parallelisms(after)),
    ]
    return differences[:MOST_CHANGES]


def not_reported(before: JobCurrent, after: JobCurrent) -> list[str]:
    sentences = {
        "configuration": message(
            "Flink did not report the configuration of both attempts, so it is not compared."
        ),
        "checkpoint_config": message(
            "Flink did not report the checkpoint settings of both attempts, so they are not "
            "compared."
        ),
        "graph": message("Flink did not report the plan of both attempts, so it is not compared."),
    }
    return [
        sentence
        for field, sentence in sentences.items()
        if not getattr(before, field) or not getattr(after, field)
    ]


def _figures(job: JobCurrent) -> dict[str, Any]:
    figures = {
        "Flink": job.flink_version,
        "parallelism": job.parallelism,
        "vertices": job.vertex_count,
    }
    return {name: value for name, value in figures.items() if value is not None}


def _mapping_changes(
    section: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> Iterator[Change]:
    if not before or not after:
        return
    for name in sorted({*before, *after}):
        old, new = _text(before.get(name)), _text(after.get(name))
        if old != new:
            yield Change(section, name, old, new)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _parallelisms(job: JobCurrent) -> dict[str, str]:
    """Parallelisms by name, since ids of vertices differ between plans. Names may repeat."""
    by_vertex: dict[str, list[str]] = {}
    names = job.vertex_names
    for key, vertex in job.vertices.items():
        by_vertex.setdefault(names[key], []).append(str(vertex.get("parallelism")))
    return {
        name: message("parallelism {values:name}", values=", ".join(sorted(values)))
        for name, values in by_vertex.items()
    }


LENGTHS = {
    "15m": timedelta(minutes=15),
    "1h": timedelta(hours=1),
    "6h": timedelta(hours=6),
    "24h": timedelta(hours=24),
}
DEFAULT = "1h"
SHORTEST = timedelta(seconds=10)


@dataclass(frozen=True)
class Windows:
    """From ``start`` to ``at``, and to ``end``. ``cut``: why both are shorter than requested."""

    start: datetime
    at: datetime
    end: datetime
    cut: str = ""

    @property
    def length(self) -> timedelta:
        return self.end - self.at


def windows(
    at: datetime, length: timedelta, known_from: datetime, known_to: datetime
) -> Windows | None:
    """Two windows of equal length; None if one side is unknown."""
    before, after = at - known_from, known_to - at
    shortest = min(length, before, after)
    if shortest < SHORTEST:
        return None
    cut = ""
    if shortest == before < length:
        cut = message("what is known begins there")
    elif shortest < length:
        cut = message("what is known ends there")
    return Windows(at - shortest, at, at + shortest, cut)


MOST_FACTS = 5_000
MOST_WINDOWS = 20_000
MOST_MARKS = 50
SAME_MOMENT = timedelta(seconds=2)
"""URLs have whole seconds, and a restore follows closely on its restart."""
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
"""By column: name, and the value that means all of the time or of the pool."""


@dataclass(frozen=True)
class Measure:
    """``vertex``: empty if the measure is of the whole job."""

    name: str
    unit: Unit
    vertex: str
    comparison: Comparison


@dataclass(frozen=True)
class Tally:
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
    """``marks``: events at the instant. ``other_marks``: other events in the windows, which affect
    the figures too. ``windows``: None if one side is unknown. ``changes``: None within an attempt.
    ``first``: the first checkpoint that completed after the instant. ``attempts``: how many lived
    in the windows.
    """

    windows: Windows | None
    marks: Sequence[Mark]
    other_marks: Sequence[Mark]
    before: JobCurrent | None
    after: JobCurrent | None
    changes: Sequence[Change] | None
    measures: Sequence[Measure]
    pressure: Sequence[Measure]
    tallies: Sequence[Tally]
    first: CheckpointFact | None
    unknown: Sequence[str]
    attempts: int


def job_change(job: JobCurrent, at: datetime, length: timedelta, now: datetime) -> JobChange:
    attempts = [job, *other_attempts(job)]
    starts = list(filter(None, map(began_at, attempts)))
    ends = list(filter(None, map(over_at, attempts)))
    # Rows of recordings are never deleted.
    is_recording = Cluster.objects.filter(name=job.cluster, kind=ClusterKind.RECORDING).exists()
    deleted_to = None if is_recording else now - routine()
    known_from = max(filter(None, (min(starts, default=at), deleted_to)))
    span = windows(at, length, known_from, min(max(ends, default=now), now))
    job_ids = [
        job.job_id for job in attempts if span is None or lived_in(job, span.start, span.end)
    ]
    span_or_moment = (span.start, span.end) if span else (at - SAME_MOMENT, at + SAME_MOMENT)
    marks = _marks(job.cluster, job_ids, *span_or_moment)
    before, after = _attempts(attempts, at)
    marks_at = [mark for mark in marks if abs(mark.at - at) <= SAME_MOMENT]
    unknown = _why_unknown(span, at, deleted_to)
    if before and after and before.pk != after.pk:
        unknown += not_reported(before, after)
    facts = _facts(job.cluster, job_ids, span) if span else []
    pressure, samples_cut = _pressure(job.cluster, job_ids, span) if span else ([], False)
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
        marks_at,
        [mark for mark in marks if mark not in marks_at][:MOST_MARKS],
        before,
        after,
        changes(before, after) if before and after and before.pk != after.pk else None,
        _measures(*sides),
        pressure,
        _tallies(sides, marks, at) if span else (),
        next(filter(_is_completed, sides[1]), None),
        unknown,
        len(job_ids),
    )


def marks_of(job: JobCurrent, start: datetime, end: datetime) -> list[Mark]:
    """Events of the job, the newest first."""
    job_ids = [attempt.job_id for attempt in (job, *other_attempts(job))]
    return _marks(job.cluster, job_ids, start, end)[::-1]


def _marks(cluster: str, job_ids: Sequence[str], start: datetime, end: datetime) -> list[Mark]:
    rows = JobAnnotation.objects.filter(
        cluster=cluster, job_id__in=job_ids, at__gte=start, at__lte=end
    ).order_by("-at", "-id")
    marks = rows.values_list("at", "kind", "label", "subject", "job_id")[: 2 * MOST_MARKS]
    return [
        Mark(at, kind, label or subject or kind, job_id)
        for at, kind, label, subject, job_id in reversed(marks)
    ]


def _attempts(
    attempts: Sequence[JobCurrent], at: datetime
) -> tuple[JobCurrent | None, JobCurrent | None]:
    """The last attempt before the instant and the first after it; they may be the same."""
    by_begin = sorted(
        (job for job in attempts if began_at(job)), key=lambda job: (began_at(job), job.pk)
    )
    before = [job for job in by_begin if (began_at(job) or at) < at - SAME_MOMENT]
    after = [job for job in by_begin if (over_at(job) or at) > at + SAME_MOMENT]
    pks = (before[-1].pk if before else None, after[0].pk if after else None)
    rows = {job.pk: job for job in JobCurrent.objects.filter(pk__in=[pk for pk in pks if pk])}
    first, second = (rows.get(pk) if pk else None for pk in pks)
    return first, second


def _facts(cluster: str, job_ids: Sequence[str], span: Windows) -> list[CheckpointFact]:
    fields = ("job_id", "checkpoint_id", "trigger_time", "outcome", "is_savepoint", *MEASURES)
    rows = CheckpointFact.objects.filter(
        cluster=cluster,
        job_id__in=job_ids,
        trigger_time__gte=span.start,
        trigger_time__lte=span.end,
    )
    return list(rows.only(*fields).order_by("trigger_time", "id")[:MOST_FACTS])


def _is_completed(fact: CheckpointFact) -> bool:
    return fact.outcome == "completed" and not fact.is_savepoint


def _measures(*sides: Sequence[CheckpointFact]) -> list[Measure]:
    completed = [list(filter(_is_completed, side)) for side in sides]
    measures = []
    for field, (name, unit) in MEASURES.items():
        values = [
            [value for fact in side if (value := getattr(fact, field)) is not None]
            for side in completed
        ]
        if any(values):
            measures.append(Measure(name, unit, "", compare(*values)))
    return measures


def _pressure(cluster: str, job_ids: Sequence[str], span: Windows) -> tuple[list[Measure], bool]:
    rows = PressureWindow.objects.filter(
        cluster=cluster, job_id__in=job_ids, window_start__gte=span.start, window_start__lt=span.end
    )
    pressures = rows.order_by("window_start").values_list(
        "vertex_name", "vertex_id", "window_start", "window_s", *PRESSURE
    )[: MOST_WINDOWS + 1]
    sides: dict[tuple[str, str], tuple[list[float], list[float]]] = {}
    count = 0
    for name, vertex_id, start, lasts_s, *values in pressures:
        count += 1
        if start < span.at < start + timedelta(seconds=lasts_s):
            continue  # belongs to both sides
        for field, value in zip(PRESSURE, values, strict=True):
            if value is not None:
                side = sides.setdefault((name or vertex_id, field), ([], []))[start >= span.at]
                side.append(value / PRESSURE[field][1])
    measures = [
        Measure(PRESSURE[field][0], "share", vertex, compare(*values))
        for (vertex, field), values in sides.items()
    ]
    return measures, count > MOST_WINDOWS


def _tallies(
    sides: tuple[Sequence[CheckpointFact], Sequence[CheckpointFact]],
    marks: Sequence[Mark],
    at: datetime,
) -> list[Tally]:
    restarts = [mark.at < at for mark in marks if mark.kind == "restart"]
    return [
        Tally(message("checkpoints completed"), *(sum(map(_is_completed, side)) for side in sides)),
        Tally(
            message("checkpoints failed"),
            *(sum(fact.outcome in FAILED_OUTCOMES for fact in side) for side in sides),
        ),
        Tally(message("restarts"), restarts.count(True), restarts.count(False)),
    ]


def _why_unknown(span: Windows | None, at: datetime, deleted_to: datetime | None) -> list[str]:
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
