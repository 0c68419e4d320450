"""How lines of logs begin: Flink's default layouts, or any log4j ``PatternLayout``.

A layout is a regular expression for the first line of a record, and the literal that every record
opens with: files are split by it.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from functools import cached_property
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ingest.errors import Refused
from ingest.flink_logs.envelopes import COLOURS
from ingest.flink_logs.log4j_patterns import compiled
from ingest.messages import message

EPOCH_YEAR = 1970
"""Later steps may subtract some days from an instant."""


@dataclass(frozen=True)
class Layout:
    """``header`` matches from behind ``opening`` to the message; ``groups`` names its groups.
    ``second_regex`` takes a second apart into ``second_parts`` (``yMdHms``). ``zone`` overrides the
    zone declared for the source, an offset both.
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
        """``None`` if it is no valid time. In the hour that daylight saving repeats, the first
        pass.
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
    # Checks first that a space follows: skipping a class of one character is several times as fast
    # as one of two.
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
    r"\[?+([A-Za-z_][A-Za-z0-9_.$/-]{0,300}+)\]?+(?::[0-9?]++|\[[0-9]++\]|\([^()\n]{0,200}+\))?+ *+"
    rf"(?:{_BRACKETS}|\{{[^{{}}\n]{{0,400}}+\}} *+|(?:line:)?[0-9]{{1,9}}+ *+)*+(?:--? |: )"
)
_BEFORE_MESSAGE = (
    # Of a thread that is printed before the level anything may be the name.
    rf"(?:[^\n]{{0,300}}? )?\[?{_LEVEL} *+\]? *+(?:[0-9]{{1,9}}+ ++)?(?:--- ++)?"
    rf"(?:(?!\[[A-Za-z_][A-Za-z0-9_.$]*+\] - ){_BRACKETS})*+{_LOGGER}"
)
"""Level, thread, logger, line number and MDC, each optional, in the usual orders."""

DATED = Layout(
    "date first",
    "",
    r"^\[?([0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,:]([0-9]{1,9}))?"
    rf"(?: ?(Z|UTC|[+-][0-9]{{2}}:?[0-9]{{2}}))?\]?:? ++{_BEFORE_MESSAGE}",
    ("second", "fraction", "offset", "level", "logger"),
    r"([0-9]{4})[-/]([0-9]{2})[-/]([0-9]{2})[T ]([0-9]{2}):([0-9]{2}):([0-9]{2})(.*)",
    "yMdHms",
)
LEVELLED = Layout(
    "level first",
    "",
    rf"^\[?{_LEVEL}(?: *+\])? ++"
    r"\[?([0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,:]([0-9]{1,9}))?"
    rf"(?: ?(Z|UTC|[+-][0-9]{{2}}:?[0-9]{{2}}))?\]?:? ++(?:{_BRACKETS})*+{_LOGGER}",
    ("level", "second", "fraction", "offset", "logger"),
    DATED.second_regex,
    DATED.second_parts,
)
BEHIND = Layout(
    "date first, logger last",
    "",
    r"^\[?([0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,:]([0-9]{1,9}))?"
    rf"(?: ?(Z|UTC|[+-][0-9]{{2}}:?[0-9]{{2}}))?\]?:? ++\[?{_LEVEL}\]? ++"
    r"(?:\[[^\[\]\n]{1,200}+\] )?+(?:- )?",
    ("second", "fraction", "offset", "level"),
    r"([0-9]{4})[-/]([0-9]{2})[-/]([0-9]{2})[T ]([0-9]{2}):([0-9]{2}):([0-9]{2})(.*)",
    "yMdHms",
)
"""Kafka's default: behind the level only the message, which may end with the logger in brackets
(:func:`ingest.flink_logs.event_parser.without_logger`).
"""
SHORT = Layout(
    "log4j 1, short",
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
"""log4j2.properties of https://github.com/apache/flink-kubernetes-operator, often also of its jobs.
"""
CLOCK = rf"^[0-2][0-9]:[0-5][0-9]:[0-5][0-9](?:[.,][0-9]{{1,9}})? ++{_BEFORE_MESSAGE}"
"""With a date before it, such a line has the layout ``DATED``."""

_FLINK_PATTERN = re.compile(
    r"%d\{yyyy-MM-dd HH:mm:ss,SSS\} %-5p %-60c (?:\[?%[xX](?:\{[^}]*\})?\]? )?- %m(?:%n.*)?"
)


def layout_of(spec: str) -> Layout:
    """For ``flink`` or a log4j pattern. Raises :class:`Refused`."""
    if spec in ("", "flink") or _FLINK_PATTERN.fullmatch(spec):
        return FLINK
    return Layout(spec, **compiled(spec)._asdict())


def zone_of(name: str, layout: Layout = FLINK) -> ZoneInfo:
    """Raises :class:`Refused` for an unknown name."""
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
    """``Z``, ``UTC``, ``+0800`` or ``+08:00``."""
    if not text:
        return None
    digits = text.replace(":", "")[1:] if text[0] in "+-" else "0000"
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))


_OTHERS = tuple(
    (layout, re.compile(layout.header.encode()).match)
    for layout in (OPERATOR, DATED, SHORT, BEHIND, LEVELLED)
)
_CLOCK = re.compile(CLOCK.encode()).match
_OPENINGS = frozenset((b"[", b"T", b"D", b"I", b"W", b"E", b"F"))
"""First characters of headers besides digits."""
_FOREIGN = (
    rb"(?:\[?[0-9]{2,4}[-/:][0-9]{2}[-/:][0-9]{2}[T ,.]|\{ "
    rb"?\"|<[0-9]{1,3}>|\[pod/|\x1b\[|[A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:"
    rb"|\[?(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)(?: *+\])? ++\[?[0-9]{4}[-/]"
    rb"|[a-z0-9]{1,63}+(?:-[a-z0-9]{1,63}+){1,20}+ [a-z0-9-]{1,63}+ [\x1b\[{0-9]"
    rb"|[A-Za-z0-9][A-Za-z0-9_.-]*+ *+\| )"
)
"""Beginnings of lines that may need the slow path."""


def uncoloured(line: bytes) -> bytes:
    return COLOURS.sub(b"", line) if b"\x1b[" in line else line


class LineLayouts:
    """``undated``: a time without a known day was met."""

    def __init__(self, layout: Layout, zone: ZoneInfo, day: date | None) -> None:
        self._layout, self._zone, self._day = layout, zone, day
        self.undated = False
        self.may_begin_objects = layout.opening[:1] in ("", "{")
        own = re.escape(layout.opening.encode()) + layout.header.encode().removeprefix(b"^")
        self.own = re.compile(own).match
        self._foreign = re.compile(rb"\n(?!" + own + rb")" + _FOREIGN).search
        self._foreign_first = re.compile(rb"(?!" + own + rb")" + _FOREIGN).match

    def are_own(self, block: bytes) -> bool:
        """Whether all lines are of the declared layout or continue such a record."""
        return not self._foreign_first(block) and not self._foreign(block)

    def have_header(self, line: bytes) -> bool:
        line = uncoloured(line)
        return bool(self.own(line) or _CLOCK(line) or any(match(line) for _, match in _OTHERS))

    def of(self, line: bytes, stamp: bytes) -> tuple[Layout | None, bytes]:
        """The layout whose header the line has, and the line without colours and with a date."""
        if line[:1] == b"{" and not self.may_begin_objects:
            return None, line
        if self.own(line):
            return self._layout, line
        given, line = line, uncoloured(line)
        if line is not given and self.own(line):
            return self._layout, line
        if line[:1].isdigit() or line[:1] in _OPENINGS:
            for layout, match in _OTHERS:
                if match(line):
                    return layout, line
            if _CLOCK(line):
                day = self._day_of(line, stamp)
                if day is not None:
                    return DATED, day.isoformat().encode() + b" " + line
                self.undated = True
        return None, given

    def _day_of(self, line: bytes, stamp: bytes) -> date | None:
        try:
            at = datetime.fromisoformat(stamp.decode("ascii")) if stamp else None
        except (ValueError, UnicodeDecodeError):
            at = None
        if at is None or at.tzinfo is None:
            return self._day
        local = at.astimezone(self._zone)
        behind = local.hour - int(line[:2])
        ordinal = local.toordinal() + (1 if behind > 12 else -1 if behind < -12 else 0)
        return date.fromordinal(ordinal)
