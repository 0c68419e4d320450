"""Figures over a page's time range: values as lines, counts of events as stacked bars."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Any

from webapp.charts.theme import (
    ACCENT,
    CRIT,
    OK,
    OTHER,
    WARN,
    Figure,
    figure,
    plain,
    plot_time,
    time_axis,
)

HEIGHT_PX = 200
MOST_POINTS = 400
BARS = 60
COLOURS = (ACCENT, WARN, OK, OTHER, CRIT)
_GAP_FACTOR = 3.5
"""Samples that are further apart than this many median distances are not joined."""

Point = tuple[datetime, float | None]


@dataclass(frozen=True)
class Line:
    """``points``, oldest first; ``steps``: each value lasts until the next."""

    name: str
    points: Sequence[Point]
    colour: str
    steps: bool = False


@dataclass(frozen=True)
class Events:
    name: str
    instants: Iterable[datetime]
    colour: str


def lines(series: Sequence[Line], start: datetime, end: datetime, **y_axis: object) -> Figure:
    """``y_axis``: options of Plotly, such as ``ticksuffix``."""
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "name": plain(line.name, 40),
            "x": [plot_time(at) for at, _value in line.points],
            "y": [value for _at, value in line.points],
            "mode": "lines" if len(line.points) > 1 else "markers",
            "line": {"color": line.colour, "width": 1.5, "shape": "hv" if line.steps else "linear"},
            "connectgaps": False,
        }
        for line in series
    ]
    return _over_time(traces, start, end, hovermode="x unified", yaxis=y_axis)


def bars(kinds: Sequence[Events], start: datetime, end: datetime) -> Figure:
    """Counts of events of each kind by slice of time."""
    width = (end - start) / BARS
    middles = [plot_time(start + width * (place + 0.5)) for place in range(BARS)]
    traces: list[dict[str, Any]] = []
    for kind in kinds:
        counts = [0] * BARS
        for at in kind.instants:
            if start <= at <= end:
                counts[min(int((at - start) / width), BARS - 1)] += 1
        if any(counts):
            traces.append(
                {
                    "type": "bar",
                    "name": plain(kind.name, 40),
                    "x": middles,
                    "y": counts,
                    "width": width / timedelta(milliseconds=1) * 0.9,
                    "marker": {"color": kind.colour},
                }
            )
    axis = {"tickformat": ",d", "rangemode": "tozero"}
    return _over_time(
        traces, start, end, has_legend=True, barmode="stack", hovermode="x unified", yaxis=axis
    )


def thin_out(
    points: Iterable[Point],
    start: datetime,
    end: datetime,
    pick: Callable[[Sequence[float]], float] = max,
) -> list[Point]:
    """At most ``MOST_POINTS`` by time: the ``pick`` of each slice, and None in gaps."""
    width = (end - start) / MOST_POINTS
    slices: dict[int, tuple[datetime, list[float]]] = {}
    for at, value in points:
        if value is not None and start <= at <= end:
            slices.setdefault(int((at - start) / width), (at, []))[1].append(value)
    picked = [(at, pick(values)) for _place, (at, values) in sorted(slices.items())]
    gaps = [later[0] - earlier[0] for earlier, later in pairwise(picked)]
    usual = width
    if gaps:
        usual = max(timedelta(seconds=median(gap.total_seconds() for gap in gaps)), width)
    with_gaps: list[Point] = []
    for (at, value), gap in zip(picked, [*gaps, timedelta()], strict=False):
        with_gaps.append((at, value))
        if gap > usual * _GAP_FACTOR:
            with_gaps.append((at + usual, None))
    return with_gaps


def running(
    lives: Iterable[tuple[datetime | None, datetime | None, int]], start: datetime, end: datetime
) -> list[Point]:
    """How many exist, as steps. ``lives``: (begin, end, count); None is outside the range."""
    changes: dict[datetime, int] = {}
    at_start = 0
    for begins, ends, count in lives:
        if (ends is not None and ends <= start) or (begins is not None and begins >= end):
            continue
        if begins is None or begins <= start:
            at_start += count
        else:
            changes[begins] = changes.get(begins, 0) + count
        if ends is not None and ends < end:
            changes[ends] = changes.get(ends, 0) - count
    points: list[Point] = [(start, at_start)]
    for at in sorted(changes):
        points.append((at, (points[-1][1] or 0) + changes[at]))
    return [*points, (end, points[-1][1])]


def _over_time(
    traces: list[dict[str, Any]],
    start: datetime,
    end: datetime,
    *,
    has_legend: bool = False,
    **layout: object,
) -> Figure:
    return figure(
        traces,
        HEIGHT_PX,
        xaxis=time_axis(start, end),
        margin={"l": 48, "r": 12, "t": 8, "b": 58},
        showlegend=has_legend or len(traces) > 1,
        **layout,
    )
