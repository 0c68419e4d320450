"""The lag of a job's sources, when they catch up, and the throughput of its vertices."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.db.models import Avg, Max, Q, Sum

from ingest.messages import list_text, message, plural
from spark_jobs.diagnosis.source_lag import CatchUp, LagTrend, Point, catch_up, lag_trend
from webapp.analyses.backend.job_backend import SOURCE_FIGURES, job_backend
from webapp.analyses.declaration import analysis
from webapp.analyses.document import (
    Block,
    Column,
    Document,
    Fact,
    Facts,
    Inputs,
    Note,
    NotKnown,
    Table,
    Unit,
    Verdict,
)
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobCurrent, JobStart
from webapp.lib.instants import epoch_ms
from webapp.pressure.models import PressureWindow, VertexHour

LOOK_BACK = timedelta(hours=1)
TREND_OVER = timedelta(seconds=150)
FASTEST_WITHIN = timedelta(days=30)
LEAST_EXCESS = 0.02
"""The default of the rule source.lag_growing."""
MEASURED_SHARE = 0.9
"""Records since a checkpoint are known if this share of the time was measured."""
MOST_WINDOWS = 5_000
_LAGS = ("pending_records", "emit_lag_ms", "fetch_lag_ms", "source_idle_ms")
REPORTS_LAG = Q(*((f"{name}__isnull", False) for name in _LAGS), _connector=Q.OR)


@dataclass(frozen=True)
class Source:
    """``windows``: the last hour, by time. ``fastest_per_s``: the highest rate of a month.
    ``gauges``: figures of some connectors. ``started_at``: the job's start; lag before it is no
    trend.
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
        """The lag in records, else in ms of event time."""
        return self.now.pending_records if self.is_of_records else self.now.emit_lag_ms

    @cached_property
    def trend(self) -> LagTrend | None:
        """The trend of the newest minutes; None if unknown or if the source waits for records."""
        since = self.now.window_start - TREND_OVER
        if self.started_at:
            since = max(since, self.started_at)
        recent = [window for window in self.windows if window.window_start >= since]
        if not self.is_of_records:
            return None if self.now.source_idle_ms else lag_trend(_points(recent, "emit_lag_ms"))
        comparable = [
            sample for sample in recent if sample.pending_subtasks == self.now.pending_subtasks
        ]
        return lag_trend(_points(comparable, "pending_records"))

    @property
    def reads_per_s(self) -> float | None:
        return self.now.records_out_per_s

    @property
    def arrives_per_s(self) -> float | None:
        if not self.is_of_records or self.trend is None or self.reads_per_s is None:
            return None
        return max(0.0, self.reads_per_s + self.trend.per_s)

    @property
    def catch_up_time(self) -> CatchUp | None:
        """How long the source needs to catch up; None if unknown or endless."""
        return None if self.lag is None else catch_up(self.lag, self.trend)

    @property
    def grows(self) -> bool:
        """Whether the lag grows by more than chance."""
        per_s = (self.reads_per_s or 0) if self.is_of_records else 1000
        return self.trend is not None and self.trend.low_per_s > LEAST_EXCESS * per_s


@dataclass(frozen=True)
class Replay:
    """``records`` that a restart reads again, and how long that takes at the highest rate."""

    since: datetime
    records: float | None
    duration_s: float | None


@dataclass(frozen=True)
class JobSources:
    """``unmeasured``: names of sources without windows."""

    sources: Sequence[Source]
    unmeasured: Sequence[str]
    replay: Replay | None
    outage_hour_s: float | None
    """How long the sources take to catch up after an hour without the job; None if unknown."""

    @property
    def reporting(self) -> list[Source]:
        return [source for source in self.sources if source.has_lag]

    @property
    def silent(self) -> list[str]:
        return [*(source.name for source in self.sources if not source.has_lag), *self.unmeasured]


