"""Checkpoint timeline: one bar a checkpoint, stacked by the phases of its slowest subtask."""

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import plotly.graph_objects as go
from django.utils.translation import gettext

from spark_jobs.serving import FAILED_OUTCOMES, PHASES
from webapp.charts import annotations as annotated
from webapp.charts.theme import (
    ACCENT,
    CRIT,
    INK_3,
    OK,
    OTHER,
    PHASE_COLOURS,
    PHASE_WORDS,
    UNKNOWN,
    figure,
    plain,
    plot_time,
    time_axis,
)
from webapp.lib.checkpoint_point import CheckpointPoint
from webapp.lib.instants import instant_text
from webapp.lib.quantities import bytes_text, duration_text

WIDEST_BAR_SHARE = 0.035
"""Of the chart: a single bar must not look like a block."""

MOST_POINTS = 1_000
"""Points of a line across a chart of about a thousand pixels; browsers get slow from about two
thousand.
"""

MOST_BARS = 480
"""Bars across a chart of about a thousand pixels: two pixels each."""


def note(shown: int, total: int, what: str, kept: str) -> str:
    """A note on a thinned chart; empty if nothing was left out."""
    return (
        gettext("%(shown)s of %(total)s %(what)s drawn: %(kept)s of each slice of time.")
        % {"shown": f"{shown:,}", "total": f"{total:,}", "what": what, "kept": kept}
        if shown < total
        else ""
    )


def bar_widths_ms(times: Sequence[datetime], span_ms: float, share: float) -> list[float]:
    """Widths of bars at ``times`` (sorted): ``share`` of the usual distance, less if a neighbour is
    closer. A savepoint is often right beside a checkpoint: the smallest distance for all would make
    hairlines.
    """
    widest_ms = span_ms * WIDEST_BAR_SHARE
    gaps = [
        (later - earlier) / timedelta(milliseconds=1)
        for earlier, later in itertools.pairwise(times)
    ]
    usual_ms = statistics.median(gaps) if gaps else widest_ms / share
    narrowest_ms = max(usual_ms * share / 3, span_ms / 800)
    around = [float("inf"), *gaps, float("inf")] if times else []
    return [
        min(max(min(usual_ms * share, before * share, after * share), narrowest_ms), widest_ms)
        for before, after in itertools.pairwise(around)
    ]


HEIGHT_PX = 290
FAILED_OPACITY = 0.42
SHARED = "bars"
"""Traces with this ``meta`` take hover texts and links from ``layout.meta``: the same for five
traces, sent once.
"""
_MOST_GOOD_MARKS = 160
_MARKS_SHARE = 0.1
"""How far below the bars their outcomes are, of the longest bar."""
_MINUTE_MS = 60_000.0
_MS = timedelta(milliseconds=1)
_TICK_STEPS_MS = (
    *(
        1.0,
        2.0,
        5.0,
        10.0,
        20.0,
        50.0,
        100.0,
        200.0,
        500.0,
        1_000.0,
        2_000.0,
        5_000.0,
        10_000.0,
        15_000.0,
        30_000.0,
    ),
    *(minutes * _MINUTE_MS for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 360, 1_440)),
)


@dataclass(frozen=True)
class CheckpointBar(CheckpointPoint):
    url: str = ""

    @property
    def failed(self) -> bool:
        return self.outcome in FAILED_OUTCOMES

    @property
    def parts_ms(self) -> dict[str, float]:
        """Phases that add up.

        An unaligned snapshot's asynchronous part may contain its alignment, which is then left out.
        """
        parts = {phase: getattr(self, f"{phase}_ms") or 0.0 for phase in PHASES}
        if self.unaligned:
            parts["alignment"] = 0.0
        return parts

    @property
    def lasted_ms(self) -> float:
        """The height of the bar: end-to-end if acknowledged, else the time until the checkpoint
        ended.
        """
        if self.end_to_end_ms is not None:
            return self.end_to_end_ms
        return (self.end_time - self.trigger_time) / _MS if self.end_time else 0.0

    @property
    def other_ms(self) -> float:
        """The rest of the height; all of it if no phase is known."""
        return max(self.lasted_ms - sum(self.parts_ms.values()), 0.0)


