"""The charts of a report, as plotly figures whose colours are tokens, drawn from its own tables."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

import plotly.graph_objects as go

from webapp.analyses.document import Chart, Document, Facts
from webapp.charts import answers
from webapp.charts.annotations import LOOK, Annotation
from webapp.charts.checkpoints import CheckpointBar, timeline
from webapp.charts.theme import CRIT, OK, figure, plot_time
from webapp.lib.messages.rendering import localised
from webapp.reports.document import Report

_AIR = 0.02
_DAYS_PX = 220


@dataclass(frozen=True)
class DrawnChart:
    """``figure`` is what plotly.js takes; ``height_px`` is known before it is drawn."""

    chart: Chart
    figure: dict[str, Any]
    note: str = ""

    @property
    def height_px(self) -> int:
        return int(self.figure["layout"].get("height", 300))


def charts_of(report: Report) -> dict[str, DrawnChart]:
    """By key; those without anything to draw are left out."""
    draws = {"checkpoints": _checkpoints, "days": _days}
    charts = [block for block in report.pages.blocks if isinstance(block, Chart)]
    drawn = {chart.key: draws[chart.key](report, chart) for chart in charts if chart.key in draws}
    return {key: chart for key, chart in drawn.items() if chart}


def _rows(documents: Iterable[Document], key: str) -> list[dict[str, Any]]:
    tables = (table for document in documents for table in document.tables if table.key == key)
    return [
        {column.key: value for column, value in zip(table.columns, row, strict=True)}
        for table in tables
        for row in table.rows
    ]


def _checkpoints(report: Report, chart: Chart) -> DrawnChart | None:
    job = next(part for part in report.appendix if part.key.startswith("job-"))
    bars = [CheckpointBar(**row) for row in _rows([job.document], "checkpoints")]
    if not bars:
        return None
    start, end = bars[0].trigger_time, max(bar.end_time or bar.trigger_time for bar in bars)
    air = max((end - start) * _AIR, timedelta(seconds=2))
    facts = [block for block in job.document.blocks if isinstance(block, Facts)]
    known = {fact.key: fact.value for block in facts for fact in block.facts}
    timeout_ms = cast("float | None", known.get("timeout_ms"))
    events = [
        Annotation(row["at"], kind, localised(row["title"]))
        for row in _rows([part.document for part in report.appendix], "moments")
        if (kind := row["kind"]) in LOOK and row["job_name"] == job.title
    ]
    drawn, note = timeline(bars, start - air, end + air, timeout_ms, events)
    return DrawnChart(chart, answers.drawn(drawn), note)


def _days(report: Report, chart: Chart) -> DrawnChart | None:
    rows = _rows([part.document for part in report.appendix], "days")
    bars = [
        go.Bar(
            name=name,
            x=[plot_time(row["day"])[:10] for row in rows],
            y=[row[name] for row in rows],
            marker={"color": colour},
            hovertemplate="%{x}: %{y:,} " + name + "<extra></extra>",
        )
        for name, colour in (("completed", OK), ("failed", CRIT))
    ]
    drawn = figure(bars, _DAYS_PX, barmode="stack", xaxis={"type": "category"})
    return DrawnChart(chart, answers.drawn(drawn)) if rows else None
