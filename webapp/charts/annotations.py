from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext, gettext_noop

from webapp.charts.theme import ACCENT, CRIT, INK_3, OK, WARN, edge_label, plain, plot_time
from webapp.lib.instants import instant_text

WORDS = (
    gettext_noop("attempt"),
    gettext_noop("deploy"),
    gettext_noop("failure"),
    gettext_noop("operator"),
    gettext_noop("restart"),
    gettext_noop("restore"),
    gettext_noop("savepoint"),
    gettext_noop("taskmanager lost"),
    gettext_noop("terminal"),
)

MOST_LINES = 80
_LABEL_EVERY_SHARE = 0.3
_SYMBOL_EVERY_SHARE = 0.02
_ROW_PX = 12
_RIGHT_EDGE = 0.85
_WORDS_SHARE = 0.22
"""A label's words cover this share of a narrow chart."""


@dataclass(frozen=True)
class Annotation:
    """``kind`` decides symbol, colour and row; unknown kinds are grey. A click opens ``url``."""

    at: datetime
    kind: str
    label: str
    url: str = ""


LOOK = {
    "savepoint": ("◆", ACCENT),
    "restore": ("↺", ACCENT),
    "restart": ("↻", WARN),
    "deploy": ("▸", OK),
    "operator": ("▹", ACCENT),
    "failure": ("✕", CRIT),
    "taskmanager_lost": ("⊘", CRIT),
    "terminal": ("■", INK_3),
    "attempt": ("┃", INK_3),
    "critical": ("▲", CRIT),
    "warning": ("◆", WARN),
}


FINDING_KINDS = ("critical", "warning")


def annotation_layout(
    annotations: Sequence[Annotation], start: datetime, end: datetime
) -> tuple[dict[str, Any], str]:
    """``shapes`` and ``annotations`` of a Plotly layout, and a note if some were left out. A label
    that has no room shrinks to its symbol, whose hover text has the words.
    """
    in_range = sorted((a for a in annotations if start <= a.at <= end), key=lambda a: a.at)
    drawn = in_range[-MOST_LINES:]
    shapes = [
        _line(annotation.at, LOOK.get(annotation.kind, ("•", INK_3))[1]) for annotation in drawn
    ]
    # Findings have a row above that of events, so that none hides another.
    events = [annotation for annotation in drawn if annotation.kind not in FINDING_KINDS]
    findings = [annotation for annotation in drawn if annotation.kind in FINDING_KINDS]
    labels = _labels(events, start, end) + _labels(findings, start, end)
    note = (
        gettext("The newest %(number)s of %(all)s annotations are drawn.")
        % {"number": len(drawn), "all": len(in_range)}
        if len(drawn) < len(in_range)
        else ""
    )
    return {"shapes": shapes, "annotations": labels}, note


def add_limit(layout: dict[str, Any], value: float, words: str) -> None:
    """Adds a dashed line across a chart, with words at its left end."""
    layout["shapes"].append(
        {
            "type": "line",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "yref": "y",
            "y0": value,
            "y1": value,
            "line": {"color": CRIT, "width": 1.2, "dash": "dash"},
        }
    )
    layout["annotations"].append(edge_label(words, value, CRIT, yanchor="bottom"))


def _labels(row: Sequence[Annotation], start: datetime, end: datetime) -> list[dict[str, Any]]:
    labels = []
    last_label = last_symbol = float("-inf")
    for annotation in row:
        symbol, colour = LOOK.get(annotation.kind, ("•", INK_3))
        place = (annotation.at - start) / (end - start)
        # Near the right edge words are left of their line, where earlier words may still reach.
        has_room = place - last_label >= _LABEL_EVERY_SHARE + (
            _WORDS_SHARE if place > _RIGHT_EDGE else 0
        )
        if not has_room and (
            place - last_symbol < _SYMBOL_EVERY_SHARE or place - last_label < _WORDS_SHARE
        ):
            continue
        last_symbol = place
        last_label = place if has_room else last_label
        labels.append(_label(annotation, symbol, colour, with_words=has_room, place=place))
    return labels


def _line(at: datetime, colour: str) -> dict[str, Any]:
    x = plot_time(at)
    return {
        "type": "line",
        "xref": "x",
        "yref": "paper",
        "x0": x,
        "x1": x,
        "y0": 0,
        "y1": 1,
        "line": {"color": colour, "width": 1, "dash": "dot"},
    }


def _label(
    annotation: Annotation, symbol: str, colour: str, *, with_words: bool, place: float
) -> dict[str, Any]:
    label = annotation.label or annotation.kind
    words = plain(label, 18)
    anchor, shift = ("right", 4) if place > _RIGHT_EDGE else ("left", -4)
    return {
        "x": plot_time(annotation.at),
        "xref": "x",
        "y": 1,
        "yref": "paper",
        "yanchor": "bottom",
        "xanchor": anchor if with_words else "center",
        "xshift": shift if with_words else 0,
        "text": f"{symbol} {words}" if with_words else symbol,
        "hovertext": f"{plain(label, 200)}<br>{instant_text(annotation.at)}",
        "font": {"size": 11, "color": colour},
        "showarrow": False,
        # Plotly annotations cannot carry data; charts.js reads the address from the name.
        **({"name": annotation.url, "captureevents": True} if annotation.url else {}),
        **({"yshift": _ROW_PX} if annotation.kind in FINDING_KINDS else {}),
    }
