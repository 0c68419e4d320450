"""Size of a job's state over time: full state, uploads of checkpoints, and the trend."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from django.utils.translation import gettext

from webapp.charts.checkpoints import bar_widths_ms, thinning_note
from webapp.charts.theme import ACCENT, INK, INK_3, OTHER, UPLOADED, Figure, figure, plot_time
from webapp.lib.instants import instant_text, ms_after
from webapp.lib.quantities import bytes_text

HEIGHT_PX = 290
HOUR = timedelta(hours=1)
Link = Callable[[str, int, datetime], str]
"""Job, checkpoint id and trigger → address of its page."""


@dataclass(frozen=True, slots=True)
class SizePoint:
    """A completed checkpoint. ``state_bytes``: None if this Flink version reports only uploads."""

    checkpoint_id: int
    trigger_time: datetime
    end_to_end_ms: int | None
    state_bytes: int | None
    checkpointed_bytes: int | None
    is_savepoint: bool = False
    job_id: str = ""

    @property
    def at(self) -> datetime:
        return ms_after(self.trigger_time, self.end_to_end_ms)


@dataclass(frozen=True)
class Sizes:
    """Drawn sizes of completed checkpoints, by time: ``uploads``, of ``total_uploads`` the largest
    of each slice, and ``line``, full sizes. ``uploads_only``: no full size is known.
    """

    uploads: Sequence[SizePoint]
    line: Sequence[SizePoint]
    total_uploads: int
    uploads_only: bool = False


@dataclass(frozen=True)
class Trend:
    """A straight line of slope ``bytes_per_h`` through the last size, from ``from_time`` to
    ``to_time``. ``forecast``: there are enough data to draw the line into the future.
    """

    from_time: datetime
    to_time: datetime
    bytes_per_h: float
    forecast: bool = True


def size_over_time(
    sizes: Sizes,
    start: datetime,
    end: datetime,
    trend: Trend | None = None,
    link: Link = lambda job_id, checkpoint_id, trigger_time: "",
) -> tuple[Figure, str]:
    """The figure, a part of a stack, and a note on what it left out."""
    bars, line = sizes.uploads, sizes.line
    span_ms = (end - start) / timedelta(milliseconds=1)
    widths_ms = bar_widths_ms([bar.at for bar in bars], span_ms, 0.6)
    traces = [_uploads(bars, widths_ms, link), _full(line, link)]
    if trend and line:
        traces += _trend(trend, line[-1], end)
    highest = max(
        (max(point.state_bytes or 0, point.checkpointed_bytes or 0) for point in (*line, *bars)),
        default=0,
    )
    notes = (
        thinning_note(
            len(bars), sizes.total_uploads, gettext("uploads"), gettext("the largest one")
        ),
        gettext("This Flink version reports uploads only: the full size of the state is not known.")
        if sizes.uploads_only
        else "",
    )
    result = figure(traces, HEIGHT_PX, yaxis=bytes_axis(highest))
    return result, " ".join(filter(None, notes))


def _uploads(bars: Sequence[SizePoint], widths_ms: list[float], link: Link) -> dict[str, Any]:
    return {
        "type": "bar",
        "name": gettext("uploaded"),
        "x": [plot_time(point.at) for point in bars],
        "y": [point.checkpointed_bytes for point in bars],
        "width": widths_ms,
        "marker": {
            "color": [OTHER if point.is_savepoint else UPLOADED for point in bars],
            "opacity": 0.85,
            "line": {"width": 0},
        },
        **_links_and_hovers(bars, link),
    }


def _full(points: Sequence[SizePoint], link: Link) -> dict[str, Any]:
    # A point without a size is a gap between attempts.
    line = [*points[:1]]
    for before, point in pairwise(points):
        if before.job_id != point.job_id:
            line.append(replace(before, state_bytes=None))
        line.append(point)
    return {
        "type": "scatter",
        "name": gettext("full state"),
        "x": [plot_time(point.at) for point in line],
        "y": [point.state_bytes for point in line],
        "mode": "lines+markers" if len(points) <= 60 else "lines",
        "marker": {"size": 4},
        "line": {"color": INK, "width": 2},
        **_links_and_hovers(line, link),
    }


def _links_and_hovers(points: Sequence[SizePoint], link: Link) -> dict[str, Any]:
    return {
        "customdata": [
            link(point.job_id, point.checkpoint_id, point.trigger_time) for point in points
        ],
        "hovertext": _hover_texts(points),
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _trend(trend: Trend, last: SizePoint, end: datetime) -> list[dict[str, Any]]:
    forecast_to = max(trend.to_time, end)
    spans = [(gettext("trend"), ACCENT, trend.from_time, trend.to_time, "dash")]
    if trend.forecast and forecast_to > last.at:
        spans.append((gettext("forecast"), INK_3, last.at, forecast_to, "dot"))
    return [
        {
            "type": "scatter",
            "name": name,
            "x": [plot_time(start), plot_time(until)],
            "y": [
                max((last.state_bytes or 0) + trend.bytes_per_h * ((at - last.at) / HOUR), 0)
                for at in (start, until)
            ],
            "mode": "lines",
            "line": {"color": colour, "width": 1.4, "dash": dash},
            "hoverinfo": "skip",
        }
        for name, colour, start, until, dash in spans
    ]


def _hover_texts(points: Sequence[SizePoint]) -> list[str]:
    savepoint, checkpoint = gettext("savepoint"), gettext("checkpoint")
    text = gettext(
        "<b>%(kind)s %(checkpoint_id)s</b><br>%(at)s<br>full state %(state_bytes)s<br>uploaded "
        "%(checkpointed_bytes)s"
    )
    return [
        text
        % {
            "kind": savepoint if point.is_savepoint else checkpoint,
            "checkpoint_id": point.checkpoint_id,
            "at": instant_text(point.at),
            "state_bytes": bytes_text(point.state_bytes),
            "checkpointed_bytes": bytes_text(point.checkpointed_bytes),
        }
        for point in points
    ]


def round_axis(highest: float, step: float, value_text: Callable[[float], str]) -> dict[str, Any]:
    """A y axis from zero to a little above the highest value, with a tick each ``step``."""
    ticks = [step * position for position in range(int(highest / step) + 2)]
    return {
        "tickvals": ticks,
        "ticktext": [value_text(tick) if tick else "0" for tick in ticks],
        "range": [0, highest * 1.08 or 1],
    }


def bytes_axis(highest: float) -> dict[str, Any]:
    return round_axis(highest, step_bytes(highest), bytes_text)


def step_bytes(highest: float) -> float:
    """1, 2 or 5 times a power of ten, for about four ticks."""
    if highest <= 0:
        return 1
    step = 10.0 ** max(len(str(int(highest))) - 2, 0)
    return next(
        step * factor for factor in (1, 2, 5, 10, 20, 50, 100) if highest / (step * factor) <= 4.5
    )
