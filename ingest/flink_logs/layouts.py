"""How the lines of a log begin: Flink's default layouts, or any log4j ``PatternLayout`` with a date
and a message.

A layout becomes one regular expression for the first line of a record, and the literal that every
record opens with, by which files are split without looking at each line.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import cached_property
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ingest.errors import Refused
from ingest.flink_logs.log4j_patterns import compiled
from ingest.messages import message

EPOCH_YEAR = 1970
"""Flink writes no log of before; a later step may take some days from an instant."""


@dataclass(frozen=True)
class Layout:
    """``header`` matches from behind ``opening`` to the message; its groups are named by ``groups``
    in order. ``second`` is the time up to the second, ``fraction`` what follows it and ``offset``
    from UTC; ``second_regex`` takes a second apart into ``second_parts`` (``yMdHms``). ``zone``
    overrides the zone declared for the source, an offset both.
    """

    name: str
    opening: str
    header: str
    groups: tuple[str, ...]
    second_regex: str
    second_parts: str
    zone: str = ""

    def group(self, name: str) -> int:
        return self.groups.index(name) + 1 if name in self.groups else 0

    @cached_property
    def _second(self) -> re.Pattern[str]:
        return re.compile(self.second_regex)

    def instant(self, second: str, zone: ZoneInfo) -> datetime | None:
        """UTC instant of a second as printed; ``None`` where it is no valid time. In the hour that
        daylight saving repeats the first pass is meant.
        """
        match = self._second.fullmatch(second)
        if not match:
            return None
        numbers = match.groups()[: len(self.second_parts)]
        offset = match[len(numbers) + 1] if len(match.groups()) > len(numbers) else None
        part = dict(zip(self.second_parts, map(int, numbers), strict=True))
        year = part["y"] + (2000 if part["y"] < 100 else 0)
        if year <= EPOCH_YEAR:
            return None
        try:
            local = datetime(
                year,
                part["M"],
                part["d"],
                part["H"],
                part["m"],
                part["s"],
                tzinfo=_offset(offset) or zone,
            )
            return local.astimezone(UTC)
        except (ValueError, OverflowError):
            return None


FLINK = Layout(
    "flink",
    "20",
    # Everything up to the first " - ": 1.9 prints two spaces there, 1.11 and later "[]" or the MDC.
    # Possessive and atomic throughout: a line that fails further on is not tried in other ways.
    r"^([0-9]{2}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}),([0-9]{3}) "
    r"(TRACE|DEBUG|INFO|WARN|ERROR|FATAL) ++"
    # That a space follows on the line is looked up first: a class of one character is passed over
    # several times as fast as one of two.
    r"(?!- )(?=[^\n]* )([^ ]++) ++(?>- |[^\n]*? - )",
    ("second", "fraction", "level", "logger"),
    r"([0-9]{2})-([0-9]{2})-([0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2})",
    "yMdHms",
)

_LEVEL = "(TRACE|DEBUG|INFO|WARN|ERROR|FATAL)"
_BRACKETS = r"\[(?:[^\[\]\n]|\[[^\[\]\n]{0,200}+\]){0,400}+\] *+"
_LOGGER = (
    # Flink names tasks so that the beginning of one looks like a logger.
    r"(?!(?:Source|Sink|Legacy|Co-|Window|Map|Filter|Process)[A-Za-z -]{0,40}: )"
    r"([A-Za-z_][A-Za-z0-9_.$/-]{0,300}+)(?::[0-9?]++|\[[0-9]++\]|\([^()\n]{0,200}+\))?+ *+"
    rf"(?:{_BRACKETS}|\{{[^{{}}\n]{{0,400}}+\}} *+|(?:line:)?[0-9]{{1,9}}+ *+)*+(?:--? |: )"
)
_BEFORE_MESSAGE = (
    # Of a thread that is printed before the level anything may be the name.
    rf"(?:[^\n]{{0,300}}? )?\[?{_LEVEL} *+\]? *+(?:[0-9]{{1,9}}+ ++)?(?:--- ++)?(?:{_BRACKETS})*+"
    rf"{_LOGGER}"
)
"""Level, thread, logger, line number and MDC, as far as they are printed, in the orders that log4j
and logback users have.
"""

DATED = Layout(
    message("date first"),
    "",
    r"^\[?([0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,:]([0-9]{1,9}))?"
    rf"(?: ?(Z|UTC|[+-][0-9]{{2}}:?[0-9]{{2}}))?\]?:? ++{_BEFORE_MESSAGE}",
    ("second", "fraction", "offset", "level", "logger"),
    r"([0-9]{4})[-/]([0-9]{2})[-/]([0-9]{2})[T ]([0-9]{2}):([0-9]{2}):([0-9]{2})(.*)",
    "yMdHms",
)
LEVELLED = Layout(
    message("level first"),
    "",
    rf"^\[?{_LEVEL}(?: *+\])? ++"
    r"\[?([0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,:]([0-9]{1,9}))?"
    rf"(?: ?(Z|UTC|[+-][0-9]{{2}}:?[0-9]{{2}}))?\]?:? ++(?:{_BRACKETS})*+{_LOGGER}",
    ("level", "second", "fraction", "offset", "logger"),
    DATED.second_regex,
    DATED.second_parts,
)
BEHIND = Layout(
    message("date first, logger last"),
    "",
    r"^\[?([0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,:]([0-9]{1,9}))?"
    rf"(?: ?(Z|UTC|[+-][0-9]{{2}}:?[0-9]{{2}}))?\]?:? ++\[?{_LEVEL}\]? ++(?:- )?",
    ("second", "fraction", "offset", "level"),
    r"([0-9]{4})[-/]([0-9]{2})[-/]([0-9]{2})[T ]([0-9]{2}):([0-9]{2}):([0-9]{2})(.*)",
    "yMdHms",
)
"""Kafka's default and its kin: behind the level nothing but the message, which may end with the
logger in brackets (:func:`ingest.flink_logs.event_parser.without_logger`).
"""
SHORT = Layout(
    message("log4j 1, short"),
    "",
    (
        rf"^([0-9]{{2}}/[0-9]{{2}}/[0-9]{{2}} "
        rf"[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}})(?:[.,]([0-9]{{1,9}}))? "
        rf"++{_BEFORE_MESSAGE}"
    ),
    ("second", "fraction", "level", "logger"),
    r"([0-9]{2})/([0-9]{2})/([0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2})",
    "yMdHms",
)
OPERATOR = Layout(
    "operator",
    "",
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,]([0-9]{1,9}))? ++"
    # A class, abbreviated or not, where other layouts have the thread; then the level in brackets,
    # and what the record is about.
    r"((?:[a-z][a-z0-9_]{0,60}+\.){1,20}+[A-Z][A-Za-z0-9_$]{0,200}+) *+"
    rf"\[{_LEVEL} *+\](?: ?\[[^\[\]\n]{{0,520}}+\])?+ (?![^\n ]{{1,300}} - )",
    ("second", "fraction", "logger", "level"),
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[T ]([0-9]{2}):([0-9]{2}):([0-9]{2})",
    "yMdHms",
)
"""https://github.com/apache/flink-kubernetes-operator: log4j2.properties of the operator, which
often is that of its jobs, too.
"""
CLOCK = rf"^[0-2][0-9]:[0-5][0-9]:[0-5][0-9](?:[.,][0-9]{{1,9}})? ++{_BEFORE_MESSAGE}"
"""Times without a date: with one before it, such a line has the layout ``DATED``."""

_FLINK_PATTERN = re.compile(
    r"%d\{yyyy-MM-dd HH:mm:ss,SSS\} %-5p %-60c (?:\[?%[xX](?:\{[^}]*\})?\]? )?- %m(?:%n.*)?"
)


def layout_of(spec: str) -> Layout:
    """The layout for ``flink`` or a log4j pattern; raises :class:`Refused` where it has no date or
    no message, or parts without an end.
    """
    if spec in ("", "flink") or _FLINK_PATTERN.fullmatch(spec):
        return FLINK
    layout = compiled(spec)
    return Layout(
        spec,
        layout.opening,
        layout.header,
        layout.groups,
        layout.second_regex,
        layout.second_parts,
        layout.zone,
    )


def zone_of(name: str, layout: Layout = FLINK) -> ZoneInfo:
    """The time zone in which a source prints its times; raises :class:`Refused` for an unknown
    name.
    """
    wanted = layout.zone or name or "UTC"
    try:
        return ZoneInfo(wanted)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise Refused(
            message(
                "There is no time zone {wanted:text}; give an IANA name such as UTC or "
                "Asia/Shanghai.",
                wanted=f"{wanted!r}",
            )
        ) from error


def _offset(text: str | None) -> timezone | None:
    """``Z``, ``UTC``, ``+0800`` or ``+08:00``; ``None`` for none."""
    if not text:
        return None
    digits = text.replace(":", "")[1:] if text[0] in "+-" else "0000"
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))
