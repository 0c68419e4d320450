from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils.translation import gettext

from webapp.charts.sizes import bytes_axis
from webapp.charts.theme import CRIT, Figure, figure, plot_time, time_axis
from webapp.lib.quantities import bytes_text, count_text
from webapp.lib.translations import gettext_lazy as _

HEIGHT_PX = 300
MOST_MARKED = 60
"""Audits that are marked: the newest may be too short a step to be seen."""
VERDICT_COLOURS = {
    "live": "var(--live)",
    "retained_waste": "var(--waste)",
    "orphan": "var(--orphan)",
    "recent": "var(--recent)",
    "kept": "var(--kept)",
}
WORDS = {
    "live": _("live"),
    "retained_waste": _("retained waste"),
    "orphan": _("orphan"),
    "recent": _("unreferenced, not provable yet"),
    "kept": _("kept"),
    "missing": _("missing"),
}


Point = tuple[datetime, Mapping[str, int]]
"""An audit and its sums, with the columns of a root: ``live_bytes``, ``missing_files``."""


def word_of(verdict: str) -> str:
    return str(WORDS.get(verdict, verdict.replace("_", " ")))


def history(points: Sequence[Point]) -> Figure:
    """Stacked areas of ``points``, oldest first."""
    traces = [
        _trace(
            name,
            word_of(name),
            points,
            stackgroup="verdicts",
            mode="lines+markers" if len(points) <= MOST_MARKED else "lines",
            marker={"size": 4, "color": colour},
            # The result of an audit holds until the next one.
            line={"width": 0.5, "color": colour, "shape": "hv"},
            fillcolor=colour,
        )
        for name, colour in VERDICT_COLOURS.items()
    ]
    missing = [sums["missing_bytes"] for _at, sums in points]
    if any(missing):
        traces.append(
            _trace(
                "missing",
                gettext("missing (referred to, not there)"),
                points,
                mode="lines+markers",
                marker={"size": 5, "symbol": "triangle-up"},
                line={"width": 2, "color": CRIT, "dash": "dot", "shape": "hv"},
            )
        )
    stacked = [sum(sums[f"{name}_bytes"] for name in VERDICT_COLOURS) for _at, sums in points]
    return figure(
        traces,
        HEIGHT_PX,
        xaxis=time_axis(points[0][0], points[-1][0]),
        yaxis=bytes_axis(max(*stacked, *missing)),
        hovermode="x unified",
    )


def _trace(name: str, label: str, points: Sequence[Point], **look: Any) -> dict[str, Any]:
    hover = gettext("%(verdict)s %(bytes)s in %(files)s files")
    return {
        "type": "scatter",
        "name": label,
        "x": [plot_time(at) for at, _sums in points],
        "y": [sums[f"{name}_bytes"] for _at, sums in points],
        "hovertext": [
            hover
            % {
                "verdict": gettext(name.replace("_", " ")),
                "bytes": bytes_text(sums[f"{name}_bytes"]),
                "files": count_text(sums[f"{name}_files"]),
            }
            for _at, sums in points
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
        **look,
    }
