"""What is there and what is used of it, side by side."""

from collections.abc import Sequence

import plotly.graph_objects as go

from webapp.charts.theme import ACCENT, OTHER, figure

HEIGHT_PX = 240
MIB = 1 << 20


def configured_and_used(
    names: Sequence[str], configured: Sequence[int | None], used: Sequence[int | None], words: tuple[str, str]
) -> go.Figure:
    """In bytes; ``words`` are what the two are called. An unknown one has no bar."""
    bars = [
        go.Bar(
            x=list(names),
            y=[None if value is None else value / MIB for value in values],
            name=word,
            marker={"color": colour},
            hovertemplate=f"%{{x}}: %{{y:,.0f}} MiB<extra>{word}</extra>",
        )
        for values, colour, word in ((configured, OTHER, words[0]), (used, ACCENT, words[1]))
    ]
    return figure(bars, HEIGHT_PX, barmode="group", xaxis={"type": "category"}, yaxis={"title": {"text": "MiB"}, "tickformat": ",d"})
