"""Checkpoint timeline: each bar is a checkpoint, stacked by the phases of its slowest subtask."""

import itertools
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext, gettext_noop

from spark_jobs.serving import FAILED_OUTCOMES, PHASES
from webapp.charts import annotations
from webapp.charts.theme import (
    ACCENT,
    CRIT,
    INK_3,
    OK,
    OTHER,
    PHASE_COLOURS,
    PHASE_WORDS,
    UNKNOWN,
    Figure,
    figure,
    plain,
    plot_time,
    time_axis,
)
from webapp.lib.checkpoint_point import CheckpointPoint
from webapp.lib.instants import instant_text
from webapp.lib.quantities import bytes_text, duration_text

WIDEST_BAR_SHARE = 0.035
"""Share of the chart's width: a single bar must not look like a block."""

MOST_DRAWN = 480
"""Bars or points of a line: two of about a thousand pixels each."""


def thinning_note(shown: int, total: int, noun: str, kept: str) -> str:
    return (
        gettext("%(shown)s of %(total)s %(what)s drawn: %(kept)s of each slice of time.")
        % {"shown": f"{shown:,}", "total": f"{total:,}", "what": noun, "kept": kept}
        if shown < total
        else ""
    )


def bar_widths_ms(times: Sequence[datetime], span_ms: float, share: float) -> list[float]:
    """``share`` of the median distance of sorted ``times``, or of that to a closer neighbour."""
    widest_ms = span_ms * WIDEST_BAR_SHARE
    gaps = [(later - earlier) / _MS for earlier, later in itertools.pairwise(times)]
    usual_ms = statistics.median(gaps) if gaps else widest_ms / share
    narrowest_ms = max(usual_ms * share / 3, span_ms / 800)
    gaps_with_ends = [float("inf"), *gaps, float("inf")] if times else []
    return [
        min(max(min(usual_ms * share, before * share, after * share), narrowest_ms), widest_ms)
        for before, after in itertools.pairwise(gaps_with_ends)
    ]


HEIGHT_PX = 290
FAILED_OPACITY = 0.42
SHARED = "bars"
"""Traces with this ``meta`` take hover texts and links from ``layout.meta``."""
_MOST_GOOD_MARKS = 160
_MARKS_SHARE = 0.1
"""Distance of the outcomes below the bars, as a share of the longest bar."""
_MS = timedelta(milliseconds=1)
_TICK_STEPS_MS = (
    *map(float, (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000)),
    *(minutes * 60_000.0 for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 360, 1_440)),
)


@dataclass(frozen=True)
class CheckpointBar(CheckpointPoint):
    url: str = ""

    @property
    def has_failed(self) -> bool:
        return self.outcome in FAILED_OUTCOMES

    @property
    def phases_ms(self) -> dict[str, float]:
        """The alignment of an unaligned checkpoint is 0: the asynchronous phase may contain it."""
        phases_ms = {phase: getattr(self, f"{phase}_ms") or 0.0 for phase in PHASES}
        if self.unaligned:
            phases_ms["alignment"] = 0.0
        return phases_ms

    @property
    def height_ms(self) -> float:
        """The end-to-end duration if it is known, else the time until the checkpoint ended."""
        if self.end_to_end_ms is not None:
            return self.end_to_end_ms
        return (self.end_time - self.trigger_time) / _MS if self.end_time else 0.0

    @property
    def other_ms(self) -> float:
        """The part of the height that no phase explains."""
        return max(self.height_ms - sum(self.phases_ms.values()), 0.0)


