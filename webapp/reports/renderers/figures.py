"""The charts of a document, as plotly figures whose colours are tokens.

From its data alone; nobody is asked.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

import plotly.graph_objects as go

from webapp.charts import answers
from webapp.charts.annotations import Annotation
from webapp.charts.checkpoints import CheckpointBar, timeline
from webapp.charts.pressure import VertexPressure, pressure_map
from webapp.charts.sizes import SizePoint, drawn_of, size_over_time
from webapp.charts.theme import CRIT, OK, figure, plot_time
from webapp.lib.checkpoint_point import CheckpointPoint
from webapp.reports.document import Document, JobStory, ReportedCheckpoint, ReportedFinding

MOST_JOBS_DRAWN = 4
"""The worst: fifty jobs of charts are a file nobody opens."""
_AIR = 0.02
_DAYS_PX = 220


@dataclass(frozen=True)
class Chart:
    """``key`` is unique in its document; ``figure`` what plotly.js takes; ``height_px`` is known
    before it is drawn.
    """

    key: str
    title: str
    about: str
    note: str
    figure: dict[str, Any]

    @property
    def height_px(self) -> int:
        return int(self.figure["layout"].get("height", 300))


@dataclass(frozen=True)
class JobCharts:
    job_name: str
    charts: tuple[Chart, ...]


def charts_of(document: Document) -> list[JobCharts]:
    """Of the worst jobs, each with its own time: from a little before its first sign of life in the
    range to a little after the last.
    """
    drawn = [
        JobCharts(story.name, tuple(_of_job(number, story, document)))
        for number, story in enumerate(document.stories[:MOST_JOBS_DRAWN])
    ]
    days = [JobCharts("", (_days(document),))] if document.days else []
    return [*days, *(charts for charts in drawn if charts.charts)]


def _of_job(number: int, story: JobStory, document: Document) -> Iterator[Chart]:
    start, end = _range(story, document)
    events = _events(story, document.findings)
    if story.points:
        bars = [_bar(point) for point in story.points]
        drawn, note = timeline(bars, start, end, story.checkpoints.timeout_ms, events)
        about = "duration by phase of the slowest subtask; ● completed ✕ failed ◆ savepoint"
        yield _chart(f"checkpoints-{number}", "Checkpoints", about, drawn, note)
    sizes = [
        _size(point) for point in story.points if point.outcome == "completed" and _is_sized(point)
    ]
    if len(sizes) > 1:
        drawn, note = size_over_time(drawn_of(sizes), start, end, events=events)
        yield _chart(f"size-{number}", "Size", "line: full state · bars: uploaded", drawn, note)
    if story.pressure:
        rows = [VertexPressure(row.vertex, row.cells) for row in story.pressure]
        about = "share of time, median subtask, by minute: pale is none, red is all of it"
        yield _chart(f"pressure-{number}", "Pressure", about, pressure_map(rows, start, end), "")


def _chart(key: str, title: str, about: str, drawn: go.Figure, note: str) -> Chart:
    return Chart(key, title, about, note, answers.drawn(drawn))


def _range(story: JobStory, document: Document) -> tuple[datetime, datetime]:
    """The document's range, without the part in which the job did not live."""
    start = max(document.start, story.started_at or document.start)
    end = min(document.end, story.ended_at or story.last_seen_at or document.end)
    if end <= start:
        return document.start, document.end
    air = max((end - start) * _AIR, timedelta(seconds=2))
    return start - air, end + air


def _events(story: JobStory, findings: Sequence[ReportedFinding]) -> list[Annotation]:
    """Marks of the job, and where each notable matter began; a click leads to its place in the
    report.
    """
    own = [
        finding
        for finding in findings
        if (finding.cluster, finding.job_id) == (story.cluster, story.job_id)
        and finding.severity != "info"
    ]
    annotations = [
        Annotation(
            finding.first_seen, finding.severity, finding.title, f"#finding-{finding.number}"
        )
        for finding in own
    ]
    return [Annotation(mark.at, mark.kind, mark.label) for mark in story.marks] + annotations


def _bar(point: ReportedCheckpoint) -> CheckpointBar:
    return CheckpointBar(
        **{field.name: getattr(point, field.name) for field in fields(CheckpointPoint)}
    )


def _is_sized(point: ReportedCheckpoint) -> bool:
    return point.state_bytes is not None or point.checkpointed_bytes is not None


def _size(point: ReportedCheckpoint) -> SizePoint:
    lasted = None if point.end_to_end_ms is None else round(point.end_to_end_ms)
    return SizePoint(
        point.checkpoint_id,
        point.trigger_time,
        lasted,
        point.state_bytes,
        point.checkpointed_bytes,
        point.is_savepoint,
    )


def _days(document: Document) -> Chart:
    days = [plot_time(day.day)[:10] for day in document.days]
    kinds = (
        ("completed", OK, [day.completed for day in document.days]),
        ("failed", CRIT, [day.failed for day in document.days]),
    )
    bars = [
        go.Bar(
            name=name,
            x=days,
            y=counts,
            marker={"color": colour},
            hovertemplate="%{x}: %{y:,} " + name + "<extra></extra>",
        )
        for name, colour, counts in kinds
    ]
    return _chart(
        "days",
        "Checkpoints by day",
        "UTC",
        figure(bars, _DAYS_PX, barmode="stack", xaxis={"type": "category"}),
        "",
    )
