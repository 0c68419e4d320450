"""Heat map of buffer pools: a row per subtask and pool, a column per slice of time, the fixed usage
ramp.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

import plotly.graph_objects as go
from django.utils.translation import gettext

from webapp.charts.theme import USAGE_RAMP, figure, plain, plot_time, time_axis
from webapp.lib.quantities import usage_text

MOST_SLICES = 120
_ROW_PX = 17
_LABEL_LETTERS = 22


@dataclass(frozen=True)
class PoolRow:
    """Usage of one pool of one subtask: ``(instant, 0 … 1)``, unknown samples left out."""

    vertex_name: str
    subtask: int
    pool: str
    usages: Sequence[tuple[datetime, float]]

    @property
    def label(self) -> str:
        return f"{plain(self.vertex_name, _LABEL_LETTERS)}/{self.subtask} {self.pool}"


def heat_map(rows: Sequence[PoolRow], start: datetime, end: datetime) -> go.Figure:
    """Rows from top to bottom as given. A cell is the largest usage seen in its slice."""
    slices = _slice_count(rows, start, end)
    width = (end - start) / slices
    cells = [_cells(row, start, end, slices) for row in rows]
    labels = [row.label for row in rows]
    hover_texts = [
        [
            gettext("%(label)s<br>%(cell)s of its buffers in use")
            % {"label": label, "cell": usage_text(cell)}
            for cell in of_row
        ]
        for label, of_row in zip(labels, cells, strict=True)
    ]
    edges = [start + width * position for position in range(slices + 1)]
    # One edge more than cells: otherwise a single column would be as wide as the chart.
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
        _ROW_PX * len(labels) + 48,
        margin={"l": 8, "r": 12, "t": 8, "b": 28},
        xaxis=time_axis(start, end),
        yaxis={
            "tickvals": list(range(len(labels))),
            "ticktext": list(labels),
            "range": [len(labels) - 0.5, -0.5],
            "showgrid": False,
            "rangemode": "normal",
        },
    )


def _cells(row: PoolRow, start: datetime, end: datetime, slices: int) -> list[float | None]:
    cells: list[float | None] = [None] * slices
    for at, usage in row.usages:
        if start <= at <= end:
            position = min(int((at - start) / (end - start) * slices), slices - 1)
            known = cells[position]
            cells[position] = usage if known is None else max(known, usage)
    return cells


def _slice_count(rows: Sequence[PoolRow], start: datetime, end: datetime) -> int:
    """The number of slices: as fine as the samples, at most ``MOST_SLICES``. Finer slices would
    show false gaps.
    """
    gaps = sorted(
        later - earlier
        for row in rows
        for earlier, later in pairwise(sorted({at for at, _usage in row.usages}))
    )
    if not gaps:
        return 40
    # The upper tenth, not the median: a late sample must not leave a gap.
    usual = gaps[int(len(gaps) * 0.9)] * 1.05
    return max(1, min(MOST_SLICES, int((end - start) / usual)))
