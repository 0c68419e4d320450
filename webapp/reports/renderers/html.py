"""Renders a report as one HTML file with styles, plotly.js and data. Its content policy allows no
address, and scripts only by their hash, so that names of jobs cannot inject scripts.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, cast

from django.conf import settings
from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from webapp.analyses.document import Chart, Document, Facts
from webapp.analyses.presentation import blocks
from webapp.charts import answers
from webapp.charts.annotations import LOOK, Annotation
from webapp.charts.checkpoints import CheckpointBar, timeline
from webapp.lib.badges import UNKNOWN, Badge
from webapp.lib.messages.rendering import localised
from webapp.reports.document import Report

_MARGIN_SHARE = 0.02


@dataclass(frozen=True)
class DrawnChart:
    """``figure``: for plotly.js; ``height_px`` reserves space before it is drawn."""

    chart: Chart
    figure: dict[str, Any]
    note: str = ""

    @property
    def height_px(self) -> int:
        return int(self.figure["layout"].get("height", 300))


def charts_of(report: Report) -> dict[str, DrawnChart]:
    """Key → chart, without empty charts."""
    charts = [block for block in report.pages.blocks if isinstance(block, Chart)]
    drawn = {chart.key: _checkpoints(report, chart) for chart in charts}
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
    margin = max((end - start) * _MARGIN_SHARE, timedelta(seconds=2))
    facts = [block for block in job.document.blocks if isinstance(block, Facts)]
    values = {fact.key: fact.value for block in facts for fact in block.facts}
    timeout_ms = cast("float | None", values.get("timeout_ms"))
    events = [
        Annotation(row["at"], kind, localised(row["title"]))
        for row in _rows([part.document for part in report.appendix], "moments")
        if (kind := row["kind"]) in LOOK and row["job_name"] == job.title
    ]
    drawn, note = timeline(bars, start - margin, end + margin, timeout_ms, events)
    return DrawnChart(chart, answers.in_shown_zone(drawn), note)


_VERDICTS = {
    "crit": Badge("critical", "▲", "crit"),
    "warn": Badge("trouble", "◆", "warn"),
    "ok": Badge("nothing found", "●", "ok"),
}


def verdict(tone: str) -> Badge:
    return _VERDICTS.get(tone, UNKNOWN)


def context(report: Report, base: str = "") -> dict[str, Any]:
    """The context of a report's templates, for a file (``base``: Weir's address) or a page."""
    return {
        "document": report,
        "verdict": report.pages.verdict,
        "badge_of_verdict": verdict(report.pages.verdict.tone),
        "pages": list(blocks(report.pages)),
        "appendix": [(part, list(blocks(part.document))) for part in report.appendix],
        "base": base.rstrip("/"),
        "charts": {},
    }


STYLES = ("css/tokens.css", "css/base.css", "css/reports.css", "css/report_file.css")
SCRIPTS = (
    "vendor/plotly/plotly-cartesian.min.js",
    "js/figures.js",
    "js/scrolling.js",
    "js/report.js",
)


def render(report: Report) -> str:
    charts = charts_of(report)
    return render_to_string(
        "reports/file.html",
        {
            **context(report, settings.WEIR.public_url),
            "charts": charts,
            "figures": _data(charts),
            "styles": [_inline(name) for name in STYLES],
            "scripts": [_inline(name) for name in SCRIPTS],
            "policy": _policy(),
        },
    )


def _data(charts: Mapping[str, DrawnChart]) -> SafeString:
    """JSON for a ``<script type="application/json">``, without ``<``, which could end the element."""
    figures = {key: drawn.figure for key, drawn in charts.items()}
    text = json.dumps(figures, ensure_ascii=False, separators=(",", ":"))
    escaped = text.replace("<", "\\u003c").replace("\u2028", "\\u2028")
    return mark_safe(escaped.replace("\u2029", "\\u2029"))  # noqa: S308 - escaped above


@cache
def _inline(name: str) -> SafeString:
    path = finders.find(name)
    if not isinstance(path, str):
        raise FileNotFoundError(f"The static file {name} is missing from this installation.")
    # shipped with Weir, not anybody's input
    return mark_safe(Path(path).read_text(encoding="utf-8"))  # noqa: S308


@cache
def _policy() -> str:
    hashes = " ".join(f"'sha256-{_sha256(_inline(name))}'" for name in SCRIPTS)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: "
        "blob:; base-uri 'none'; form-action 'none'"
    )


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
