"""How far a copy lies behind, over time."""

from collections.abc import Sequence
from datetime import datetime

import plotly.graph_objects as go
from django.utils.translation import gettext

from webapp.charts.theme import ACCENT, figure, plot_time

HEIGHT_PX = 220


def lag_over_time(points: Sequence[tuple[datetime, float]]) -> go.Figure:
    """``points``: instant and seconds, oldest first."""
    line = go.Scatter(
        x=[plot_time(at) for at, _ in points],
        y=[lag_s for _, lag_s in points],
        mode="lines",
        line={"color": ACCENT, "width": 1.5},
        hovertemplate=gettext("%(at)s: %(seconds)s s behind")
        % {"at": "%{x|%H:%M:%S}", "seconds": "%{y:,.0f}"}
        + "<extra></extra>",
    )
    return figure(
        [line],
        HEIGHT_PX,
        yaxis={
            "title": {"text": gettext("seconds behind")},
            "rangemode": "tozero",
            "tickformat": ",d",
        },
    )
