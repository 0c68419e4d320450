"""The heat map that pools and pressure are drawn as: rows from top to bottom, time to the right,
shares 0 … 1 on the usage ramp.
"""

from collections.abc import Sequence
from datetime import datetime

import plotly.graph_objects as go

from webapp.charts.theme import USAGE_RAMP, figure, plot_time, time_axis


def share_map(
    labels: Sequence[str],
    cells: Sequence[Sequence[float | None]],
    hover_texts: Sequence[Sequence[str]],
    edges: Sequence[datetime],
    shown: tuple[datetime, datetime],
    row_px: int,
) -> go.Figure:
    """``hover_texts``: shown when a cell is pointed at.

    ``edges``: one more than cells: a lone column were else as wide as the chart.
    """
    heat = go.Heatmap(
        z=cells,
        x=[plot_time(edge) for edge in edges],
        y=list(range(len(labels))),
        zmin=0,
        zmax=1,
        colorscale=USAGE_RAMP,
        showscale=False,
        xgap=1 if len(edges) <= 81 else 0,
        ygap=2,
        hoverongaps=False,
        customdata=hover_texts,
        hovertemplate="%{customdata}<br>%{x|%Y-%m-%d %H:%M:%S} UTC<extra></extra>",
    )
    return figure(
        [heat],
        row_px * len(labels) + 48,
        margin={"l": 8, "r": 12, "t": 8, "b": 28},
        xaxis=time_axis(*shown),
        yaxis={
            "tickvals": list(range(len(labels))),
            "ticktext": list(labels),
            "range": [len(labels) - 0.5, -0.5],
            "showgrid": False,
            "rangemode": "normal",
        },
    )
