"""What is there and what is used of it, side by side."""

from collections.abc import Sequence

import plotly.graph_objects as go

from webapp.charts.theme import ACCENT, OTHER, figure

HEIGHT_PX = 240
MIB = 1 << 20


def configured_and_used(
    names: Sequence[str],
    configured: Sequence[int | None],
    used: Sequence[int | None],
    words: tuple[str, str],
) -> go.Figure:
    """In bytes; ``words`` are what the two are called. An unknown one has no bar."""
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
