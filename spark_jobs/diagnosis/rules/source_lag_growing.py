from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from ingest.messages import message
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, NotJudged, Threshold
from spark_jobs.diagnosis.pressure import largest, typical
from spark_jobs.diagnosis.rule import rule, vertex_finding
from spark_jobs.diagnosis.samples import JobWindow, Reals, VertexPast, VertexWindow
from spark_jobs.diagnosis.source_lag import LagTrend, aligned_vertices, lag_trend
from spark_jobs.diagnosis.window_contents import WINDOW_MS

RULE = "source.lag_growing"
LACKING = message("the lag of any source: no connector of this job reports it")
GROWING, BEHIND = f"{RULE}.growing_ms", f"{RULE}.behind_s"
EXCESS = 0.02
"""Share of the records read; rates of two minutes differ so much by chance."""
HELD_RATIO = 0.5
"""Back-pressure for more of the time holds the source back."""


@dataclass(frozen=True)
class Lag:
    """The lag of a source: unread ``records``, else ``event_time`` in ms."""

    vertex: VertexWindow
    kind: Literal["records", "event_time"]
    value: float
    out_per_s: float | None
    trend: LagTrend

    @property
    def behind_s(self) -> float:
        """The lag as time: for records, the time to read them; infinite if none is read."""
        if self.kind == "event_time":
            return self.value / 1000
        return self.value / self.out_per_s if self.out_per_s else float("inf")

    @property
    def excess_share(self) -> float:
        """Excess of arriving over read records, or of the clock over event time."""
        if self.kind == "event_time":
            return self.trend.per_s / 1000
        return self.trend.per_s / self.out_per_s if self.out_per_s else float("inf")


