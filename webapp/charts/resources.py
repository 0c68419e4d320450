"""Configured and used resources side by side."""

from collections.abc import Sequence

import plotly.graph_objects as go
from django.utils.translation import gettext

from webapp.charts.theme import ACCENT, OTHER, figure


def tasks_by_taskmanager(series: Sequence[tuple[str, Sequence[int]]]) -> go.Figure:
    """``series``: (label, tasks of each TaskManager); the first is the current one, the second the
    one to compare with.
    """
    bars = [
        go.Bar(
            x=list(range(1, len(tasks) + 1)),
            y=list(tasks),
            name=label,
            marker={"color": colour},
            hovertemplate=gettext("TaskManager %(number)s: %(count)s tasks")
            % {"number": "%{x}", "count": "%{y:,}"}
            + f"<extra>{label}</extra>",
        )
        for (label, tasks), colour in zip(series, (OTHER, ACCENT), strict=False)
    ]
    return figure(
        bars,
        HEIGHT_PX,
        barmode="group",
        xaxis={"title": {"text": "TaskManager"}, "tickformat": ",d"},
        yaxis={"tickformat": ",d"},
    )


HEIGHT_PX = 240
MIB = 1 << 20


def configured_and_used(
    names: Sequence[str],
    configured: Sequence[int | None],
    used: Sequence[int | None],
    words: tuple[str, str],
) -> go.Figure:
    """Bars in bytes; ``words``: the names of the two. Unknown values have no bar."""
    bars = [
        go.Bar(
            x=[None if value is None else value / MIB for value in values],
            y=list(names),
            orientation="h",
            name=word,
            marker={"color": colour},
            hovertemplate=f"%{{y}}: %{{x:,.0f}} MiB<extra>{word}</extra>",
        )
        for values, colour, word in ((configured, OTHER, words[0]), (used, ACCENT, words[1]))
    ]
    # Names below bars would overlap on a phone.
    return figure(
        bars,
        HEIGHT_PX,
        barmode="group",
        yaxis={"type": "category", "autorange": "reversed"},
        xaxis={"title": {"text": "MiB"}, "tickformat": ",d"},
    )
