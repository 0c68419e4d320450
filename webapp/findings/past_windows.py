"""Past minutes of one job as the rules read them, put together again from database and lake: what a what-if judges.

Bounded in minutes, rows and samples. Full state per subtask is not read: a rule on it says that it is unknown.
"""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Q

from spark_jobs.diagnosis import samples
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.window_contents import (
    ANNOTATIONS,
    CHECKPOINTS,
    DETAIL_CHARS,
    EVENT_KINDS,
    EVENTS,
    FAILURES,
    MESSAGE_CHARS,
    PAST_WINDOWS,
    TREND_AHEAD_MS,
    UPLOADS,
    WINDOW_MS,
    Timed,
    as_known_at,
    checkpoint_config,
    is_terminal,
    newest,
)
from webapp.checkpoints.models import CheckpointFact, CheckpointUpload, SizeTrend
from webapp.findings.vertex_samples import Windows, read_vertex_windows
from webapp.fleet.models import JobAnnotation, JobCurrent, JobException, LogEvent
from webapp.pressure.models import PressureWindow
from webapp.storage.recovery import recovery_point_of

MOST_WINDOWS = 10_080
MOST_FACTS, MOST_EVENTS, MOST_PRESSURE = 12_000, 3_000, 30_000
"""A week of minutes, with a checkpoint in each: read within a second, judged in a tenth of one."""
LOOK_BACK = timedelta(hours=2)
FAMILIES_ON_SAMPLES = ("pressure", "data", "watermark")


@dataclass(frozen=True)
class PastWindows:
    """``whole_from`` is later than asked for where the bounds were met."""

    windows: list[JobWindow]
    whole_from: datetime


def read_past(job: JobCurrent, start: datetime, end: datetime, families: Iterable[str]) -> PastWindows:
    """Minutes in which anything happened, oldest first; samples only for rules that read them. Raises what the storage raises."""
    vertices: Windows = {}
    whole_from = start
    if any(family in FAMILIES_ON_SAMPLES for family in families):
        vertices, whole_from = read_vertex_windows(job.cluster, job.job_id, job.parallelism, start, end)
    told = _Told(job, whole_from, end)
    starts = told.starts(vertices)[-MOST_WINDOWS:]
    if len(starts) == MOST_WINDOWS:
        whole_from = max(whole_from, datetime.fromtimestamp(starts[0] / 1000, UTC))
    return PastWindows([told.window(start_ms, vertices.get(start_ms, ())) for start_ms in starts], whole_from)


