"""Starts of a job as stacked bars, a bar a start and a colour a phase."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from webapp.charts.theme import ACCENT, CRIT, OTHER, UNKNOWN, figure
from webapp.lib.quantities import duration_text

HEIGHT_PX = 260
COLOURS = {
    "graph": ACCENT,
    "cancel": "var(--sync)",
    "wait": UNKNOWN,
    "failed_attempts": CRIT,
    "slots": "var(--start-delay)",
    "deploy": "var(--alignment)",
    "restore": "var(--async)",
    "detect": OTHER,
}


def phases_by_start(
    starts: Sequence[tuple[str, Mapping[str, int]]], labels: Mapping[str, str]
) -> go.Figure:
    """``starts``: (name, milliseconds by phase), oldest first. Phases that no start has are left
    out.
    """
    bars = [
        go.Bar(
            x=[label for label, _ in starts],
            y=[durations.get(phase, 0) / 1000 for _, durations in starts],
            name=labels[phase],
            marker={"color": COLOURS[phase]},
            width=min(0.8, 0.1 * len(starts)),
            customdata=[duration_text(durations.get(phase)) for _, durations in starts],
            hovertemplate=f"%{{x}}: %{{customdata}}<extra>{labels[phase]}</extra>",
        )
        for phase in labels
        if any(durations.get(phase) for _, durations in starts)
    ]
    return figure(
        bars, HEIGHT_PX, barmode="stack", xaxis={"type": "category"}, yaxis={"ticksuffix": " s"}
    )
