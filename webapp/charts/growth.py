from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from datetime import date as Date

from webapp.charts.sizes import bytes_axis
from webapp.charts.theme import ACCENT, Figure, figure, plain, plot_time, time_axis
from webapp.lib.quantities import bytes_text

HEIGHT_PX = 300
MOST_NAMED = 5
HALF_A_DAY = timedelta(hours=12)
_COLOURS = (ACCENT, "var(--start-delay)", "var(--alignment)", "var(--sync)", "var(--async)")
Series = Mapping[int, float]
"""Bytes by UTC day, as an ordinal."""


def by_day(areas: Sequence[tuple[str, Series]], window_days: int, newest: int) -> Figure:
    """``areas``: names and sizes, at most ``MOST_NAMED``, the largest first. ``newest``: a day."""
    measured_days = {day for _, values in areas for day in values}
    days = [day for day in range(newest - window_days + 1, newest + 1) if day in measured_days]
    highest = max((sum(values.get(day, 0) for _, values in areas) for day in days), default=0)
    start, end = _noon(newest - window_days) + HALF_A_DAY, _noon(newest) + HALF_A_DAY
    # The smallest lies on top, so that the largest has the straight edge.
    traces = [
        {
            "type": "scatter",
            "name": plain(name, 30),
            "x": [plot_time(_noon(day)) for day in days],
            "y": [values.get(day, 0) for day in days],
            "stackgroup": "all",
            "mode": "lines" if len(days) > 1 else "markers",
            "line": {"width": 1, "color": colour},
            "fillcolor": colour,
            "hovertext": [
                f"{plain(name)}<br>{Date.fromordinal(day)} {bytes_text(values.get(day))}"
                for day in days
            ],
            "hovertemplate": "%{hovertext}<extra></extra>",
        }
        for (name, values), colour in zip(areas, _COLOURS, strict=False)
    ]
    return figure(
        traces,
        HEIGHT_PX,
        xaxis=time_axis(start, end, hoverformat="%Y-%m-%d"),
        yaxis=bytes_axis(highest),
    )


def _noon(day: int) -> datetime:
    return datetime.combine(Date.fromordinal(day), time(12), UTC)
