"""The template of all figures. Colours are tokens of ``static/css/tokens.css`` (``var(--name)``),
which the page resolves: light and dark pages get the same figure.
"""

from datetime import UTC, datetime
from html import escape
from typing import Any

from django.utils.translation import gettext_noop

Figure = dict[str, Any]
"""``data`` and ``layout`` for plotly.js, against whose schema tests check every figure."""

INK = "var(--ink)"
INK_2 = "var(--ink-2)"
INK_3 = "var(--ink-3)"
LINE = "var(--line)"
PANEL = "var(--panel)"
ACCENT = "var(--accent)"
OK = "var(--ok)"
WARN = "var(--warn)"
CRIT = "var(--crit)"
UNKNOWN = "var(--unknown)"
LINE_STRONG = "var(--line-strong)"
UPLOADED = "var(--async)"
OTHER = "var(--other)"
PHASE_COLOURS = {
    "start_delay": "var(--start-delay)",
    "alignment": "var(--alignment)",
    "sync": "var(--sync)",
    "async": "var(--async)",
}
PHASE_WORDS = {
    "start_delay": gettext_noop("start delay"),
    "alignment": gettext_noop("alignment"),
    "sync": gettext_noop("sync"),
    "async": gettext_noop("async"),
}

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"

USAGE_RAMP = [
    [0.0, "var(--u0)"],
    [0.25, "var(--u1)"],
    [0.5, "var(--u2)"],
    [0.8, "var(--u3)"],
    [1.0, "var(--u4)"],
]
"""Pool usage 0 … 1. Fixed ends, so that a colour means the same number on every page and day."""

_AXIS: dict[str, Any] = {
    "gridcolor": LINE,
    "linecolor": LINE,
    "zeroline": False,
    "tickfont": {"size": 11, "color": INK_3},
    "ticks": "",
    "tickangle": 0,
    "automargin": True,
}

TEMPLATE = {
    "layout": {
        "font": {"family": FONT, "size": 12, "color": INK_2},
        "paper_bgcolor": PANEL,
        "plot_bgcolor": PANEL,
        "margin": {"l": 48, "r": 12, "t": 32, "b": 58},
        "xaxis": {**_AXIS, "showgrid": False},
        "yaxis": {**_AXIS, "rangemode": "tozero", "fixedrange": True},
        "legend": {
            "orientation": "h",
            "x": 0,
            "yref": "container",
            "y": 0,
            "yanchor": "bottom",
            "traceorder": "normal",
            "font": {"size": 12, "color": INK_2},
            "itemclick": False,
            "itemdoubleclick": False,
        },
        "hoverlabel": {
            "bgcolor": PANEL,
            "bordercolor": LINE_STRONG,
            "font": {"size": 12, "color": INK, "family": FONT},
            "align": "left",
        },
        "bargap": 0.1,
        "dragmode": "zoom",
        "hovermode": "closest",
    }
}


def figure(traces: list[dict[str, Any]], height_px: int, **layout: Any) -> Figure:
    return {"data": traces, "layout": {"template": TEMPLATE, "height": height_px, **layout}}


def edge_label(words: str, y: float, colour: str, **place: Any) -> dict[str, Any]:
    """Words at the left edge of a chart."""
    return {
        "text": words,
        "xref": "paper",
        "x": 0,
        "xanchor": "left",
        "yref": "y",
        "y": y,
        "yanchor": "top",
        "font": {"size": 11, "color": colour},
        "showarrow": False,
        **place,
    }


def time_axis(start: datetime, end: datetime, **options: Any) -> dict[str, Any]:
    """The x axis of all charts of a page: exactly the page's range, UTC."""
    return {
        "type": "date",
        "range": [plot_time(start), plot_time(end)],
        "hoverformat": "%Y-%m-%d %H:%M:%S UTC",
        **options,
    }


def plot_time(instant: datetime) -> str:
    """In UTC without an offset: plotly.js draws times literally."""
    return instant.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ", timespec="milliseconds")


def plain(text: str | None, longest: int = 60) -> str:
    """Escape and shorten a name in hover texts, where Plotly interprets some HTML."""
    text = text or "–"
    return escape(text if len(text) <= longest else text[: longest - 1] + "…", quote=False)
