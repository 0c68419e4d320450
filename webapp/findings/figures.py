import math
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from webapp.lib.instants import from_json, instant_text
from webapp.lib.messages.rendering import localised
from webapp.lib.messages.units import COUNTED
from webapp.lib.quantities import (
    UNKNOWN,
    bytes_rate_text,
    bytes_text,
    duration_text,
    percent_text,
    times_text,
)

_COMPARISONS = {
    ">": (">", operator.gt),
    ">=": ("≥", operator.ge),
    "<": ("<", operator.lt),
    "<=": ("≤", operator.le),
    "=": ("=", operator.eq),
}
_CODE = re.compile(r"[a-z]+(_[a-z]+)+")
"""Codes of Weir such as 'start_delay', shown in words."""
_MOST_AS_PERCENT = 2
_LONGEST_WORDS = 400
_MOST_IN_COLUMN = 24


def figure_text(value: Any, unit: str = "") -> str:
    """0.96 'ratio' → '96 %', 4_000 'ms' → '4.0 s'; unknown is a dash. Ratios above two are factors:
    4.1 → '× 4.1'.
    """
    if value is None or value == "":
        return UNKNOWN
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if not isinstance(value, int | float):
        words = (
            localised(value.replace("_", " "))
            if isinstance(value, str) and _CODE.fullmatch(value)
            else str(value)
        )
        return words if len(words) <= _LONGEST_WORDS else words[: _LONGEST_WORDS - 1] + "…"
    if isinstance(value, float) and not math.isfinite(value):
        return UNKNOWN
    if unit == "ratio":
        return times_text(value) if abs(value) > _MOST_AS_PERCENT else percent_text(value)
    if unit in ("epoch_ms", "instant"):
        return instant_text(from_json(value))
    formats = {
        "ms": duration_text,
        "bytes": bytes_text,
        "bytes/h": bytes_rate_text,
        "count": _number,
        "times": times_text,
    }
    if unit in formats:
        return formats[unit](value)
    if unit == "s":
        return duration_text(value * 1000)
    if unit == "h":
        return duration_text(value * 3_600_000)
    if unit in COUNTED:
        return COUNTED[unit](1 if value == 1 else 2).replace("{count}", _number(value))
    return f"{_number(value)} {unit}".rstrip()


@dataclass(frozen=True)
class Figure:
    name: str
    value: str
    compared: str = ""
    threshold_key: str = ""
    note: str = ""
    is_passed: bool = True

    @property
    def is_text(self) -> bool:
        """A text such as a log line is too long for the column of figures."""
        return len(self.value) > _MOST_IN_COLUMN and not self.compared


def figures(evidence: Any) -> list[Figure]:
    return [_figure(row) for row in evidence or () if isinstance(row, Mapping) and row.get("name")]


def _figure(row: Mapping[str, Any]) -> Figure:
    unit = str(row.get("unit") or "")
    threshold = row.get("threshold")
    sign, is_true = _COMPARISONS.get(str(row.get("comparison") or ""), ("", operator.eq))
    value = row.get("value")
    # Thresholds that were not reached are shown as "not > 5".
    is_unmet = (
        sign
        and isinstance(value, int | float)
        and isinstance(threshold, int | float)
        and not is_true(value, threshold)
    )
    text, limit = figure_text(value, unit), figure_text(threshold, unit)
    if value is not None and unit == "ms" and text == limit and value != threshold:
        text = f"{value / 1000:,.3f} s"
    compared = "" if threshold is None else f"{sign} {limit}".strip()
    return Figure(
        name=str(row["name"]),
        value=text,
        compared=gettext("not %(compared)s") % {"compared": compared} if is_unmet else compared,
        threshold_key=str(row.get("threshold_key") or ""),
        note=str(row.get("note") or ""),
        is_passed=not is_unmet,
    )


def _number(value: float) -> str:
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
