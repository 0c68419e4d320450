"""Figures with the time axis in the reader's zone. The whole axis has the UTC offset of its
end, since daylight saving repeats an hour. Instants in hover texts have their own offset.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils.translation import gettext

from webapp.charts.theme import Figure
from webapp.lib import shown_zone

_PLOT_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}")
"""The format of :func:`webapp.charts.theme.plot_time`. No other text of a figure has this format.
"""
_UTC_SUFFIX = " UTC"
_FORMAT_KEYS = ("hoverformat", "hovertemplate")


def in_shown_zone(figure: Figure) -> Figure:
    """``layout.meta`` gets ``utc_offset_ms`` of the time axis, unless the zone is UTC."""
    axis = figure["layout"].get("xaxis") or {}
    zone = shown_zone.current()
    if (
        zone is UTC
        or not str(axis.get("hoverformat", "")).endswith(_UTC_SUFFIX)
        or not axis.get("range")
    ):
        return figure
    end = datetime.fromisoformat(axis["range"][1]).replace(tzinfo=UTC).astimezone(zone)
    offset = end.utcoffset() or timedelta()
    shifted: dict[str, Any] = _shift(figure, offset, f" {shown_zone.offset_of(end)}")
    shifted["layout"].setdefault("meta", {})["utc_offset_ms"] = offset // timedelta(milliseconds=1)
    shifted["layout"]["xaxis"]["title"] = {
        "text": shown_zone.offset_of(end),
        "font": {"size": 11},
        "standoff": 4,
    }
    return shifted


def answer(figure: Figure, note: str) -> dict[str, Any]:
    return {"figure": in_shown_zone(figure), "note": note}


def answer_or_nothing(figure: Figure | None) -> dict[str, Any]:
    if figure is not None and figure["data"]:
        return answer(figure, "")
    return empty_answer(
        gettext("Nothing was seen in this time"), gettext("Choose a longer time range.")
    )


def empty_answer(title: str, text: str) -> dict[str, Any]:
    return {"figure": None, "note": "", "empty": {"title": title, "text": text}}


def _shift(node: Any, offset: timedelta, zone_label: str) -> Any:
    if isinstance(node, dict):
        return {
            key: _replace_utc(value, zone_label)
            if key in _FORMAT_KEYS
            else _shift(value, offset, zone_label)
            for key, value in node.items()
        }
    if isinstance(node, list):
        return [_shift(item, offset, zone_label) for item in node]
    if isinstance(node, str) and _PLOT_TIME.fullmatch(node):
        return (datetime.fromisoformat(node) + offset).isoformat(sep=" ", timespec="milliseconds")
    return node


def _replace_utc(text: Any, zone_label: str) -> Any:
    return text.replace(_UTC_SUFFIX, zone_label) if isinstance(text, str) else text