class _Told:
    """What the database holds of the job around the range, in order of time."""

    def __init__(self, job: JobCurrent, start: datetime, end: datetime) -> None:
        own = {"cluster": job.cluster, "job_id": job.job_id}
        self.job = job
        self.start_ms, self.end_ms = _ms(start) or 0, _ms(end) or 0
        self.newest_ms = min(_ms(job.judged_at or job.as_of) or self.end_ms, self.end_ms)
        facts = CheckpointFact.objects.filter(**own, trigger_time__lte=end).order_by("-trigger_time", "-id")[:MOST_FACTS]
        self.checkpoints = _timed((_checkpoint(fact) for fact in facts), "trigger_time_ms")
        marks = JobAnnotation.objects.filter(**own, at__lte=end).order_by("-at", "-id")[:MOST_FACTS]
        self.annotations = _timed(
            (samples.Annotation(_ms(mark.at) or 0, mark.kind, mark.subject, mark.label, mark.detail or {}) for mark in marks), "at_ms"
        )
        thrown = JobException.objects.filter(**own, ts__lte=end).order_by("-ts", "-id")[:MOST_FACTS]
        self.failures = _timed((_failure(one) for one in thrown), "at_ms")
        telling = Q(kind__in=EVENT_KINDS) | Q(kind="task_state", reason__endswith="-> FAILED")
        logged = LogEvent.objects.filter(telling, **own, ts__gte=start - LOOK_BACK, ts__lte=end).order_by("-ts", "-id")
        self.events = _timed((_event(one) for one in logged[:MOST_EVENTS]), "at_ms")
        measured = PressureWindow.objects.filter(**own, window_start__gte=start - LOOK_BACK, window_start__lte=end)
        self.past = _timed((_past(row) for row in measured.order_by("-window_start").values(*_PAST)[:MOST_PRESSURE]), "window_start_ms")
        read = CheckpointUpload.objects.filter(**own, as_of__lte=end).order_by("-as_of", "-id")[:MOST_FACTS]
        # In the order in which they became known: a window sees none from after it.
        known = [(_ms(one.as_of) or 0, _upload(one)) for one in read][::-1]
        self.uploads: Timed = ([at_ms for at_ms, _ in known], [upload for _, upload in known])
        self.recovery_point = recovery_point_of(job.cluster, job.job_id)
        self.trend = _trend(SizeTrend.objects.filter(**own).first())
        graph = job.graph or {}
        self.vertices = tuple(
            samples.Vertex(one["vertex_id"], one.get("name") or one["vertex_id"], one.get("parallelism"))
            for one in graph.get("vertices") or ()
            if one.get("vertex_id")
        )
        self.edges = tuple(
            samples.Edge(str(one.get("source")), str(one.get("target")), one.get("ship_strategy")) for one in graph.get("edges") or ()
        )
        self.config = checkpoint_config(job.checkpoint_config or {})
        self.states = [(one.at_ms, one.fields.get("to_state")) for one in self.events[1] if one.kind in ("job_state", "job_terminal")]

    def starts(self, vertices: Windows) -> list[int]:
        """Starts of the minutes that something falls into."""
        instants = {*vertices, *(one.trigger_time_ms for one in self.checkpoints[1]), *(one.ended_ms for one in self.checkpoints[1])}
        instants.update(one.window_start_ms for one in self.past[1])
        instants.update(at_ms for timed in (self.annotations, self.failures, self.events) for at_ms in timed[0])
        within = (at_ms for at_ms in instants if self.start_ms <= at_ms <= self.newest_ms)
        return sorted({at_ms // WINDOW_MS * WINDOW_MS for at_ms in within})

    def window(self, start_ms: int, vertices: tuple[samples.VertexWindow, ...]) -> JobWindow:
        end_ms = start_ms + WINDOW_MS
        state = self._state(end_ms)
        return JobWindow(
            cluster=self.job.cluster,
            job_id=self.job.job_id,
            at_ms=min(end_ms, max(self.newest_ms, start_ms)),
            window_start_ms=start_ms,
            job_name=self.job.name,
            state=state,
            terminal=is_terminal(state),
            start_time_ms=_ms(self.job.start_time),
            flink_version=self.job.flink_version,
            vertices=self.vertices,
            edges=self.edges,
            vertex_windows=vertices,
            past=self._past(start_ms),
            checkpoints=tuple(as_known_at(one, end_ms) for one in newest(self.checkpoints, end_ms, CHECKPOINTS)),
            annotations=tuple(newest(self.annotations, end_ms, ANNOTATIONS)),
            failures=tuple(newest(self.failures, end_ms, FAILURES)),
            events=tuple(newest(self.events, end_ms, EVENTS)),
            size_trend=self.trend if self.trend and (self.trend.to_time_ms or 0) < end_ms + TREND_AHEAD_MS else None,
            config=self.config,
            uploads=tuple(newest(self.uploads, end_ms, UPLOADS)),
            recovery_point=self.recovery_point if self.recovery_point and self.recovery_point.audited_at_ms < end_ms else None,
        )

    def _state(self, end_ms: int) -> str | None:
        """Entered last before the end; where no log tells, a job that has begun and not ended is taken to run."""
        ended_ms = _ms(self.job.end_time)
        if (ended_ms is not None and ended_ms < end_ms) or end_ms > self.newest_ms:
            return self.job.state
        entered = [state for at_ms, state in self.states if at_ms < end_ms and state]
        return str(entered[-1]) if entered else "RUNNING"

    def _past(self, start_ms: int) -> tuple[samples.VertexPast, ...]:
        first = bisect_left(self.past[0], start_ms - PAST_WINDOWS * WINDOW_MS)
        return tuple(self.past[1][first : bisect_left(self.past[0], start_ms)])


_TIES = ("vertex_id", "kind", "subject")
"""What orders rows of one instant."""
_PAST = ("vertex_id", "window_start", "watermark_ms", "records_in_per_s", "records_out_per_s", "backpressured_share", "busy_share")
_FACT_NAMES = {field.name for field in CheckpointFact._meta.fields}


def _timed(rows: Iterable[Any], at: str) -> Timed:
    """Instants and rows; they come newest first and leave oldest first."""
    kept = list(rows)[::-1]
    kept.sort(key=lambda row: (getattr(row, at), *(getattr(row, name, None) or "" for name in _TIES)))
    return [getattr(row, at) for row in kept], kept


def _checkpoint(fact: CheckpointFact) -> samples.CheckpointSample:
    values: dict[str, Any] = {}
    for field in fields(samples.CheckpointSample):
        name = field.name.removesuffix("_time_ms") + "_time" if field.name in ("trigger_time_ms", "end_time_ms") else field.name
        if name in _FACT_NAMES:
            value = getattr(fact, name)
            values[field.name] = _ms(value) if isinstance(value, datetime) else tuple(value) if isinstance(value, list) else value
    return samples.CheckpointSample(**{name: value for name, value in values.items() if value is not None})


def _upload(one: CheckpointUpload) -> samples.UploadedFiles:
    same = ("checkpoint_id", "compared_with", "kept_bytes", "same_name_bytes", "new_name_bytes")
    return samples.UploadedFiles(trigger_time_ms=_ms(one.trigger_time) or 0, **{name: getattr(one, name) for name in same})


def _failure(one: JobException) -> samples.JobFailure:
    return samples.JobFailure(_ms(one.ts) or 0, one.exception_name, one.task, one.host, one.taskmanager_id, one.is_root, one.stacktrace)


def _event(one: LogEvent) -> samples.LogEvent:
    same = ("kind", "checkpoint_id", "vertex_id", "vertex_name", "subtask", "attempt", "host", "container", "reason")
    event = samples.LogEvent(at_ms=_ms(one.ts) or 0, **{name: getattr(one, name) for name in same}, fields=one.fields or {})
    return replace(event, message=(one.message or "")[:MESSAGE_CHARS] or None, detail=(one.detail or "")[:DETAIL_CHARS] or None)


def _past(row: dict[str, Any]) -> samples.VertexPast:
    return samples.VertexPast(row.pop("vertex_id"), _ms(row.pop("window_start")) or 0, **row)


def _trend(served: SizeTrend | None) -> samples.SizeTrend | None:
    if served is None:
        return None
    same = [field.name for field in fields(samples.SizeTrend) if not field.name.endswith("_time_ms")]
    return samples.SizeTrend(
        from_time_ms=_ms(served.from_time), to_time_ms=_ms(served.to_time), **{name: getattr(served, name) for name in same}
    )


def _ms(at: datetime | None) -> int | None:
    return None if at is None else round(at.timestamp() * 1000)
