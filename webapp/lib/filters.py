"""Template filters, each around one pure function; available in every template."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django import template
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import Truncator
from django.utils.translation import gettext

from ingest import log_lines
from ingest.replay.shipped import CLUSTERS, RECORDED_ON
from webapp.lib import code_words, instants, quantities, shown_zone

register = template.Library()
_LONG_WORD = re.compile(r"\S{16,}")

_PLAIN: dict[str, Callable[..., str]] = {
    "bytes": quantities.bytes_text,
    "bytes_rate": quantities.bytes_rate_text,
    "bytes_per_day": quantities.bytes_per_day_text,
    "duration": quantities.duration_text,
    "percent": quantities.percent_text,
    "usage": quantities.usage_text,
    "count": quantities.count_text,
    "capped": quantities.capped_count_text,
    "per_second": quantities.per_second_text,
    "times": quantities.times_text,
    "instant": instants.instant_text,
    "day": instants.day_text,
    "clock": instants.clock_text,
    "day_clock": instants.day_and_clock_text,
    "minute_of_day": instants.day_and_minute_text,
    "age": instants.age_text,
    "span": instants.span_text,
    "in_zone": shown_zone.rewritten,
}
for _name, _function in _PLAIN.items():
    register.filter(_name, _function)


@register.filter
def demo_mark(cluster: str) -> str:
    if cluster not in CLUSTERS:
        return ""
    return f" · {gettext('demo, recorded %(day)s') % {'day': RECORDED_ON}}"


register.simple_tag(shown_zone.label, name="shown_zone")


@register.simple_tag
def zone_field() -> str:
    """A hidden field with the zone of typed instants (:func:`webapp.lib.timeranges.absolute`); ""
    for UTC.
    """
    key = shown_zone.key()
    return "" if key == "UTC" else format_html('<input type="hidden" name="zone" value="{}">', key)


@register.filter
def seconds(duration_s: float | None) -> str:
    return quantities.duration_text(None if duration_s is None else duration_s * 1000)


@register.filter
def minutes(duration_min: float | None) -> str:
    return quantities.duration_text(None if duration_min is None else duration_min * 60_000)


@register.filter
def known(value: Any) -> Any:
    """A dash for unknown; other values (also 0) stay."""
    return quantities.UNKNOWN if value is None or value == "" else value


@register.filter
def pairs(mapping: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """``{% for name, value in job.configuration|pairs %}``: in a template, ``.items`` would look up
    the key "items".
    """
    return list(mapping.items())


@register.filter
def counted(value: Any) -> str:
    """A count of a run, or counts by name without zeros: "12 merged, 3 removed"."""
    if isinstance(value, Mapping):
        return ", ".join(
            f"{counted(item)} {words(name)}" for name, item in value.items() if _counts_any(item)
        ) or gettext("none")
    if isinstance(value, list | tuple):
        return ", ".join(counted(item) for item in value) or gettext("none")
    if value is None:
        return quantities.UNKNOWN
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    return f"{value:,}" if isinstance(value, int) else str(value)


@register.filter
def counted_pairs(counts: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (name, counted(value))
        for name, value in counts.items()
        if not isinstance(value, Mapping) or _counts_any(value)
    ]


def _counts_any(value: Any) -> bool:
    return any(map(_counts_any, value.values())) if isinstance(value, Mapping) else bool(value)


@register.filter
def moment(instant: datetime | None, now: datetime | None = None) -> str:
    """Day and time, or the age at ``now``, with the whole instant as title."""
    text = instants.age_text(instant, now) if now else instants.day_and_clock_text(instant)
    return format_html('<span title="{}">{}</span>', instants.instant_text(instant), text)


@register.simple_tag(takes_context=True)
def query(context: template.Context, **changes: Any) -> str:
    """The query string of this page with ``changes``; ``None`` or '' removes a parameter."""
    parameters = context["request"].GET.copy()
    for name, value in changes.items():
        if value is None or value == "":
            parameters.pop(name, None)
        else:
            parameters[name] = str(value)
    encoded = parameters.urlencode()
    return f"?{encoded}" if encoded else "?"


@register.simple_tag
def query_of(*parts: str, **parameters: Any) -> str:
    """``{% query_of range_query rule=alert.rule %}``: the parameters that have a value; "" if none
    has.
    """
    values = {name: value for name, value in parameters.items() if value not in (None, "")}
    encoded = "&".join(filter(None, [*parts, urlencode(values, doseq=True)]))
    return f"?{encoded}" if encoded else ""


@register.filter
def of(mapping: Mapping[str, Any], key: str) -> Any:
    """``{{ totals|of:group.slug }}``; ``None`` if it is missing."""
    return mapping.get(key)


@register.filter
def words(code: str | None) -> str:
    """'start_delay' → 'start delay', translated if possible."""
    code = code or quantities.UNKNOWN
    spaced = code_words.spaced(code)
    translated = gettext(spaced)
    if translated != spaced or code in code_words.WORDS_BY_CODE:
        return translated
    return gettext(code).replace("_", " ")


@register.filter
def subtask(vertex: str, of: Any) -> str:
    """The shortened vertex name, as 'Map/3' if ``of`` (an event, or an object of a JSON column) has
    a subtask.
    """
    number = of.get("subtask") if isinstance(of, Mapping) else of.subtask
    name = Truncator(vertex).chars(100)
    return name if number is None else f"{name}/{number}"


@register.filter
def dashed(code: str) -> str:
    """'start_delay' → 'start-delay', as in CSS tokens."""
    return code.replace("_", "-")


@register.simple_tag
def request_id() -> str:
    return log_lines.request_id()


@register.filter
def breakable(text: Any) -> SafeString:
    """Long words, such as addresses and names of classes, may break behind their punctuation."""
    return mark_safe(_LONG_WORD.sub(_with_breaks, conditional_escape(text)))  # noqa: S308 escaped


def _with_breaks(word: re.Match[str]) -> str:
    return re.sub(r"(?<=[./:_])(?=\w)", "<wbr>", word[0])


@register.filter
def first_line(text: str | None) -> str:
    line = (text or "").strip().partition("\n")[0]
    return line if len(line) <= 200 else line[:199] + "…"


@register.filter
def iso_clock(text: Any) -> str:
    """The time of day of ISO text or epoch milliseconds in a JSON column."""
    return instants.clock_text(instants.from_json(text))


@register.filter
def either(mapping: Mapping[str, Any], keys: str) -> Any:
    """The value of the first of ``keys`` (separated by commas) that has one, else a dash."""
    return next(
        (mapping[key] for key in keys.split(",") if mapping.get(key) not in (None, "")),
        quantities.UNKNOWN,
    )


@register.filter
def unlocalized(number: float) -> str:
    """A number for a machine: 4000.0 → '4000', 0.5 → '0.5'; never 1e+06."""
    return f"{number:.12g}" if abs(number) < 1e12 else f"{number:.0f}"
