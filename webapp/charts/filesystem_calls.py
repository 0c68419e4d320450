"""Calls of one checkpoint by kind: a bar each, beside those of what it is compared with."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from webapp.charts.theme import ACCENT, OTHER, figure

HEIGHT_PX = 240


def calls_by_kind(series: Sequence[tuple[str, Mapping[str, int]]]) -> go.Figure:
    """``series``: a label and calls by kind; the first is the present."""
    bars = [
        go.Bar(
            x=list(calls),
            y=list(calls.values()),
            name=label,
            marker={"color": colour},
            hovertemplate=f"%{{x}}: %{{y:,}} calls<extra>{label}</extra>",
        )
        for (label, calls), colour in zip(series, (ACCENT, OTHER), strict=False)
    ]
    return figure(bars, HEIGHT_PX, barmode="group", xaxis={"type": "category"}, yaxis={"tickformat": ",d"})
