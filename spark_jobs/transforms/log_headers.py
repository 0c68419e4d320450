"""What of a record's text lies before its message, as column expressions.

Flink's own layout is read by position and literal: it is that of nearly every archive, and a regular expression
over each line costs several times as much as finding the first " - " of it. Every other layout is read by its expression.
"""

import re
from zoneinfo import ZoneInfo

from pyspark.sql import Column
from pyspark.sql import functions as F

from ingest.flink_logs.layouts import FLINK, Layout
from ingest.flink_logs.patterns import KEPT_LEVELS
from spark_jobs.transforms import quick_text
from spark_jobs.transforms.binding import let

REPLACEMENT = "\ufffd"
"""Stands for bytes that are no UTF-8."""

_LEVEL_BYTE = 25
"""Where Flink's layout prints the level, counted from 1; it has four or five letters."""
_ENDS_HEAD = " - "
_LEVELS = " (?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) ++[^ \n][^\n]*+\\z"
_ANY_TIME = "^20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2},[0-9]{3}"
_SURE_TIME = "^20[0-9]{2}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8]) (?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9],[0-9]{3}"
"""Such a day is one of every month and year."""


def head_of(text: Column, layout: Layout) -> Column:
    """What lies before the message; "" where a text does not begin a record. The first line decides, however long the trace.

    With Flink's layout these are the bytes of the text; with others, what is no UTF-8 is replaced.
    """
    if layout is not FLINK:
        found = F.regexp_extract(quick_text.first_line(text), whole_header(layout), 0)
        return let(found, lambda head: F.when(local_time(head, layout).isNotNull(), head).otherwise(""))
    # The first " - " ends the header, and cannot lie before the end of the level.
    first = _LEVEL_BYTE + 4
    until = F.concat(quick_text.from_byte(text, 1, first - 1), F.substring_index(quick_text.from_byte(text, first), _ENDS_HEAD, 1))

    def checked(head: Column) -> Column:
        is_header = head.rlike(_SURE_TIME + _LEVELS) | (head.rlike(_ANY_TIME + _LEVELS) & local_time(head, layout).isNotNull())
        is_ended = F.octet_length(head) < F.octet_length(text)
        return F.when(is_ended & is_header, quick_text.from_byte(text, 1, F.octet_length(head) + len(_ENDS_HEAD))).otherwise("")

    return let(until, checked)


def head_bytes(head: Column, layout: Layout) -> Column:
    """How many bytes of the text these are; null where that is not known."""
    size = F.octet_length(head)
    return size if layout is FLINK else F.when(~head.contains(REPLACEMENT), size)


def message_of(text: Column, head: Column, layout: Layout) -> Column:
    """What follows the header, as its bytes are."""
    plain = quick_text.from_byte(text, F.octet_length(head) + 1)
    if layout is FLINK:
        return plain
    torn = let(F.make_valid_utf8(text), lambda whole: quick_text.from_byte(whole, F.octet_length(head_of(whole, layout)) + 1))
    return F.when(head.contains(REPLACEMENT), torn).otherwise(plain)


def level_of(head: Column, layout: Layout) -> Column:
    number = layout.group("level")
    if layout is FLINK:
        short = quick_text.from_byte(head, _LEVEL_BYTE, 4)
        return let(quick_text.from_byte(head, _LEVEL_BYTE, 5), lambda level: F.when(level.endswith(" "), short).otherwise(level))
    return F.regexp_extract(head, whole_header(layout), number) if number else F.lit("UNKNOWN")


def is_kept_level(head: Column, layout: Layout) -> Column:
    if layout is FLINK:
        return quick_text.from_byte(head, _LEVEL_BYTE, 4).isin(*(level[:4] for level in KEPT_LEVELS))
    return level_of(head, layout).isin(*KEPT_LEVELS)


def logger_of(head: Column, layout: Layout) -> Column:
    number = layout.group("logger")
    if layout is FLINK:
        return F.make_valid_utf8(F.substring_index(F.ltrim(quick_text.from_byte(head, _LEVEL_BYTE + 5)), " ", 1))
    return F.regexp_extract(head, whole_header(layout), number) if number else F.lit("")


def local_time(head: Column, layout: Layout) -> Column:
    """The printed time as if it were UTC; null where it is no valid time."""
    if layout is FLINK:
        stamp = F.concat(quick_text.from_byte(head, 1, 19), F.lit("."), quick_text.from_byte(head, 21, 3), F.lit("Z"))
        return stamp.try_cast("timestamp")
    regex = whole_header(layout)
    place = {part: f"${number}" for number, part in enumerate(layout.second_parts, 1)}
    century = "20" if layout.opening.endswith("20") or "([0-9]{4})" not in layout.second_regex else ""
    pattern = f"{century}{place['y']}-{place['M']}-{place['d']} {place['H']}:{place['m']}:{place['s']}"
    second = F.regexp_replace(F.regexp_extract(head, regex, layout.group("second")), f"^{layout.second_regex}$", pattern)
    fraction = layout.group("fraction")
    digits = F.rpad(F.regexp_extract(head, regex, fraction), 3, "0") if fraction else F.lit("000")
    return F.concat(second, F.lit("."), F.substring(digits, 1, 3), F.lit("Z")).try_cast("timestamp")


def utc(local: Column, zone: str) -> Column:
    return local if ZoneInfo(zone).key == "UTC" else F.to_utc_timestamp(local, zone)


def keeps_opening(value: Column, layout: Layout) -> Column:
    """Whether a piece still has its opening, as only the first one of a file does."""
    if not layout.opening:
        return F.lit(True)
    if layout is FLINK:
        return value.startswith("20") & (F.substring(value, 5, 1) == "-")
    return value.rlike(whole_header(layout))


def whole_header(layout: Layout) -> str:
    return "^" + escaped(layout.opening) + layout.header.removeprefix("^")


def escaped(text: str) -> str:
    return re.sub(r"[][\\.^$*+?{}|()]", r"\\\g<0>", text)
