"""Heat map of buffer pools: a row per subtask and pool, a column per slice of time, the fixed usage
ramp.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

import plotly.graph_objects as go
from django.utils.translation import gettext

from webapp.charts.shares import share_map
from webapp.charts.theme import plain
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
    return share_map(labels, cells, hover_texts, edges, (start, end), _ROW_PX)


def _cells(row: PoolRow, start: datetime, end: datetime, slices: int) -> list[float | None]:
    cells: list[float | None] = [None] * slices
    for at, usage in row.usages:
        if start <= at <= end:
            position = min(int((at - start) / (end - start) * slices), slices - 1)
            known = cells[position]
            cells[position] = usage if known is None else max(known, usage)
    return cells


def _slice_count(rows: Sequence[PoolRow], start: datetime, end: datetime) -> int:
    """As fine as the samples are, at most ``MOST_SLICES``: finer would show gaps that are none."""
    gaps = sorted(
        later - earlier
        for row in rows
        for earlier, later in pairwise(sorted({at for at, _usage in row.usages}))
    )
    if not gaps:
        return 40
    # The upper tenth, not the median: a late sample now and then must not leave a hole.
    usual = gaps[int(len(gaps) * 0.9)] * 1.05
    return max(1, min(MOST_SLICES, int((end - start) / usual)))