def job_sources(job: JobCurrent, until: datetime) -> JobSources:
    names = _source_names(job)
    windows = PressureWindow.objects.filter(
        **job.identity, window_start__gt=until - LOOK_BACK, window_start__lte=until
    )
    of_sources = Q(vertex_id__in=names) if names is not None else REPORTS_LAG
    by_vertex: dict[str, list[PressureWindow]] = {}
    for window in windows.filter(of_sources).order_by("-window_start")[:MOST_WINDOWS]:
        by_vertex.setdefault(window.vertex_id, []).insert(0, window)
    fastest = dict(
        VertexHour.objects.filter(
            **job.identity, vertex_id__in=by_vertex, period_start__gt=until - FASTEST_WITHIN
        )
        .order_by()
        .values_list("vertex_id")
        .annotate(Max("records_out_per_s_max"))
    )
    figures = {
        vertex.vertex_id: vertex.newest for vertex in job_backend(job, until).having(SOURCE_FIGURES)
    }
    started_at = (
        JobStart.objects.filter(**job.identity, running_at__lte=until)
        .order_by("-running_at")
        .values_list("running_at", flat=True)
        .first()
    )
    sources = [
        Source(
            vertex_id,
            (names or {}).get(vertex_id) or vertex_windows[-1].vertex_name or vertex_id,
            vertex_windows,
            _highest(
                (fastest.get(vertex_id), *(sample.records_out_per_s for sample in vertex_windows))
            ),
            figures.get(vertex_id, {}),
            started_at,
        )
        for vertex_id, vertex_windows in by_vertex.items()
    ]
    unmeasured = [name for vertex_id, name in (names or {}).items() if vertex_id not in by_vertex]
    arrives_per_s = _total(source.arrives_per_s for source in sources)
    spare_per_s = _spare_per_s(sources, arrives_per_s)
    return JobSources(
        sorted(sources, key=lambda source: -(source.lag or 0)),
        unmeasured,
        None if unmeasured else _replay(job, sources, until, spare_per_s),
        arrives_per_s * 3600 / spare_per_s if arrives_per_s is not None and spare_per_s else None,
    )


def _source_names(job: JobCurrent) -> dict[str, str] | None:
    """Names of vertices without inputs; None if the plan is unknown."""
    if not job.vertices or (job.graph or {}).get("edges") is None:
        return None
    targets = {edge.get("target") for edge in job.edges}
    return {key: name for key, name in job.vertex_names.items() if key not in targets}


def _replay(
    job: JobCurrent, sources: Sequence[Source], until: datetime, spare_per_s: float | None
) -> Replay | None:
    completed = CheckpointFact.objects.filter(
        **job.identity, outcome="completed", trigger_time__lte=until
    )
    since = (
        completed.exclude(is_savepoint=True)
        .order_by("-trigger_time")
        .values_list("trigger_time", flat=True)
        .first()
    )
    if since is None:
        return None
    ends = [source.now.as_of for source in sources]
    records = _total(_read_since(source, since, min(ends)) for source in sources) if ends else None
    return Replay(
        since, records, records / spare_per_s if records is not None and spare_per_s else None
    )


def _read_since(source: Source, since: datetime, until: datetime) -> float | None:
    """Records read in this time; None if too little of it was measured."""
    total_s = (until - since).total_seconds()
    if total_s <= 0:
        return 0.0
    records = measured_s = 0.0
    for window in source.windows:
        begin = max(since, window.window_start)
        end = min(until, window.window_start + timedelta(seconds=window.window_s))
        if end > begin and window.records_out_per_s is not None:
            measured_s += (end - begin).total_seconds()
            records += (end - begin).total_seconds() * window.records_out_per_s
    return records * total_s / measured_s if measured_s >= MEASURED_SHARE * total_s else None


def _spare_per_s(sources: Sequence[Source], arrives_per_s: float | None) -> float | None:
    """The highest rate minus arrivals; None if unknown or not positive."""
    fastest = _total(source.fastest_per_s for source in sources)
    if fastest is None or arrives_per_s is None or fastest <= arrives_per_s * 1.02:
        return None
    return fastest - arrives_per_s


def _points(windows: Iterable[PressureWindow], column: str) -> list[Point]:
    return [
        (
            epoch_ms(min(window.as_of, window.window_start + timedelta(seconds=window.window_s))),
            value,
        )
        for window in windows
        if (value := getattr(window, column)) is not None
    ]


def _total(values: Iterable[float | None]) -> float | None:
    """The sum; None if a value is unknown or there is none."""
    terms = list(values)
    known = [value for value in terms if value is not None]
    return sum(known) if known and len(known) == len(terms) else None