def timeline(
    bars: Sequence[CheckpointBar],
    start: datetime,
    end: datetime,
    timeout_ms: float | None = None,
    events: Sequence[annotations.Annotation] = (),
    total: int | None = None,
) -> tuple[Figure, str]:
    """The figure, and a note on what it left out. ``bars``: by time, ``MOST_DRAWN`` of ``total``."""
    layout, events_note = annotations.annotation_layout(events, start, end)
    widths_ms = bar_widths_ms([bar.trigger_time for bar in bars], (end - start) / _MS, 0.72)
    traces = []
    for phase in PHASES:
        heights_ms = [bar.phases_ms[phase] for bar in bars]
        name, colour = gettext(PHASE_WORDS[phase]), PHASE_COLOURS[phase]
        traces.append(_stack(bars, name, colour, heights_ms, widths_ms))
    others_ms = [bar.other_ms for bar in bars]
    traces.append(_stack(bars, gettext("other or unknown"), OTHER, others_ms, widths_ms))
    longest_ms = max((sum(bar.phases_ms.values()) + bar.other_ms for bar in bars), default=0.0)
    # A time-out far above the bars would flatten them.
    if timeout_ms and longest_ms >= timeout_ms / 3:
        annotations.add_limit(
            layout,
            timeout_ms,
            gettext("timeout %(timeout_ms)s") % {"timeout_ms": duration_text(timeout_ms)},
        )
        longest_ms = max(longest_ms, timeout_ms)
    below_ms = longest_ms * _MARKS_SHARE or 1.0
    hover_texts = _hover_texts(bars)
    traces += _marks(list(zip(bars, hover_texts, strict=True)), -below_ms)
    tick_ms = tick_step_ms(longest_ms)
    ticks = [tick_ms * step for step in range(int(longest_ms / tick_ms) + 2)]
    result = figure(
        traces,
        HEIGHT_PX,
        barmode="stack",
        meta={
            SHARED: {
                "hovertext": hover_texts,
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
    bars_note = thinning_note(
        len(bars), total or len(bars), gettext("checkpoints"), gettext("the failed or slowest one")
    )
    return result, " ".join(filter(None, (bars_note, events_note)))


def _stack(
    bars: Sequence[CheckpointBar],
    name: str,
    colour: str,
    heights_ms: list[float],
    widths_ms: list[float],
) -> dict[str, Any]:
    return {
        "type": "bar",
        "name": name,
        "x": [plot_time(bar.trigger_time) for bar in bars],
        "y": heights_ms,
        "width": widths_ms,
        "marker": {
            "color": colour,
            "line": {"width": 0},
            "opacity": [FAILED_OPACITY if bar.has_failed else 1.0 for bar in bars],
        },
        "meta": SHARED,
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


_MARKS = {
    "savepoint": (gettext_noop("savepoint"), "diamond", ACCENT),
    "in_progress": (gettext_noop("in progress"), "square-open", INK_3),
    "aborted": (gettext_noop("aborted"), "line-ew-open", UNKNOWN),
    "completed": (gettext_noop("completed"), "circle", OK),
    "failed": (gettext_noop("failed"), "x", CRIT),
}
"""Name, symbol and colour by kind. Later kinds cover earlier ones."""


def _mark_kind(bar: CheckpointBar) -> str:
    if bar.has_failed:
        return "failed"
    if bar.is_savepoint:
        return "savepoint"
    return "aborted" if bar.outcome in ("subsumed", "preflight") else bar.outcome


def _marks(bars: Sequence[tuple[CheckpointBar, str]], y: float) -> list[dict[str, Any]]:
    """The outcomes at the height ``y``. ``bars``: with their hover texts."""
    by_kind: dict[str, list[tuple[CheckpointBar, str]]] = defaultdict(list)
    for bar, hover_text in bars:
        by_kind[_mark_kind(bar)].append((bar, hover_text))
    traces = []
    for kind, (name, symbol, colour) in _MARKS.items():
        of_kind = by_kind[kind]
        if not of_kind or (kind == "completed" and len(of_kind) > _MOST_GOOD_MARKS):
            continue
        traces.append(
            {
                "type": "scatter",
                "name": gettext(name),
                "x": [plot_time(bar.trigger_time) for bar, _hover_text in of_kind],
                "y": [y] * len(of_kind),
                "mode": "markers",
                "cliponaxis": False,
                "marker": {
                    "symbol": symbol,
                    "color": colour,
                    "size": 8,
                    "line": {"width": 2 if "open" in symbol else 0, "color": colour},
                },
                "customdata": [bar.url for bar, _hover_text in of_kind],
                "hovertext": [hover_text for _bar, hover_text in of_kind],
                "hovertemplate": "%{hovertext}<extra></extra>",
                "showlegend": False,
            }
        )
    return traces


def _hover_texts(bars: Sequence[CheckpointBar]) -> list[str]:
    """In the order of ``bars``. Words are translated once, not for each of hundreds of bars."""
    savepoint, checkpoint = gettext("savepoint"), gettext("checkpoint")
    ended_after = gettext(", ended after %(lasted_ms)s")
    figures = gettext("end to end %(end_to_end_ms)s%(ended)s · state %(state_bytes)s")
    slowest = gettext("slowest: %(slowest)s")
    phase_words = {phase: gettext(PHASE_WORDS[phase]) for phase in PHASES}
    outcome_words = {
        outcome: plain(gettext(outcome.replace("_", " ")))
        for outcome in {bar.outcome for bar in bars}
    }

    def hover_text(bar: CheckpointBar) -> str:
        kind = savepoint if bar.is_savepoint else checkpoint
        lines = [
            f"<b>{kind} {bar.checkpoint_id} · {outcome_words[bar.outcome]}</b>",
            instant_text(bar.trigger_time),
        ]
        if bar.reason:
            lines.append(plain(bar.reason))
        ended = (
            ended_after % {"lasted_ms": duration_text(bar.height_ms)}
            if bar.end_to_end_ms is None and bar.end_time
            else ""
        )
        lines.append(
            figures
            % {
                "end_to_end_ms": duration_text(bar.end_to_end_ms),
                "ended": ended,
                "state_bytes": bytes_text(bar.state_bytes),
            }
        )
        phases = [
            f"{word} {duration_text(getattr(bar, f'{phase}_ms'))}"
            for phase, word in phase_words.items()
        ]
        lines += [" · ".join(phases[:2]), " · ".join(phases[2:])]
        if bar.slowest:
            lines.append(slowest % {"slowest": plain(bar.slowest)})
        return "<br>".join(lines)

    return [hover_text(bar) for bar in bars]


def tick_step_ms(longest_ms: float) -> float:
    """A round step in s, min or h, for about four ticks."""
    return next(
        (step for step in _TICK_STEPS_MS if longest_ms / step <= 4.5), max(longest_ms / 4, 1.0)
    )
