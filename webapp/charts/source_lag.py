"""The lag of sources over time: unread records, and event time."""

from collections.abc import Sequence
from datetime import datetime

import plotly.graph_objects as go
from django.utils.translation import gettext

from webapp.charts.theme import ACCENT, OTHER, figure, plain, plot_time, time_axis

HEIGHT_PX = 260
Points = Sequence[tuple[datetime, float | None]]


def lag_lines(
    records: Sequence[tuple[str, Points]],
    event_time_s: Sequence[tuple[str, Points]],
    start: datetime,
    end: datetime,
) -> go.Figure:
    """``records`` on the left axis, ``event_time_s`` on the right one: (name, points); unknown
    points are gaps.
    """
    lines = [
        go.Scatter(
            x=[plot_time(at) for at, _ in points],
            y=[value for _, value in points],
            name=f"{plain(name, 40)}: {what}",
            mode="lines",
            yaxis=axis,
            line={"color": colour, "dash": dash, "shape": "linear"},
            connectgaps=False,
        )
        for series, what, axis, colour, dash in (
            (records, gettext("records not read"), "y", ACCENT, "solid"),
            (event_time_s, gettext("event-time lag, s"), "y2", OTHER, "dot"),
        )
        for name, points in series
    ]
    return figure(
        lines,
        HEIGHT_PX,
        xaxis=time_axis(start, end),
        yaxis={"rangemode": "tozero", "tickformat": "~s"},
        yaxis2={"overlaying": "y", "side": "right", "rangemode": "tozero", "showgrid": False},
        showlegend=True,
    )
