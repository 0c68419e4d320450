"""A figure for a page, with its time axis in the shown zone. An axis has one offset, that of its
end: otherwise the hour that daylight saving repeats would overlap itself. Instants in hover texts
have their own offset.
"""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import plotly.graph_objects as go
from django.utils.translation import gettext

from webapp.lib import shown_zone

_PLOT_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}")
"""As :func:`webapp.charts.theme.plot_time` writes it; nothing else of a figure looks so."""
_OF_UTC = " UTC"
_FORMS = ("hoverformat", "hovertemplate")


def drawn(figure: go.Figure) -> dict[str, Any]:
    """Plain JSON for plotly.js; ``layout.meta.utc_offset_ms`` is how far the clock of its time axis
    is ahead of UTC, absent for none.
    """
    # Plotly's own encoder handles its arrays and types; the faster one refuses integers beyond 64
    # bits, such as sums of hostile figures.
    try:
        text = figure.to_json()
    except TypeError:
        text = figure.to_json(engine="json")
    made: dict[str, Any] = json.loads(text)
    axis = made["layout"].get("xaxis") or {}
    zone = shown_zone.current()
    if (
        zone is UTC
        or not str(axis.get("hoverformat", "")).endswith(_OF_UTC)
        or not axis.get("range")
    ):
        return made
    end = datetime.fromisoformat(axis["range"][1]).replace(tzinfo=UTC).astimezone(zone)
    ahead = end.utcoffset() or timedelta()
    moved: dict[str, Any] = _shift(made, ahead, f" {shown_zone.offset_of(end)}")
    moved["layout"].setdefault("meta", {})["utc_offset_ms"] = ahead // timedelta(milliseconds=1)
    moved["layout"]["xaxis"]["title"] = {
        "text": shown_zone.offset_of(end),
        "font": {"size": 11},
        "standoff": 4,
    }
    return moved


def answer(figure: go.Figure, note: str) -> dict[str, Any]:
    return {"figure": drawn(figure), "note": note}


def answer_or_nothing(figure: go.Figure | None) -> dict[str, Any]:
    if figure is not None and figure.data:
        return answer(figure, "")
    title, text = gettext("Nothing was seen in this time"), gettext("Choose a longer time range.")
    return {"figure": None, "note": "", "empty": {"title": title, "text": text}}


def _shift(part: Any, ahead: timedelta, named: str) -> Any:
    if isinstance(part, dict):
        return {
            key: _rename(value, named) if key in _FORMS else _shift(value, ahead, named)
            for key, value in part.items()
        }
    if isinstance(part, list):
        return [_shift(item, ahead, named) for item in part]
    if isinstance(part, str) and _PLOT_TIME.fullmatch(part):
        return (datetime.fromisoformat(part) + ahead).isoformat(sep=" ", timespec="milliseconds")
    return part


def _rename(form: Any, named: str) -> Any:
    return form.replace(_OF_UTC, named) if isinstance(form, str) else form
