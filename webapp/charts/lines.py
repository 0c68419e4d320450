"""Lines of one value per slice of time; a slice without data is a gap."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from webapp.charts.sizes import round_axis, step_bytes
from webapp.charts.theme import Figure, figure, plain, plot_time

_HEIGHT_PX = 120
_MOST_MARKED = 60


@dataclass(frozen=True)
class Line:
    name: str
    colour: str
    values: Sequence[float | None]


def lines(
    series: Sequence[Line],
    starts: Sequence[datetime],
    value_text: Callable[[float | None], str],
    step_of: Callable[[float], float] = step_bytes,
) -> Figure:
    """``starts``: of the slices. ``step_of``: highest value → round step between ticks."""
    highest = max(
        (value for line in series for value in line.values if value is not None), default=0
    )
    traces = [
        {
            "type": "scatter",
            "name": line.name,
            "x": [plot_time(at) for at in starts],
            "y": list(line.values),
            "mode": "lines" if len(starts) > _MOST_MARKED else "lines+markers",
            "marker": {"size": 4},
            "line": {"color": line.colour, "width": 1.6},
            "hovertext": [f"{plain(line.name)} {value_text(value)}" for value in line.values],
            "hovertemplate": "%{hovertext}<br>%{x|%Y-%m-%d %H:%M:%S} UTC<extra></extra>",
        }
        for line in series
    ]
    return figure(traces, _HEIGHT_PX, yaxis=round_axis(highest, step_of(highest), value_text))
