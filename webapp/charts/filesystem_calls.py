"""Calls to file systems: files of one checkpoint by inline threshold, calls of all jobs by
second.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import plotly.graph_objects as go
from django.utils.translation import gettext

from webapp.charts.theme import ACCENT, OTHER, figure, plot_time, time_axis

HEIGHT_PX = 240
_STEPS = {"shape": "hv", "width": 1}


def files_and_heap(
    points: Sequence[tuple[int, int, int]], now_bytes: int, knee_bytes: int | None
) -> go.Figure:
    """``points``: inline threshold, files of a checkpoint, bytes on the heap of the JobManager.

    Steps: nothing changes between them.
    """
    thresholds = [max(point[0], 1) for point in points]
    lines = [
        go.Scatter(
            x=thresholds,
            y=[p[1] for p in points],
            name=gettext("Files of a checkpoint"),
            line={"shape": "hv", "color": ACCENT},
        ),
        go.Scatter(
            x=thresholds,
            y=[p[2] for p in points],
            name=gettext("Heap"),
            line={"shape": "hv", "color": OTHER},
            yaxis="y2",
        ),
    ]
    drawn = figure(
        lines,
        HEIGHT_PX,
        xaxis={
            "type": "log",
            "title": {"text": gettext("Inline threshold, bytes")},
            "tickformat": "~s",
        },
        yaxis={"tickformat": ",d", "rangemode": "tozero"},
        yaxis2={
            "overlaying": "y",
            "side": "right",
            "tickformat": "~s",
            "ticksuffix": "B",
            "rangemode": "tozero",
            "showgrid": False,
        },
    )
    for at, label in ((now_bytes, gettext("now")), (knee_bytes, gettext("knee"))):
        if at:
            drawn.add_vline(
                x=at,
                line={"dash": "dot", "width": 1},
                annotation_text=label,
                annotation_position="top left",
            )
    return drawn


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
