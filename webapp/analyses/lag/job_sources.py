"""How far the sources of one job are behind, when that is caught up, and what a replay costs: from
the windows of its vertices.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from django.db.models import Max, Q

from spark_jobs.diagnosis.source_lag import CatchUp, LagTrend, Point, catch_up, lag_trend
from webapp.analyses.backend.job_backend import OF_SOURCES, job_backend
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobCurrent, JobStart
from webapp.lib.instants import epoch_ms
from webapp.pressure.models import PressureWindow, VertexHour

LOOK_BACK = timedelta(hours=1)
TREND_OVER = timedelta(seconds=150)
FASTEST_WITHIN = timedelta(days=30)
LEAST_EXCESS = 0.02
"""As the rule source.lag_growing has it by default."""
MEASURED_SHARE = 0.9
"""Of the minutes since a checkpoint, from which on what was read meanwhile is known."""
MOST_WINDOWS = 5_000
_LAGS = ("pending_records", "emit_lag_ms", "fetch_lag_ms", "source_idle_ms")
REPORTS = Q(*((f"{name}__isnull", False) for name in _LAGS), _connector=Q.OR)


@dataclass(frozen=True)
class Source:
    """One source; ``windows`` of the look-back in order of time, ``fastest_per_s`` of the last
    month, as far as known; ``gauges``: what only some connectors have (``OF_SOURCES``).
    ``started_at``: what piled up before that, while the job was down, is no trend.
    """

    vertex_id: str
    name: str
    windows: Sequence[PressureWindow]
    fastest_per_s: float | None
    gauges: Mapping[str, int | None]
    started_at: datetime | None

    @property
    def now(self) -> PressureWindow:
        return self.windows[-1]

    @property
    def has_lag(self) -> bool:
        """Whether its connector reports any."""
        return (
            self.is_of_records
            or self.now.emit_lag_ms is not None
            or self.gauges.get("behind_latest_ms") is not None
        )

    @property
    def is_of_records(self) -> bool:
        return self.now.pending_records is not None

    @property
    def lag(self) -> float | None:
        """In records, else in ms of event time."""
        return self.now.pending_records if self.is_of_records else self.now.emit_lag_ms

    @cached_property
    def trend(self) -> LagTrend | None:
        """Of the newest minutes, as rates change; None of a source that waits, whose event time
        stands still.
        """
        since = self.now.window_start - TREND_OVER
        if self.started_at:
            since = max(since, self.started_at)
        recent = [window for window in self.windows if window.window_start >= since]
        if not self.is_of_records:
            return None if self.now.source_idle_ms else lag_trend(_points(recent, "emit_lag_ms"))
        same = [one for one in recent if one.pending_subtasks == self.now.pending_subtasks]
        return lag_trend(_points(same, "pending_records"))

    @property
    def reads_per_s(self) -> float | None:
        return self.now.records_out_per_s

    @property
    def arrives_per_s(self) -> float | None:
        """What it reads and what its lag grows by."""
        if not self.is_of_records or self.trend is None or self.reads_per_s is None:
            return None
        return max(0.0, self.reads_per_s + self.trend.per_s)

    @property
    def caught_up(self) -> CatchUp | None:
        return None if self.lag is None else catch_up(self.lag, self.trend)

    @property
    def grows(self) -> bool:
        """By more than rates differ by chance."""
        per_s = (self.reads_per_s or 0) if self.is_of_records else 1000
        return self.trend is not None and self.trend.low_per_s > LEAST_EXCESS * per_s


@dataclass(frozen=True)
class Replay:
    """What all sources read since the newest completed checkpoint was triggered, which a restart
    reads again; None is unknown. ``s``: how long that takes at the pace of the fastest minute of a
    month, while more arrives.
    """

    since: datetime
    records: float | None
    s: float | None


@dataclass(frozen=True)
class JobSources:
    """``unmeasured``: names of sources of which no window is known."""

    sources: Sequence[Source]
    unmeasured: Sequence[str]
    replay: Replay | None
    outage_hour_s: float | None
    """How long it takes to catch up after an hour without the job; None where that is unknown."""

    @property
    def reporting(self) -> list[Source]:
        return [source for source in self.sources if source.has_lag]

    @property
    def silent(self) -> list[str]:
        """Names of sources whose connector reports no lag."""
        return [*(source.name for source in self.sources if not source.has_lag), *self.unmeasured]


def job_sources(job: JobCurrent, until: datetime) -> JobSources:
    names = _source_names(job)
    own = {"cluster": job.cluster, "job_id": job.job_id}
    windows = PressureWindow.objects.filter(
        **own, window_start__gt=until - LOOK_BACK, window_start__lte=until
    )
    of_sources = Q(vertex_id__in=names) if names is not None else REPORTS
    by_vertex: dict[str, list[PressureWindow]] = {}
    for window in windows.filter(of_sources).order_by("-window_start")[:MOST_WINDOWS]:
        by_vertex.setdefault(window.vertex_id, []).insert(0, window)
    fastest = dict(
        VertexHour.objects.filter(
            **own, vertex_id__in=by_vertex, period_start__gt=until - FASTEST_WITHIN
        )
        .order_by()
        .values_list("vertex_id")
        .annotate(Max("records_out_per_s_max"))
    )
    figures = {one.vertex_id: one.newest for one in job_backend(job, until).having(OF_SOURCES)}
    started_at = (
        JobStart.objects.filter(**own, running_at__lte=until)
        .order_by("-running_at")
        .values_list("running_at", flat=True)
        .first()
    )
    sources = [
        Source(
            vertex_id,
            (names or {}).get(vertex_id) or of_vertex[-1].vertex_name or vertex_id,
            of_vertex,
            _most((fastest.get(vertex_id), *(one.records_out_per_s for one in of_vertex))),
            figures.get(vertex_id, {}),
            started_at,
        )
        for vertex_id, of_vertex in by_vertex.items()
    ]
    unmeasured = [name for vertex_id, name in (names or {}).items() if vertex_id not in by_vertex]
    arriving = _total(source.arrives_per_s for source in sources)
    spare = _spare_per_s(sources, arriving)
    return JobSources(
        sorted(sources, key=lambda source: -(source.lag or 0)),
        unmeasured,
        None if unmeasured else _replay(job, sources, until, spare),
        arriving * 3600 / spare if arriving is not None and spare else None,
    )


def _source_names(job: JobCurrent) -> dict[str, str] | None:
    """Of the vertices that nothing feeds; None where the plan is not known."""
    graph = job.graph or {}
    edges = graph.get("edges")
    if not graph.get("vertices") or edges is None:
        return None
    fed = {edge.get("target") for edge in edges}
    return {
        one["vertex_id"]: one.get("name") or one["vertex_id"]
        for one in graph["vertices"]
        if one.get("vertex_id") and one["vertex_id"] not in fed
    }


def _replay(
    job: JobCurrent, sources: Sequence[Source], until: datetime, spare: float | None
) -> Replay | None:
    done = CheckpointFact.objects.filter(
        cluster=job.cluster, job_id=job.job_id, outcome="completed", trigger_time__lte=until
    )
    since = (
        done.exclude(is_savepoint=True)
        .order_by("-trigger_time")
        .values_list("trigger_time", flat=True)
        .first()
    )
    if since is None:
        return None
    ends = [source.now.as_of for source in sources]
    read = _total(_read_since(source, since, min(ends)) for source in sources) if ends else None
    return Replay(since, read, read / spare if read is not None and spare else None)


def _read_since(source: Source, since: datetime, until: datetime) -> float | None:
    """None where too little of the time was measured, or it began before the look-back."""
    total_s = (until - since).total_seconds()
    if total_s <= 0:
        return 0.0
    read = measured_s = 0.0
    for window in source.windows:
        begin = max(since, window.window_start)
        end = min(until, window.window_start + timedelta(seconds=window.window_s))
        if end > begin and window.records_out_per_s is not None:
            measured_s += (end - begin).total_seconds()
            read += (end - begin).total_seconds() * window.records_out_per_s
    return read * total_s / measured_s if measured_s >= MEASURED_SHARE * total_s else None


def _spare_per_s(sources: Sequence[Source], arriving: float | None) -> float | None:
    """How much more than arrives was read in the fastest minute; None where it was no more."""
    fastest = _total(source.fastest_per_s for source in sources)
    if fastest is None or arriving is None or fastest <= arriving * 1.02:
        return None
    return fastest - arriving


def _points(windows: Iterable[PressureWindow], column: str) -> list[Point]:
    return [
        (epoch_ms(min(one.as_of, one.window_start + timedelta(seconds=one.window_s))), value)
        for one in windows
        if (value := getattr(one, column)) is not None
    ]


def _total(values: Iterable[float | None]) -> float | None:
    """None where any is unknown, or there are none."""
    known = list(values)
    return (
        None if not known or None in known else sum(value for value in known if value is not None)
    )


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
