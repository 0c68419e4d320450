"""Tasks by TaskManager, fullest first: one step line a placement, so that an even one is flat."""

from collections.abc import Sequence

import plotly.graph_objects as go
from django.utils.translation import gettext

from webapp.charts.theme import ACCENT, OTHER, figure

HEIGHT_PX = 240


def tasks_by_taskmanager(series: Sequence[tuple[str, Sequence[int]]]) -> go.Figure:
    """``series``: a label and the tasks of each TaskManager; the first is the present, the second
    what it is compared with.
    """
    bars = [
        go.Bar(
            x=list(range(1, len(tasks) + 1)),
            y=list(tasks),
            name=label,
            marker={"color": colour},
            hovertemplate=gettext("TaskManager %(number)s: %(count)s tasks")
            % {"number": "%{x}", "count": "%{y:,}"}
            + f"<extra>{label}</extra>",
        )
        for (label, tasks), colour in zip(series, (OTHER, ACCENT), strict=False)
    ]
    return figure(
        bars,
        HEIGHT_PX,
        barmode="group",
        xaxis={"title": {"text": "TaskManager"}, "tickformat": ",d"},
        yaxis={"tickformat": ",d"},
    )
