"""How lines of logs begin: Flink's default layouts, or any log4j ``PatternLayout``.

A layout is a regular expression for the first line of a record, and the literal with which records
begin: files are split at it.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from functools import cached_property
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ingest.errors import Refused
from ingest.flink_logs.envelopes import COLOURS
from ingest.flink_logs.log4j_patterns import compile_pattern
from ingest.messages import message

EPOCH_YEAR = 1970
"""Years up to this one are refused: later steps may subtract some days."""


@dataclass(frozen=True)
class Layout:
    """``header`` matches what is between ``opening`` and the message; ``groups`` names its groups.
    ``second_regex`` splits the group ``second`` into ``second_parts`` (``yMdHms``). ``zone``
    overrides the zone declared for the source; an offset in the line overrides both.
    """

    name: str
    opening: str
    header: str
    groups: tuple[str, ...]
    second_regex: str
    second_parts: str = "yMdHms"
    zone: str = ""

    def group(self, name: str) -> int:
        return self.groups.index(name) + 1 if name in self.groups else 0

    @cached_property
    def _compiled_second(self) -> re.Pattern[str]:
        return re.compile(self.second_regex)

    def instant(self, second: str, zone: ZoneInfo) -> datetime | None:
        """``None`` if ``second`` is not a time. If daylight saving repeats an hour, the time is in
        the first one.
        """
        match = self._compiled_second.fullmatch(second)
        if not match:
            return None
        numbers = match.groups()[: len(self.second_parts)]
        offset = match[len(numbers) + 1] if len(match.groups()) > len(numbers) else None
        parts = dict(zip(self.second_parts, map(int, numbers), strict=True))
        year = parts["y"] + (2000 if parts["y"] < 100 else 0)
        if year <= EPOCH_YEAR:
            return None
        try:
            local = datetime(
                year,
                parts["M"],
                parts["d"],
                parts["H"],
                parts["m"],
                parts["s"],
                tzinfo=_offset(offset) or zone,
            )
            return local.astimezone(UTC)
        except (ValueError, OverflowError):
            return None


FLINK = Layout(
    "flink",
    "20",
    # The header ends with the first " - ": 1.9 prints two spaces before, 1.11 and later "[]" or the
    # MDC. All parts are possessive or atomic, so that a line without match costs little.
    r"^([0-9]{2}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}),([0-9]{3}) "
    r"(TRACE|DEBUG|INFO|WARN|ERROR|FATAL) ++"
    # First, a space must follow: a negated class of one character is several times as fast as one
    # of two.
    r"(?!- )(?=[^\n]* )([^ ]++) ++(?>- |[^\n]*? - )",
    ("second", "fraction", "level", "logger"),
    r"([0-9]{2})-([0-9]{2})-([0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2})",
)

_LEVEL = "(TRACE|DEBUG|INFO|WARN|ERROR|FATAL)"
_BRACKETS = r"\[(?:[^\[\]\n]|\[[^\[\]\n]{0,200}+\]){0,400}+\] *+"
_LOGGER = (
    # The beginning of the name of a task looks like a logger.
    r"(?!(?:Source|Sink|Legacy|Co-|Window|Map|Filter|Process)[A-Za-z -]{0,40}: )"
    r"\[?+([A-Za-z_][A-Za-z0-9_.$/-]{0,300}+)\]?+(?::[0-9?]++|\[[0-9]++\]|\([^()\n]{0,200}+\))?+ *+"
    rf"(?:{_BRACKETS}|\{{[^{{}}\n]{{0,400}}+\}} *+|(?:line:)?[0-9]{{1,9}}+ *+)*+(?:--? |: )"
)
_BEFORE_MESSAGE = (
    # The name of a thread, printed before the level, may be any text.
    rf"(?:[^\n]{{0,300}}? )?\[?{_LEVEL} *+\]? *+(?:[0-9]{{1,9}}+ ++)?(?:--- ++)?"
    rf"(?:(?!\[[A-Za-z_][A-Za-z0-9_.$]*+\] - ){_BRACKETS})*+{_LOGGER}"
)
"""Level, thread, logger, line number and MDC, each optional, in the usual orders."""
_DATE = (
    r"\[?([0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,:]([0-9]{1,9}))?"
    r"(?: ?(Z|UTC|[+-][0-9]{2}:?[0-9]{2}))?\]?:? ++"
)
"""Second, fraction and offset."""

DATED = Layout(
    "date first",
    "",
    rf"^{_DATE}{_BEFORE_MESSAGE}",
    ("second", "fraction", "offset", "level", "logger"),
    r"([0-9]{4})[-/]([0-9]{2})[-/]([0-9]{2})[T ]([0-9]{2}):([0-9]{2}):([0-9]{2})(.*)",
)
LEVEL_FIRST = Layout(
    "level first",
    "",
    rf"^\[?{_LEVEL}(?: *+\])? ++{_DATE}(?:{_BRACKETS})*+{_LOGGER}",
    ("level", "second", "fraction", "offset", "logger"),
    DATED.second_regex,
)
LOGGER_LAST = Layout(
    "date first, logger last",
    "",
    rf"^{_DATE}\[?{_LEVEL}\]? ++(?:\[[^\[\]\n]{{1,200}}+\] )?+(?:- )?",
    ("second", "fraction", "offset", "level"),
    DATED.second_regex,
)
"""Kafka's default: the message may end with the logger in brackets
(``event_parser.without_logger``).
"""
SHORT = Layout(
    "log4j 1, short",
    "",
    rf"^([0-9]{{2}}/[0-9]{{2}}/[0-9]{{2}} [0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}})(?:[.,]([0-9]{{1,9}}))? "
    rf"++{_BEFORE_MESSAGE}",
    ("second", "fraction", "level", "logger"),
    r"([0-9]{2})/([0-9]{2})/([0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2})",
)
OPERATOR = Layout(
    "operator",
    "",
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,]([0-9]{1,9}))? ++"
    # A class, perhaps abbreviated; the level in brackets; what the record is about.
    r"((?:[a-z][a-z0-9_]{0,60}+\.){1,20}+[A-Z][A-Za-z0-9_$]{0,200}+) *+"
    rf"\[{_LEVEL} *+\](?: ?\[[^\[\]\n]{{0,520}}+\])?+ (?![^\n ]{{1,300}} - )",
    ("second", "fraction", "logger", "level"),
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[T ]([0-9]{2}):([0-9]{2}):([0-9]{2})",
)
"""log4j2.properties of https://github.com/apache/flink-kubernetes-operator. Its jobs often use the
same layout.
"""
CLOCK = rf"^[0-2][0-9]:[0-5][0-9]:[0-5][0-9](?:[.,][0-9]{{1,9}})? ++{_BEFORE_MESSAGE}"
"""With a date before it, such a line has the layout ``DATED``."""

_FLINK_PATTERN = re.compile(
    r"%d\{yyyy-MM-dd HH:mm:ss,SSS\} %-5p %-60c (?:\[?%[xX](?:\{[^}]*\})?\]? )?- %m(?:%n.*)?"
)


def layout_of(spec: str) -> Layout:
    if spec in ("", "flink") or _FLINK_PATTERN.fullmatch(spec):
        return FLINK
    return Layout(spec, **compile_pattern(spec)._asdict())


def zone_of(name: str, layout: Layout = FLINK) -> ZoneInfo:
    zone = layout.zone or name or "UTC"
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise Refused(
            message(
                "There is no time zone {wanted:text}; give an IANA name such as UTC or "
                "Asia/Shanghai.",
                wanted=f"{zone!r}",
            )
        ) from error


def _offset(text: str | None) -> timezone | None:
    if not text:
        return None
    digits = text.replace(":", "")[1:] if text[0] in "+-" else "0000"
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))


_OTHER_LAYOUTS = tuple(
    (layout, re.compile(layout.header.encode()).match)
    for layout in (OPERATOR, DATED, SHORT, LOGGER_LAST, LEVEL_FIRST)
)
_CLOCK = re.compile(CLOCK.encode()).match
_OPENINGS = frozenset((b"[", b"T", b"D", b"I", b"W", b"E", b"F"))
_OTHER_LINES = (
    rb"(?:\[?[0-9]{2,4}[-/:][0-9]{2}[-/:][0-9]{2}[T ,.]|\{ "
    rb"?\"|<[0-9]{1,3}>|\[pod/|\x1b\[|[A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:"
    rb"|\[?(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)(?: *+\])? ++\[?[0-9]{4}[-/]"
    rb"|[a-z0-9]{1,63}+(?:-[a-z0-9]{1,63}+){1,20}+ [a-z0-9-]{1,63}+ [\x1b\[{0-9]"
    rb"|[A-Za-z0-9][A-Za-z0-9_.-]*+ *+\| )"
)


def uncoloured(line: bytes) -> bytes:
    return COLOURS.sub(b"", line) if b"\x1b[" in line else line


class LineLayouts:
    """The layouts of lines; the declared one is the own. ``day`` is for lines with only a time of
    day. ``undated``: the day of such a line is unknown.
    """

    def __init__(self, layout: Layout, zone: ZoneInfo, day: date | None) -> None:
        self._layout, self._zone, self._day = layout, zone, day
        self.undated = False
        self.may_begin_objects = layout.opening[:1] in ("", "{")
        own_header = re.escape(layout.opening.encode()) + layout.header.encode().removeprefix(b"^")
        self.own = re.compile(own_header).match
        self._other_line = re.compile(rb"\n(?!" + own_header + rb")" + _OTHER_LINES).search
        self._other_first_line = re.compile(rb"(?!" + own_header + rb")" + _OTHER_LINES).match

    def are_own(self, block: bytes) -> bool:
        """Whether each line has the declared layout or continues a record of it."""
        return not self._other_first_line(block) and not self._other_line(block)

    def have_header(self, line: bytes) -> bool:
        line = uncoloured(line)
        return bool(
            self.own(line) or _CLOCK(line) or any(match(line) for _, match in _OTHER_LAYOUTS)
        )

    def of(self, line: bytes, stamp: bytes) -> tuple[Layout | None, bytes]:
        """The layout whose header the line has, and the line without colours and with a date."""
        if line[:1] == b"{" and not self.may_begin_objects:
            return None, line
        if self.own(line):
            return self._layout, line
        coloured, line = line, uncoloured(line)
        if line is not coloured and self.own(line):
            return self._layout, line
        if line[:1].isdigit() or line[:1] in _OPENINGS:
            for layout, match in _OTHER_LAYOUTS:
                if match(line):
                    return layout, line
            if _CLOCK(line):
                day = self._day_of(line, stamp)
                if day is not None:
                    return DATED, day.isoformat().encode() + b" " + line
                self.undated = True
        return None, coloured

    def _day_of(self, line: bytes, stamp: bytes) -> date | None:
        """The day on which the line's time of day is nearest to the envelope's time."""
        try:
            at = datetime.fromisoformat(stamp.decode("ascii")) if stamp else None
        except (ValueError, UnicodeDecodeError):
            at = None
        if at is None or at.tzinfo is None:
            return self._day
        local = at.astimezone(self._zone)
        late_hours = local.hour - int(line[:2])
        shift_days = (late_hours > 12) - (late_hours < -12)
        return date.fromordinal(local.toordinal() + shift_days)
