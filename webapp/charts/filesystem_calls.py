"""Calls of all jobs to file systems, by second."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import plotly.graph_objects as go
from django.utils.translation import gettext

from webapp.charts.theme import figure, plot_time, time_axis

HEIGHT_PX = 240
_STEPS = {"shape": "hv", "width": 1}


def calls_by_second(series: Sequence[tuple[str, Sequence[float]]], start: datetime) -> go.Figure:
    """``series``: a file system and its calls of each second from ``start``."""
    at = [
        start + timedelta(seconds=second)
        for second in range(max(len(calls) for _label, calls in series))
    ]
    drawn_at = [plot_time(instant) for instant in at]
    lines = [
        go.Scatter(
            x=drawn_at,
            y=list(calls),
            name=label,
            mode="lines",
            line=_STEPS,
            hovertemplate=gettext("%(count)s calls") % {"count": "%{y:,.0f}"},
        )
        for label, calls in series
    ]
    return figure(
        lines,
        HEIGHT_PX,
        xaxis=time_axis(at[0], at[-1]),
        yaxis={"tickformat": ",d", "rangemode": "tozero"},
    )
