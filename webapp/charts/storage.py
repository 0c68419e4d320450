"""Storage over time by verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import plotly.graph_objects as go
from django.utils.translation import gettext

from webapp.charts.sizes import bytes_axis
from webapp.charts.theme import CRIT, figure, plot_time, time_axis
from webapp.lib.quantities import bytes_text, count_text
from webapp.lib.translations import gettext_lazy as _

HEIGHT_PX = 300
VERDICT_COLOURS = {
    "live": "var(--live)",
    "retained_waste": "var(--waste)",
    "orphan": "var(--orphan)",
    "recent": "var(--recent)",
    "kept": "var(--kept)",
}
MISSING = "missing"
WORDS = {
    "live": _("live"),
    "retained_waste": _("retained waste"),
    "orphan": _("orphan"),
    "recent": _("unreferenced, not provable yet"),
    "kept": _("kept"),
    "missing": _("missing"),
}
"""Codes alone could mislead."""


@dataclass(frozen=True)
class StoragePoint:
    """One audit: bytes and files by verdict; ``missing`` files do not exist, so they are drawn as a
    separate line.
    """

    at: datetime
    bytes: Mapping[str, int]
    files: Mapping[str, int]


def word_of(verdict: str) -> str:
    return str(WORDS.get(verdict, verdict.replace("_", " ")))


def history(points: Sequence[StoragePoint]) -> go.Figure:
    """Stacked areas, oldest first."""
    names = list(VERDICT_COLOURS)
    traces = [_area(name, points) for name in names]
    if any(point.bytes.get(MISSING) for point in points):
        traces.append(_missing(points))
    highest = max(
        (
            max(sum(point.bytes.get(name, 0) for name in names), point.bytes.get(MISSING, 0))
            for point in points
        ),
        default=0,
    )
    return figure(
        traces,
        HEIGHT_PX,
        xaxis=time_axis(points[0].at, points[-1].at),
        yaxis=bytes_axis(highest),
        hovermode="x unified",
    )


def _area(name: str, points: Sequence[StoragePoint]) -> go.Scatter:
    return go.Scatter(
        name=word_of(name),
        x=[plot_time(point.at) for point in points],
        y=[point.bytes.get(name, 0) for point in points],
        stackgroup="verdicts",
        mode="lines",
        # The result of an audit holds until the next one.
        line={"width": 0.5, "color": VERDICT_COLOURS[name], "shape": "hv"},
        fillcolor=VERDICT_COLOURS[name],
        hovertext=[_hover(name, point) for point in points],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _missing(points: Sequence[StoragePoint]) -> go.Scatter:
    return go.Scatter(
        name=gettext("missing (referred to, not there)"),
        x=[plot_time(point.at) for point in points],
        y=[point.bytes.get(MISSING, 0) for point in points],
        mode="lines+markers",
        marker={"size": 5, "symbol": "triangle-up"},
        line={"width": 2, "color": CRIT, "dash": "dot", "shape": "hv"},
        hovertext=[_hover(MISSING, point) for point in points],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _hover(name: str, point: StoragePoint) -> str:
    return gettext("%(verdict)s %(bytes)s in %(files)s files") % {
        "verdict": gettext(name.replace("_", " ")),
        "bytes": bytes_text(point.bytes.get(name, 0)),
        "files": count_text(point.files.get(name, 0)),
    }
