"""Bytes by day, stacked by job."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from datetime import date as Date

import plotly.graph_objects as go

from webapp.charts.sizes import bytes_axis
from webapp.charts.theme import ACCENT, figure, plain, plot_time, time_axis
from webapp.lib.quantities import bytes_text

HEIGHT_PX = 300
MOST_NAMED = 5
_COLOURS = (ACCENT, "var(--start-delay)", "var(--alignment)", "var(--sync)", "var(--async)")
Series = Mapping[int, float]
"""UTC days as ordinals → bytes."""


def by_day(
    named: Sequence[tuple[str, Series]], window: int, newest: int, *, as_bars: bool
) -> go.Figure:
    """``named``: at most ``MOST_NAMED``, largest first. Sizes are areas, uploads of each day are
    bars.
    """
    days = range(newest - window + 1, newest + 1)
    # The smallest lies on top, so that the largest has the straight edge.
    layers = [
        *zip([name for name, _ in named], [values for _, values in named], _COLOURS, strict=False)
    ]
    make = _bar if as_bars else _area
    known = {day for _, values, _ in layers for day in values}
    shown = [day for day in days if day in known]
    highest = max((sum(values.get(day, 0) for _, values, _ in layers) for day in shown), default=0)
    start, end = _noon(days[0]) - timedelta(hours=12), _noon(days[-1]) + timedelta(hours=12)
    traces = [make(name, values, shown, colour) for name, values, colour in layers]
    return figure(
        traces,
        HEIGHT_PX,
        barmode="stack",
        xaxis=time_axis(start, end, hoverformat="%Y-%m-%d"),
        yaxis=bytes_axis(highest),
    )


def _area(name: str, values: Series, days: Sequence[int], colour: str) -> go.Scatter:
    return go.Scatter(
        name=plain(name, 30),
        x=[plot_time(_noon(day)) for day in days],
        y=[values.get(day, 0) for day in days],
        stackgroup="all",
        mode="lines" if len(days) > 1 else "markers",
        line={"width": 1, "color": colour},
        fillcolor=colour,
        hovertext=[_hover(name, values, day) for day in days],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _bar(name: str, values: Series, days: Sequence[int], colour: str) -> go.Bar:
    return go.Bar(
        name=plain(name, 30),
        x=[plot_time(_noon(day)) for day in days],
        y=[values.get(day, 0) for day in days],
        width=0.8 * 86_400_000,
        marker={"color": colour, "line": {"width": 0}},
        hovertext=[_hover(name, values, day) for day in days],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _hover(name: str, values: Series, day: int) -> str:
    return f"{plain(name)}<br>{Date.fromordinal(day)} {bytes_text(values.get(day))}"


def _noon(day: int) -> datetime:
    return datetime.combine(Date.fromordinal(day), time(12), UTC)