def _highest(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


FEW_S = 60
"""Seconds of records, or of event time. A source with less lag is not behind."""
NOT_REPORTED = message("How far the sources are behind is unknown: no connector reports it.")
FED_BY = message(
    "Read of a real source: pendingRecords, currentFetchEventTimeLag, currentEmitEventTimeLag, "
    "watermarkLag and sourceIdleTime, which a source of the lab reported on Flink 1.20 and 2.3; of "
    "Flink's Kafka source on 2.3 with a broker that speaks Kafka's protocol (Tansu) also "
    "records-lag-max, committed offsets, watermark alignment, and splits that it pauses. By its "
    "documentation and source code alone: millisBehindLatest of Kinesis."
)


@analysis(
    "source-lag",
    title="Source lag",
    summary="how far its sources are behind, when they have caught up, and what its vertices read",
    tab="pressure",
    in_report=True,
    is_slow=True,
)
def source_lag(job: JobCurrent, inputs: Inputs) -> Document:
    lags = job_sources(job, inputs.until)
    blocks: list[Block] = []
    if lags.silent:
        blocks.append(
            NotKnown(
                message(
                    "Nothing is known of the lag of {names:message}: its connector does not report "
                    "it, or not yet, or Flink is older than 1.14.",
                    names=list_text(lags.silent),
                )
            )
        )
    if lags.sources:
        facts = (*_connector_facts(lags), *_replay_facts(lags), _outage(lags))
        blocks += [_sources(lags), Facts(facts)]
    blocks += [_throughput(job, inputs), Note(FED_BY)]
    return Document(_verdict(lags), tuple(blocks))


def _verdict(lags: JobSources) -> Verdict:
    if not lags.reporting:
        return Verdict("unknown", NOT_REPORTED)
    behind = [source for source in lags.reporting if _is_behind(source)]
    growing = [source for source in behind if source.grows]
    if growing:
        return Verdict(
            "warn",
            message(
                "{names:message} falls behind: {lag:message}, and more each minute.",
                names=list_text(source.name for source in growing),
                lag=_lag_text(growing[0]),
            ),
        )
    if not behind:
        if lags.silent:
            return Verdict(
                "unknown", "The sources whose lag is reported keep up; others report none."
            )
        return Verdict("ok", "Its sources keep up with what arrives.")
    worst = behind[0]
    words = {"name": worst.name, "lag": _lag_text(worst)}
    if worst.catch_up_time is None:
        return Verdict(
            "warn",
            message("{name:name} is behind: {lag:message}; it does not become less.", **words),
        )
    return Verdict(
        "done",
        message(
            "{name:name} is behind and catches up: {lag:message}, about {duration:duration} more.",
            **words,
            duration=worst.catch_up_time.s * 1000,
        ),
    )


def _is_behind(source: Source) -> bool:
    lag = source.lag
    if lag is None:
        return False
    if not source.is_of_records:
        return lag >= FEW_S * 1000 and not source.now.source_idle_ms
    per_s = source.reads_per_s if source.arrives_per_s is None else source.arrives_per_s
    return lag > 0 and (not per_s or lag >= FEW_S * per_s)


def _lag_text(source: Source) -> str:
    if source.is_of_records:
        return plural(
            round(source.lag or 0),
            "{count:count} record is not read",
            "{count:count} records are not read",
        )
    return message("its event time is {lag_ms:duration} old", lag_ms=source.lag or 0)


def _sources(lags: JobSources) -> Table:
    return Table.of(
        lags.sources,
        "sources",
        "Sources",
        (
            Column("source", "Source", value="name"),
            Column(
                "pending_records",
                "Not read",
                "count",
                "records",
                "now.pending_records",
            ),
            Column(
                "most_pending_subtask",
                "Most of them",
                "number",
                "the subtask with the largest lag",
                "now.most_pending_subtask",
            ),
            Column(
                "reporting",
                "Reporting",
                "text",
                "subtasks that report it, of all; of the others nothing is known",
                _reporting,
            ),
            Column(
                "emit_lag_ms",
                "Event-time lag",
                "ms",
                "of its last record",
                "now.emit_lag_ms",
            ),
            Column(
                "fetch_lag_ms",
                "At the fetch",
                "ms",
                "event-time lag when fetched",
                "now.fetch_lag_ms",
            ),
            Column("watermark_lag_ms", "Watermark lag", "ms", value="now.watermark_lag_ms"),
            Column(
                "source_idle_ms",
                "Without a record",
                "ms",
                "the subtask that has waited longest",
                "now.source_idle_ms",
            ),
            Column("reads_per_s", "Reads", "per_s"),
            Column(
                "arrives_per_s",
                "Arrives",
                "per_s",
                "what it reads, and what its lag grows by",
            ),
            Column(
                "caught_up_ms",
                "Caught up in",
                "ms",
                "if both rates stay",
                lambda source: _ms(source.catch_up_time and source.catch_up_time.s),
            ),
            Column(
                "latest_ms",
                "At the latest",
                "ms",
                "empty: without bound",
                lambda source: _ms(source.catch_up_time and source.catch_up_time.latest_s),
            ),
        ),
        note=(
            "A source that waits keeps the event-time lag of its last record. The bound comes from "
            "the slowest tenth of what the lag fell by in the newest three minutes."
        ),
    )


def _reporting(source: Source) -> str | None:
    subtasks = source.now.pending_subtasks
    return None if subtasks is None else f"{subtasks} / {source.now.parallelism or '?'}"


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


def _connector_facts(lags: JobSources) -> Iterator[Fact]:
    for source in lags.sources:
        if source.now.records_lag_max is not None:
            yield Fact(
                "records_lag_max",
                message("Kafka: largest lag of a partition of {name:name}", name=source.name),
                source.now.records_lag_max,
                "count",
                (
                    "records, the most within a minute; what its connector calls pending leaves out "
                    "partitions of which nothing was read yet"
                ),
            )
        if (failed := source.gauges.get("offset_commits_failed")) is not None:
            yield Fact(
                "offset_commits_failed",
                message("Kafka: commits of offsets of {name:name} that failed", name=source.name),
                failed,
                "count",
                message(
                    "{succeeded:count} succeeded. Tools that watch the consumer group see its lag as "
                    "of the newest commit, with a checkpoint.",
                    succeeded=source.gauges.get("offset_commits") or 0,
                ),
            )
        if (uncommitted := source.gauges.get("uncommitted_records")) is not None:
            yield Fact(
                "uncommitted_records",
                message("Kafka: records of {name:name} after its commits", name=source.name),
                uncommitted,
                "count",
                "read, not yet committed: the lag of the consumer group is that much higher",
            )
        gauges: tuple[tuple[str, str, Unit], ...] = (
            (
                "behind_latest_ms",
                message("Kinesis: {name:name} behind its newest record", name=source.name),
                "ms",
            ),
            (
                "alignment_drift_ms",
                message("Watermark of {name:name} ahead of its alignment", name=source.name),
                "ms",
            ),
            (
                "split_paused_ms_per_s",
                message("Longest pause of a split of {name:name}, ms a second", name=source.name),
                "count",
            ),
        )
        for key, name, unit in gauges:
            if (value := source.gauges.get(key)) is not None:
                yield Fact(key, name, value, unit)


def _replay_facts(lags: JobSources) -> Iterator[Fact]:
    replay = lags.replay
    if replay is None:
        return
    yield Fact("replay_since", "Newest completed checkpoint", replay.since, "instant")
    yield Fact(
        "replay_records",
        "A restart reads again",
        None if replay.records is None else round(replay.records),
        "count",
        "records that the sources emitted since that checkpoint",
    )
    yield Fact(
        "replay_ms",
        "Caught up again in",
        _ms(replay.duration_s),
        "ms",
        message(
            "after the restart, if it reads as fast as in its fastest minute of {days:count} days",
            days=FASTEST_WITHIN.days,
        ),
    )


def _outage(lags: JobSources) -> Fact:
    return Fact(
        "outage_hour_ms",
        "After an hour without the job",
        _ms(lags.outage_hour_s),
        "ms",
        "to catch up, likewise; unknown where it never read more than arrives",
    )


def _throughput(job: JobCurrent, inputs: Inputs) -> Table:
    vertices: dict[str, dict[str, Any]] = {vertex_id: {} for vertex_id in job.vertices}
    hour = PressureWindow.objects.filter(
        **job.identity, window_start__gt=inputs.until - LOOK_BACK, window_start__lte=inputs.until
    )
    months = VertexHour.objects.filter(**job.identity, period_start__lte=inputs.until)
    for rows in (
        months.order_by()
        .values("vertex_id")
        .annotate(
            vertex=Max("vertex_name"),
            in_per_s_max=Max("records_in_per_s_max"),
            out_per_s_max=Max("records_out_per_s_max"),
            read=Sum("records_in"),
            emitted=Sum("records_out"),
        ),
        hour.order_by()
        .values("vertex_id")
        .annotate(
            vertex=Max("vertex_name"),
            in_per_s=Avg("records_in_per_s"),
            out_per_s=Avg("records_out_per_s"),
        ),
    ):
        for row in rows:
            vertices.setdefault(row["vertex_id"], {}).update(row)
    in_hour, in_minute = message("mean of the hour before"), message("in a minute")
    whole = message("in all hours that are kept")
    return Table.of(
        [vertex for vertex in vertices.values() if vertex],
        "throughput",
        "Throughput",
        (
            Column(
                "vertex",
                "Vertex",
                value=lambda vertex: vertex["vertex"] or vertex["vertex_id"],
            ),
            Column("in_per_s", "In", "per_s", in_hour),
            Column("out_per_s", "Out", "per_s", in_hour),
            Column("in_per_s_max", "In, most", "per_s", in_minute),
            Column("out_per_s_max", "Out, most", "per_s", in_minute),
            Column("records_in", "Read", "count", whole, "read"),
            Column("records_out", "Emitted", "count", whole, "emitted"),
        ),
        note="Sums are of the minutes that were measured, by the hour, without the rest.",
        empty="No minute of its vertices was measured up to now.",
    )