def timeline(
    bars: Sequence[CheckpointBar],
    start: datetime,
    end: datetime,
    timeout_ms: float | None = None,
    events: Sequence[annotated.Annotation] = (),
    total: int | None = None,
) -> tuple[go.Figure, str]:
    """The figure and what it left out.

    ``bars`` are sorted by trigger time, at most ``MOST_BARS`` of the ``total``.
    """
    layout, events_note = annotated.drawn(events, start, end)
    widths_ms = bar_widths_ms(
        [bar.trigger_time for bar in bars], (end - start) / timedelta(milliseconds=1), 0.72
    )
    traces = []
    for phase in PHASES:
        heights_ms = [bar.parts_ms[phase] for bar in bars]
        name, colour = gettext(PHASE_WORDS[phase]), PHASE_COLOURS[phase]
        traces.append(_stack(bars, name, colour, heights_ms, widths_ms))
    others_ms = [bar.other_ms for bar in bars]
    traces.append(_stack(bars, gettext("other or unknown"), OTHER, others_ms, widths_ms))
    longest_ms = max((sum(bar.parts_ms.values()) + bar.other_ms for bar in bars), default=0.0)
    # A distant time-out would flatten the bars; it is only drawn if they come near it.
    if timeout_ms and longest_ms >= timeout_ms / 3:
        annotated.add_limit(
            layout,
            timeout_ms,
            gettext("timeout %(timeout_ms)s") % {"timeout_ms": duration_text(timeout_ms)},
        )
        longest_ms = max(longest_ms, timeout_ms)
    below_ms = longest_ms * _MARKS_SHARE or 1.0
    traces += _marks(bars, -below_ms)
    tick_ms = tick_step_ms(longest_ms)
    ticks = [tick_ms * step for step in range(int(longest_ms / tick_ms) + 2)]
    result = figure(
        traces,
        HEIGHT_PX,
        barmode="stack",
        meta={
            SHARED: {
                "hovertext": [_hover(bar) for bar in bars],
                "customdata": [bar.url for bar in bars],
            }
        },
        xaxis=time_axis(start, end),
        yaxis={
            "tickvals": ticks,
            "ticktext": [duration_text(tick) if tick else "0 s" for tick in ticks],
            "range": [-2 * below_ms, longest_ms + below_ms],
        },
        **layout,
    )
    return result, " ".join(
        filter(
            None,
            (
                note(
                    len(bars),
                    total or len(bars),
                    gettext("checkpoints"),
                    gettext("the failed or slowest one"),
                ),
                events_note,
            ),
        )
    )


def _stack(
    bars: Sequence[CheckpointBar],
    name: str,
    colour: str,
    heights_ms: list[float],
    widths_ms: list[float],
) -> go.Bar:
    return go.Bar(
        name=name,
        x=[plot_time(bar.trigger_time) for bar in bars],
        y=heights_ms,
        width=widths_ms,
        marker={
            "color": colour,
            "line": {"width": 0},
            "opacity": [FAILED_OPACITY if bar.failed else 1.0 for bar in bars],
        },
        meta=SHARED,
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _marks(bars: Sequence[CheckpointBar], y: float) -> list[go.Scatter]:
    # What comes last is drawn on top.
    kinds = (
        (
            gettext("savepoint"),
            "diamond",
            ACCENT,
            [bar for bar in bars if bar.is_savepoint and not bar.failed],
        ),
        (
            gettext("in progress"),
            "square-open",
            INK_3,
            [bar for bar in bars if bar.outcome == "in_progress" and not bar.is_savepoint],
        ),
        (
            gettext("aborted"),
            "line-ew-open",
            UNKNOWN,
            [
                b
                for b in bars
                if b.outcome in ("aborted", "subsumed", "preflight") and not b.is_savepoint
            ],
        ),
        (
            gettext("completed"),
            "circle",
            OK,
            [bar for bar in bars if bar.outcome == "completed" and not bar.is_savepoint],
        ),
        (gettext("failed"), "x", CRIT, [bar for bar in bars if bar.failed]),
    )
    return [
        go.Scatter(
            name=name,
            x=[plot_time(bar.trigger_time) for bar in chosen],
            y=[y] * len(chosen),
            mode="markers",
            cliponaxis=False,
            marker={
                "symbol": symbol,
                "color": colour,
                "size": 8,
                "line": {"width": 2 if "open" in symbol else 0, "color": colour},
            },
            customdata=[bar.url for bar in chosen],
            hovertext=[_hover(bar) for bar in chosen],
            hovertemplate="%{hovertext}<extra></extra>",
            showlegend=False,
        )
        for name, symbol, colour, chosen in kinds
        if chosen and not (symbol == "circle" and len(chosen) > _MOST_GOOD_MARKS)
    ]


def _hover(bar: CheckpointBar) -> str:
    kind = gettext("savepoint") if bar.is_savepoint else gettext("checkpoint")
    lines = [
        f"<b>{kind} {bar.checkpoint_id} · {plain(gettext(bar.outcome.replace('_', ' ')))}</b>",
        instant_text(bar.trigger_time),
    ]
    if bar.reason:
        lines.append(plain(bar.reason))
    ended = (
        gettext(", ended after %(lasted_ms)s") % {"lasted_ms": duration_text(bar.lasted_ms)}
        if bar.end_to_end_ms is None and bar.end_time
        else ""
    )
    lines.append(
        gettext("end to end %(end_to_end_ms)s%(ended)s · state %(state_bytes)s")
        % {
            "end_to_end_ms": duration_text(bar.end_to_end_ms),
            "ended": ended,
            "state_bytes": bytes_text(bar.state_bytes),
        }
    )
    known = [
        f"{gettext(PHASE_WORDS[phase])} {duration_text(getattr(bar, f'{phase}_ms'))}"
        for phase in PHASES
    ]
    lines.append(" · ".join(known[:2]))
    lines.append(" · ".join(known[2:]))
    if bar.slowest:
        lines.append(gettext("slowest: %(slowest)s") % {"slowest": plain(bar.slowest)})
    return "<br>".join(lines)


def tick_step_ms(longest_ms: float) -> float:
    """A round step in the units people read durations in, for about four ticks."""
    return next(
        (step for step in _TICK_STEPS_MS if longest_ms / step <= 4.5), max(longest_ms / 4, 1.0)
    )
