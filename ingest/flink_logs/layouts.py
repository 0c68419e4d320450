"""How the lines of a log begin: Flink's default layouts, or any log4j ``PatternLayout`` with a date and a message.

A layout becomes one regular expression for the first line of a record, and the literal that every record opens with,
by which files are split without looking at each line.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import cached_property
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ingest.errors import Refused


@dataclass(frozen=True)
class Layout:
    """``header`` matches from behind ``opening`` to the message; its groups are named by ``groups`` in order.

    ``second`` is the time up to the second, ``fraction`` what follows it and ``offset`` from UTC what follows that;
    ``second_regex`` takes a second, and its offset, apart into ``second_parts`` (``yMdHms`` in the layout's order).
    ``zone`` overrides the zone declared for the source, an offset both.
    """

    name: str
    opening: str
    header: str
    groups: tuple[str, ...]
    second_regex: str
    second_parts: str
    zone: str = ""

    def group(self, name: str) -> int:
        """Number of a group; 0 where this layout does not print it."""
        return self.groups.index(name) + 1 if name in self.groups else 0

    @cached_property
    def _second(self) -> re.Pattern[str]:
        return re.compile(self.second_regex)

    def instant(self, second: str, zone: ZoneInfo) -> datetime | None:
        """UTC instant of a second as printed; ``None`` where it is no valid time.

        In the hour that daylight saving repeats, the first pass is meant; a time that it skips is read with
        the offset before the change.
        """
        match = self._second.fullmatch(second)
        if not match:
            return None
        numbers = match.groups()[: len(self.second_parts)]
        offset = match[len(numbers) + 1] if len(match.groups()) > len(numbers) else None
        part = dict(zip(self.second_parts, map(int, numbers), strict=True))
        year = part["y"] + (2000 if part["y"] < 100 else 0)
        try:
            local = datetime(year, part["M"], part["d"], part["H"], part["m"], part["s"], tzinfo=_offset(offset) or zone)
            return local.astimezone(UTC)
        except (ValueError, OverflowError):
            return None


FLINK = Layout(
    "flink",
    "20",
    # Everything up to the first " - ": 1.9 prints two spaces there, 1.11 and later "[]" or the MDC.
    # Possessive and atomic throughout: a line that fails further on is not tried in other ways.
    r"^([0-9]{2}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}),([0-9]{3}) (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) ++"
    # That a space follows on the line is looked up first: a class of one character is passed over several times as fast as one of two.
    r"(?!- )(?=[^\n]* )([^ ]++) ++(?>- |[^\n]*? - )",
    ("second", "fraction", "level", "logger"),
    r"([0-9]{2})-([0-9]{2})-([0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2})",
    "yMdHms",
)

_LEVEL = "(TRACE|DEBUG|INFO|WARN|ERROR|FATAL)"
_BRACKETS = r"\[(?:[^\[\]\n]|\[[^\[\]\n]{0,200}+\]){0,400}+\] *+"
_BEFORE_MESSAGE = (
    # Of a thread that is printed before the level anything may be the name.
    rf"(?:[^\n]{{0,300}}? )?\[?{_LEVEL} *+\]? *+(?:[0-9]{{1,9}}+ ++)?(?:--- ++)?(?:{_BRACKETS})*+"
    r"([A-Za-z_][A-Za-z0-9_.$/-]{0,300}+)(?::[0-9?]++|\[[0-9]++\]|\([^()\n]{0,200}+\))?+ *+"
    rf"(?:{_BRACKETS}|\{{[^{{}}\n]{{0,400}}+\}} *+|(?:line:)?[0-9]{{1,9}}+ *+)*+(?:- |: )"
)
"""Level, thread, logger, line number and MDC, as far as they are printed, in the orders that log4j and logback users have."""

DATED = Layout(
    "date first",
    "",
    r"^\[?([0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,:]([0-9]{1,9}))?"
    rf"(?: ?(Z|UTC|[+-][0-9]{{2}}:?[0-9]{{2}}))?\]?:? ++{_BEFORE_MESSAGE}",
    ("second", "fraction", "offset", "level", "logger"),
    r"([0-9]{4})[-/]([0-9]{2})[-/]([0-9]{2})[T ]([0-9]{2}):([0-9]{2}):([0-9]{2})(.*)",
    "yMdHms",
)
SHORT = Layout(
    "log4j 1, short",
    "",
    rf"^([0-9]{{2}}/[0-9]{{2}}/[0-9]{{2}} [0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}})(?:[.,]([0-9]{{1,9}}))? ++{_BEFORE_MESSAGE}",
    ("second", "fraction", "level", "logger"),
    r"([0-9]{2})/([0-9]{2})/([0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2})",
    "yMdHms",
)
OPERATOR = Layout(
    "operator",
    "",
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,]([0-9]{1,9}))? ++"
    # A class, abbreviated or not, where other layouts have the thread; then the level in brackets, and what the record is about.
    r"((?:[a-z][a-z0-9_]{0,60}+\.){1,20}+[A-Z][A-Za-z0-9_$]{0,200}+) *+"
    rf"\[{_LEVEL} *+\](?: ?\[[^\[\]\n]{{0,520}}+\])?+ (?![^\n ]{{1,300}} - )",
    ("second", "fraction", "logger", "level"),
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[T ]([0-9]{2}):([0-9]{2}):([0-9]{2})",
    "yMdHms",
)
"""https://github.com/apache/flink-kubernetes-operator: log4j2.properties of the operator, which often is that of its jobs, too."""
CLOCK = rf"^[0-2][0-9]:[0-5][0-9]:[0-5][0-9](?:[.,][0-9]{{1,9}})? ++{_BEFORE_MESSAGE}"
"""Times without a date: with one before it, such a line has the layout ``DATED``."""

_FLINK_PATTERN = re.compile(r"%d\{yyyy-MM-dd HH:mm:ss,SSS\} %-5p %-60c (?:\[?%[xX](?:\{[^}]*\})?\]? )?- %m(?:%n.*)?")

_DATES = {
    "": "yyyy-MM-dd HH:mm:ss,SSS",
    "DEFAULT": "yyyy-MM-dd HH:mm:ss,SSS",
    "DEFAULT_MICROS": "yyyy-MM-dd HH:mm:ss,SSSSSS",
    "DEFAULT_PERIOD": "yyyy-MM-dd HH:mm:ss.SSS",
    "ISO8601": "yyyy-MM-dd'T'HH:mm:ss,SSS",
    "ISO8601_PERIOD": "yyyy-MM-dd'T'HH:mm:ss.SSS",
    "ISO8601_BASIC": "yyyyMMdd'T'HHmmss,SSS",
    "COMPACT": "yyyyMMddHHmmssSSS",
}
_LETTERS = {"yyyy": ("y", 4), "yy": ("y", 2), "MM": ("M", 2), "dd": ("d", 2), "HH": ("H", 2), "mm": ("m", 2), "ss": ("s", 2)}
_CONVERTER = re.compile(r"%(?:-?[0-9]+)?(?:\.-?[0-9]+)?([A-Za-z]+|%)((?:\{[^{}]*\})*)")
_NAMES = {
    "d": "date", "date": "date", "p": "level", "level": "level", "le": "level",
    "c": "logger", "logger": "logger", "lo": "logger", "C": "word", "class": "word",
    "m": "message", "msg": "message", "message": "message", "n": "end",
    "t": "text", "tn": "text", "thread": "text", "threadName": "text",
    "x": "text", "NDC": "text", "X": "text", "mdc": "text", "MDC": "text",
    "L": "word", "line": "word", "M": "word", "method": "word", "F": "word", "file": "word", "l": "text", "location": "text",
    "r": "word", "relative": "word", "pid": "word", "processId": "word", "T": "word", "tid": "word", "threadId": "word",
    "tp": "word", "threadPriority": "word", "sn": "word", "sequenceNumber": "word", "ex": "end", "throwable": "end", "xEx": "end",
}  # fmt: skip
_PIECES = {"level": r"([A-Z]+)", "logger": r"([^ \n]*)", "word": r"[^ \n]*", "text": r"[^\n]{0,300}?"}


def layout_of(spec: str) -> Layout:
    """The layout for ``flink`` or a log4j pattern; raises :class:`Refused` where it has no date or no message."""
    if spec in ("", "flink") or _FLINK_PATTERN.fullmatch(spec):
        return FLINK
    return _Compiler(spec).layout()


def zone_of(name: str, layout: Layout = FLINK) -> ZoneInfo:
    """The time zone in which a source prints its times; raises :class:`Refused` for an unknown name."""
    wanted = layout.zone or name or "UTC"
    try:
        return ZoneInfo(wanted)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise Refused(f"There is no time zone {wanted!r}; give an IANA name such as UTC or Asia/Shanghai.") from error


class _Compiler:
    """Walks a pattern once from left to right and stops at the message: what follows it is on the same line."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._regex = ""
        self._opening: str | None = ""
        self._groups: list[str] = []
        self._second_regex = ""
        self._second_parts = ""
        self._zone = ""

    def layout(self) -> Layout:
        at = 0
        for match in _CONVERTER.finditer(self._pattern):
            self._literal(self._pattern[at : match.start()])
            at = match.end()
            name, options = match.group(1), match.group(2)
            if name == "%":
                self._literal("%")
                continue
            kind = _NAMES.get(name)
            if kind is None:
                raise self._refused(f"it has %{name}, which is not supported")
            if kind == "message":
                return self._finished()
            self._convert(kind, options)
        raise self._refused("it has no message (%m)")

    def _finished(self) -> Layout:
        if not self._second_parts:
            raise self._refused("it has no date (%d) before the message")
        opening = self._opening or ""
        header = self._regex
        if opening:
            header = header.removeprefix(_escaped(opening.removesuffix("20")))
            header = header.replace("([0-9]{4}", "([0-9]{2}", 1) if opening.endswith("20") else header
        second = self._second_regex.replace("[0-9]{4}", "[0-9]{2}", 1) if opening.endswith("20") else self._second_regex
        header = header.replace(" * +", " +")  # two ways to eat the same spaces would cost their square
        return Layout(self._pattern, opening, f"^{header}", tuple(self._groups), second, self._second_parts, self._zone)

    def _literal(self, text: str) -> None:
        if self._opening is not None and not self._second_parts:
            self._opening += text
        # Padding may stretch any run of spaces.
        self._regex += re.sub(r"(?: )+", " +", _escaped(text))

    def _convert(self, kind: str, options: str) -> None:
        if kind == "date":
            self._date(re.findall(r"\{([^{}]*)\}", options))
        elif kind != "end":
            if not self._second_parts:
                self._opening = None
            self._regex += _PIECES[kind] + (" *" if kind in ("level", "logger", "word") else "")
            if kind in ("level", "logger"):
                self._groups.append(kind)

    def _date(self, options: list[str]) -> None:
        if self._second_parts:
            raise self._refused("it has two dates")
        pattern = _DATES.get(options[0] if options else "", options[0] if options else "")
        self._zone = options[1] if len(options) > 1 else ""
        tokens = re.findall(r"'[^']*'|y+|M+|d+|H+|m+|s+|S+|n+|X+|Z+|z+|[A-Za-z]+|[^A-Za-z']+", pattern)
        second = ""
        for token in tokens:
            if token in _LETTERS:
                letter, digits = _LETTERS[token]
                self._second_parts += letter
                second += f"([0-9]{{{digits}}})"
            elif set(token) == {"S"} and len(self._second_parts) == 6:
                self._close_second(second)
                second = ""
                self._regex += f"([0-9]{{{len(token)}}})"
                self._groups.append("fraction")
            elif token[0].isalpha():
                raise self._refused(f"its date has {token!r}; only years to fractions of a second in digits are supported")
            else:
                second += _escaped(token.strip("'"))
        if sorted(self._second_parts) != sorted("yMdHms"):
            raise self._refused(f"its date {pattern!r} lacks the day or the time of day")
        if self._second_regex:
            self._regex += second
        else:
            self._close_second(second)

    def _close_second(self, second: str) -> None:
        trail = re.search(r"[^)]*$", second)
        tail = trail.group(0) if trail else ""
        self._second_regex = second.removesuffix(tail)
        begins_with_year = self._second_regex.startswith("([0-9]{4})")
        self._opening = self._opening + "20" if self._opening is not None and begins_with_year else None
        flat = self._second_regex.replace("(", "").replace(")", "")
        self._regex += f"({flat}){tail}"
        self._groups.append("second")

    def _refused(self, why: str) -> Refused:
        return Refused(f"The log layout {self._pattern!r} cannot be read: {why}. Use 'flink' or a log4j pattern with %d and %m.")


def _offset(text: str | None) -> timezone | None:
    """``Z``, ``UTC``, ``+0800`` or ``+08:00``; ``None`` for none."""
    if not text:
        return None
    digits = text.replace(":", "")[1:] if text[0] in "+-" else "0000"
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))


def _escaped(text: str) -> str:
    return re.sub(r"[][\\.^$*+?{}|()]", r"\\\g<0>", text)
