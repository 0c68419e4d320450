"""The main figure of a finding over time, with its threshold."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import plotly.graph_objects as go
from django.utils.translation import gettext

from webapp.charts import annotations as annotated
from webapp.charts.checkpoints import MOST_POINTS, note, worst_in_buckets
from webapp.charts.theme import ACCENT, CRIT, WARN, figure, plain, plot_time, time_axis
from webapp.lib.instants import instant_text

WIDTH = 1000.0
_LEAST = 4.0
"""Of a thousand: a minute of a day would be less than a pixel."""


@dataclass(frozen=True)
class Bar:
    x: float
    width: float
    title: str


def bars(
    episodes: Iterable[tuple[datetime, datetime, str]], start: datetime, end: datetime
) -> list[Bar]:
    """``episodes`` as (first, last, words); cut at the time range."""
    span = (end - start).total_seconds() or 1.0
    drawn = []
    for first, last, words in episodes:
        if last < start or first > end:
            continue
        x = WIDTH * (max(first, start) - start).total_seconds() / span
        width = max(_LEAST, WIDTH * (min(last, end) - max(first, start)).total_seconds() / span)
        drawn.append(Bar(round(min(x, WIDTH - width), 2), round(width, 2), words))
    return drawn


HEIGHT_PX = 250
_COLOURS = {"critical": CRIT, "warning": WARN}
_TICKS = 4


@dataclass(frozen=True)
class PlottedOccurrence:
    """``value`` of the figure when it was seen; ``words``: value and threshold for people."""

    at: datetime
    value: float
    severity: str
    words: str


def over_time(
    name: str,
    occurrences: Sequence[PlottedOccurrence],
    start: datetime,
    end: datetime,
    threshold: float | None,
    tick_words: Any,
    events: Sequence[annotated.Annotation] = (),
) -> tuple[go.Figure, str]:
    """The figure and what it left out.

    ``occurrences`` are sorted by time; ``tick_words`` writes a value in its unit.
    """
    shown = worst_in_buckets(
        occurrences, MOST_POINTS, lambda point: point.at, lambda point: point.value
    )
    layout, events_note = annotated.drawn(events, start, end)
    line = go.Scatter(
        x=[plot_time(occurrence.at) for occurrence in shown],
        y=[occurrence.value for occurrence in shown],
        mode="lines+markers" if len(shown) <= 200 else "lines",
        line={"color": ACCENT, "width": 1.6},
        marker={
            "size": 7,
            "color": [_COLOURS.get(occurrence.severity, ACCENT) for occurrence in shown],
        },
        hovertext=[
            f"<b>{plain(name)}</b><br>{plain(occurrence.words, 120)}<br>{instant_text(occurrence.at)}"
            for occurrence in shown
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )
    values = [occurrence.value for occurrence in shown] + (
        [threshold] if threshold is not None else []
    )
    low, high = min(0.0, *values), max(0.0, *values)
    step = _round_step((high - low) / _TICKS)
    ticks = [
        step * position for position in range(math.floor(low / step), math.ceil(high / step) + 1)
    ]
    if threshold is not None:
        annotated.add_limit(
            layout,
            threshold,
            gettext("threshold %(threshold)s") % {"threshold": plain(tick_words(threshold))},
            at_right=True,
        )
    result = figure(
        [line],
        HEIGHT_PX,
        margin={"l": 48, "r": 12, "t": 26, "b": 30},
        xaxis=time_axis(start, end),
        yaxis={
            "tickvals": ticks,
            "ticktext": [tick_words(tick) for tick in ticks],
            "range": [ticks[0], max(ticks[-1], high + step * 0.35)],
            "rangemode": "normal",
        },
        **layout,
    )
    return result, " ".join(
        filter(
            None,
            (
                note(
                    len(shown),
                    len(occurrences),
                    gettext("occurrences"),
                    gettext("the largest value"),
                ),
                events_note,
            ),
        )
    )


def _round_step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least)) if least > 0 else 1.0
    return next(
        (factor * power for factor in (1, 2, 2.5, 5) if factor * power >= least), 10 * power
    )