@rule(
    RULE,
    message("Source falls behind"),
    message(
        "The records that a source has not read, or its lag in event time, have grown without a "
        "pause for minutes."
    ),
    fed_by="incidents/2.3.0/growing-lag",
    needs=("vertex_windows",),
    lacking=LACKING,
    thresholds=(
        Threshold(
            GROWING,
            300_000,
            "ms",
            180_000,
            540_000,
            message(
                "Shorter growth is often a batch that arrives at once, a checkpoint or a "
                "collection of garbage."
            ),
        ),
        Threshold(
            BEHIND,
            60,
            "s",
            1,
            86_400,
            message("Less than a minute of records is read again within the next minute."),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    if window.terminal:
        return
    sources = [vertex for vertex in window.vertex_windows if _current_lag(vertex) is not None]
    if not sources:
        raise NotJudged(LACKING)
    for vertex in sources:
        lag = _growing_lag(window, limits, vertex)
        if lag and lag.behind_s >= limits[BEHIND]:
            yield _finding(window, limits, lag)


def _current_lag(vertex: VertexWindow) -> float | None:
    pending = _sum(vertex.pending_records)
    return pending if pending is not None else largest(vertex.emit_lag_ms)


def _growing_lag(window: JobWindow, limits: Limits, vertex: VertexWindow) -> Lag | None:
    """None unless the lag has grown for all of the required time since the last restart, which
    leaves a backlog.
    """
    pending = _sum(vertex.pending_records)
    reporting_subtasks = len(vertex.pending_records) - vertex.pending_records.count(None)
    current = _current_lag(vertex)
    # A source that waits keeps the event-time lag of its last record.
    if current is None or (pending is None and largest(vertex.source_idle_ms)):
        return None
    since_ms = window.at_ms - int(limits[GROWING]) - WINDOW_MS
    earlier = [
        (past.window_start_ms + WINDOW_MS, value)
        for past in window.past
        if past.vertex_id == vertex.vertex_id
        and past.window_start_ms >= max((since_ms, *window.restarts[-1:]))
        and (value := _past_lag(past, reporting_subtasks)) is not None
    ]
    points = [*earlier, (window.at_ms, current)]
    out_per_s = _sum(vertex.records_out_per_s)
    least_per_s = EXCESS * (1000 if pending is None else out_per_s or 0)
    trend = lag_trend(points)
    if (
        trend is None
        or any(
            (later - lag) * 1000 <= least_per_s * (later_ms - at_ms)
            for (at_ms, lag), (later_ms, later) in pairwise(points)
        )
        or window.at_ms - min(at_ms for at_ms, _ in earlier) < limits[GROWING]
    ):
        return None
    return Lag(vertex, "event_time" if pending is None else "records", current, out_per_s, trend)


def _past_lag(past: VertexPast, subtasks: int) -> float | None:
    if subtasks:
        return past.pending_records if past.pending_subtasks == subtasks else None
    return None if past.pending_records is not None else past.emit_lag_ms


def _sum(values: Reals) -> float | None:
    numbers = [value for value in values if value is not None]
    return sum(numbers) if numbers else None


def _finding(window: JobWindow, limits: Limits, lag: Lag) -> Finding:
    vertex_id = lag.vertex.vertex_id
    name = window.brief_name(vertex_id)
    pressure = typical(lag.vertex.backpressured_ratio)
    cause, next_step = _explain(
        name, lag, pressure, is_aligned=vertex_id in aligned_vertices(window)
    )
    return vertex_finding(
        window,
        vertex_id,
        RULE,
        "warning",
        "high" if lag.kind == "records" else "medium",
        title=_title(name, lag),
        cause=cause,
        next_step=next_step,
        evidence=_evidence(limits, lag, pressure),
        data={"vertex_id": vertex_id, "kind": lag.kind, "lag": lag.value, "per_s": lag.trend.per_s},
    )


def _title(name: str, lag: Lag) -> str:
    if lag.kind == "event_time":
        return message(
            "{name:name} falls behind: its event time is {lag_ms:duration} old, and older each "
            "minute",
            name=name,
            lag_ms=lag.value,
        )
    return message(
        "{name:name} falls behind: {pending:count} records are not read, {per_s:decimal1} more "
        "each second",
        name=name,
        pending=lag.value,
        per_s=lag.trend.per_s,
    )


def _explain(name: str, lag: Lag, pressure: float | None, *, is_aligned: bool) -> tuple[str, str]:
    if pressure is not None and pressure > HELD_RATIO:
        return message(
            "{name:name} is back-pressured {held:share} of the time: what comes after it takes "
            "fewer records than arrive.",
            name=name,
            held=pressure,
        ), message(
            "Find what holds it back (the findings on back-pressure name it) and make it faster: "
            "more subtasks, less work for each record. Only then does the source read more."
        )
    if is_aligned:
        return message(
            "Watermark alignment makes splits of {name:name} wait: their event time is ahead of "
            "that of others.",
            name=name,
        ), message(
            "Look for the split or source whose event time is behind: the others wait for it. "
            "If they may drift apart, allow more drift (WatermarkStrategy.withWatermarkAlignment)."
        )
    return _cause_at_source(name, lag), message(
        "Look at the source itself: quotas and fetch sizes of its connector, subtasks without a "
        "partition, a partition with most of the records; more partitions and subtasks read more."
    )


def _cause_at_source(name: str, lag: Lag) -> str:
    if lag.kind == "event_time":
        return message(
            "{name:name} is not back-pressured, and its connector does not report how many records it "
            "has not read: either it reads too little, or what writes to it is late itself.",
            name=name,
        )
    if not lag.out_per_s:
        return message(
            "{name:name} reads nothing, although records arrive, and nothing holds it back.",
            name=name,
        )
    return message(
        "{name:name} reads {out_per_s:decimal1} records a second and {arriving:decimal1} arrive; "
        "nothing after it holds it back.",
        name=name,
        out_per_s=lag.out_per_s,
        arriving=lag.out_per_s + lag.trend.per_s,
    )


def _evidence(limits: Limits, lag: Lag, pressure: float | None) -> Iterator[Evidence]:
    if lag.kind == "records":
        yield Evidence(message("records not read"), lag.value, "records")
        if lag.out_per_s:
            yield limits.evidence(
                message("as time at the rate that it reads at"), lag.behind_s, BEHIND
            )
            yield Evidence(
                message("more arrives than is read"), lag.excess_share, "ratio", EXCESS, ">="
            )
    else:
        yield limits.evidence(message("event-time lag"), lag.behind_s, BEHIND)
        yield Evidence(
            message("event time goes slower than the clock"),
            lag.excess_share,
            "ratio",
            EXCESS,
            ">=",
        )
    if pressure is not None:
        yield Evidence(message("back-pressured"), pressure, "ratio")
