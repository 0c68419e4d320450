"""Heat map of pressure: the share of time that each vertex was back-pressured, and busy."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext

from webapp.charts.theme import (
    INK_3,
    PANEL,
    USAGE_RAMP,
    Figure,
    edge_label,
    figure,
    plain,
    plot_time,
)
from webapp.lib.quantities import percent_text

_LABEL_LETTERS = 28
_NAME_PX, _BAND_PX = 17, 9


@dataclass(frozen=True)
class VertexShares:
    """Shares of time 0 … 1 by slice; ``None`` is unknown."""

    name: str
    backpressured: Sequence[float | None]
    busy: Sequence[float | None]


def busy_by_vertex(
    rows: Sequence[VertexShares], starts: Sequence[datetime], width: timedelta
) -> tuple[Figure, int]:
    """A heat map, and its height in pixels. Rows of a vertex: name, back-pressured, busy."""
    edges_px, cells, hovers, labels = [0], [], [], []
    blank = [None] * len(starts)
    for row in rows:
        name = plain(row.name, _LABEL_LETTERS)
        labels.append(edge_label(name, -edges_px[-1], INK_3, borderpad=0, bgcolor=PANEL))
        for height_px, state, shares in (
            (_NAME_PX, "", blank),
            (_BAND_PX, gettext("back-pressured"), row.backpressured),
            (_BAND_PX, gettext("busy"), row.busy),
        ):
            edges_px.append(edges_px[-1] + height_px)
            cells.append(shares)
            hovers.append([f"{name} {state} {percent_text(share)}" for share in shares])
    heat = {
        "type": "heatmap",
        "z": cells,
        "x": [plot_time(at) for at in (*starts, starts[-1] + width)],
        "y": [-edge for edge in edges_px],
        "zmin": 0,
        "zmax": 1,
        "colorscale": USAGE_RAMP,
        "showscale": False,
        "ygap": 1,
        "hoverongaps": False,
        "customdata": hovers,
        "hovertemplate": "%{customdata}<br>%{x|%Y-%m-%d %H:%M:%S} UTC<extra></extra>",
    }
    height_px = edges_px[-1]
    axis = {"range": [-height_px, 0], "showgrid": False, "showticklabels": False}
    return figure([heat], height_px, yaxis=axis, annotations=labels), height_px
