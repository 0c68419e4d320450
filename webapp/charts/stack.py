"""Figures of one time range, stacked as one figure: they share time axis, cursor and zoom."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from webapp.charts import annotations
from webapp.charts.theme import (
    CRIT,
    INK_2,
    LINE_STRONG,
    PANEL,
    TEMPLATE,
    Figure,
    edge_label,
    plot_time,
    time_axis,
)

_LEFT_PX, _TOP_PX, _BOTTOM_PX, _TITLE_PX = 58, 34, 38, 24
_UNDER_ZERO_PX = 8
"""Labels of time are below the lowest label of the axis beside them."""


@dataclass(frozen=True)
class Part:
    """``figure`` has one y axis; ``name``: in the page's legend."""

    name: str
    title: str
    figure: Figure
    height_px: int


def stack_figures(
    parts: Sequence[Part],
    start: datetime,
    end: datetime,
    events: Sequence[annotations.Annotation] = (),
    downtimes: Sequence[tuple[datetime, datetime]] = (),
) -> tuple[Figure, str]:
    """The figure, and a note on omitted ``events``. All parts mark events and downtimes."""
    marks, note = annotations.annotation_layout(events, start, end)
    inner_px = sum(part.height_px + _TITLE_PX for part in parts)
    traces: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    meta: dict[str, Any] = {}
    shapes = [*(_downtime(*span) for span in downtimes), *marks["shapes"]]
    labels = list(marks["annotations"])
    top_px = 0
    for number, part in enumerate(parts, start=1):
        axis = f"y{number if number > 1 else ''}"
        labels.append(
            edge_label(
                f"<b>{part.title}</b>",
                1 - top_px / inner_px,
                INK_2,
                yref="paper",
                xshift=8 - _LEFT_PX,
                yshift=-3,
                bgcolor=PANEL,
            )
        )
        top_px += _TITLE_PX
        domain = [1 - (top_px + part.height_px) / inner_px, 1 - top_px / inner_px]
        top_px += part.height_px
        layout = part.figure["layout"]
        axes[f"yaxis{axis[1:]}"] = {**layout["yaxis"], "anchor": "x", "domain": domain}
        traces += [
            {**trace, "xaxis": "x", "yaxis": axis, "showlegend": False}
            for trace in part.figure["data"]
        ]
        shapes += [{**shape, "yref": axis} for shape in layout.get("shapes", ())]
        labels += [{**label, "yref": axis} for label in layout.get("annotations", ())]
        meta |= layout.get("meta", {})
    stack_layout = {
        "template": TEMPLATE,
        "height": inner_px + _TOP_PX + _BOTTOM_PX,
        "barmode": "stack",
        "margin": {"l": _LEFT_PX, "r": 12, "t": _TOP_PX, "b": _BOTTOM_PX},
        "meta": {**meta, "parts": [part.name for part in parts]},
        "shapes": shapes,
        "annotations": labels,
        "spikedistance": -1,
        "xaxis": time_axis(
            start,
            end,
            anchor=axis,
            ticklabelstandoff=_UNDER_ZERO_PX,
            showspikes=True,
            spikemode="across",
            spikesnap="cursor",
            spikethickness=1,
            spikedash="solid",
            spikecolor=LINE_STRONG,
        ),
        **axes,
    }
    return {"data": traces, "layout": stack_layout}, note


def _downtime(down_from: datetime, up_from: datetime) -> dict[str, Any]:
    return {
        "type": "rect",
        "xref": "x",
        "x0": plot_time(down_from),
        "x1": plot_time(up_from),
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "fillcolor": CRIT,
        "opacity": 0.14,
        "line": {"width": 0},
        "layer": "below",
    }
