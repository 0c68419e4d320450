"""By which layout a line begins a record: the declared one, or one that is known by itself."""

import re
from datetime import date, datetime
from zoneinfo import ZoneInfo

from ingest.flink_logs.envelopes import COLOURS
from ingest.flink_logs.layouts import BEHIND, CLOCK, DATED, LEVELLED, OPERATOR, SHORT, Layout

_OTHERS = tuple(
    (layout, re.compile(layout.header.encode()).match)
    for layout in (OPERATOR, DATED, SHORT, BEHIND, LEVELLED)
)
_CLOCK = re.compile(CLOCK.encode()).match
_OPENINGS = frozenset((b"[", b"T", b"D", b"I", b"W", b"E", b"F"))
"""With digits, what a header begins with: a bracket, or a level."""
_FOREIGN = (
    rb"(?:\[?[0-9]{2,4}[-/:][0-9]{2}[-/:][0-9]{2}[T ,.]|\{ "
    rb"?\"|<[0-9]{1,3}>|\[pod/|\x1b\[|[A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:"
    rb"|\[?(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)(?: *+\])? ++\[?[0-9]{4}[-/]"
    rb"|[a-z0-9]{1,63}+(?:-[a-z0-9]{1,63}+){1,20}+ [a-z0-9-]{1,63}+ [\x1b\[{0-9]"
    rb"|[A-Za-z0-9][A-Za-z0-9_.-]*+ *+\| )"
)
"""How a line begins that may need a closer look."""


def uncoloured(line: bytes) -> bytes:
    return COLOURS.sub(b"", line) if b"\x1b[" in line else line


class LineLayouts:
    """``own`` matches a header of the declared layout; ``undated``: a time was met whose day nobody
    knows.
    """

    def __init__(self, layout: Layout, zone: ZoneInfo, day: date | None) -> None:
        self._layout, self._zone, self._day = layout, zone, day
        self.undated = False
        self.may_begin_objects = layout.opening[:1] in ("", "{")
        own = re.escape(layout.opening.encode()) + layout.header.encode().removeprefix(b"^")
        self.own = re.compile(own).match
        self._foreign = re.compile(rb"\n(?!" + own + rb")" + _FOREIGN).search
        self._foreign_first = re.compile(rb"(?!" + own + rb")" + _FOREIGN).match

    def are_own(self, block: bytes) -> bool:
        """Whether no line of these needs a closer look: all are of the declared layout, or continue
        such.
        """
        return not self._foreign_first(block) and not self._foreign(block)

    def have_header(self, line: bytes) -> bool:
        line = uncoloured(line)
        return bool(self.own(line) or _CLOCK(line) or any(match(line) for _, match in _OTHERS))

    def of(self, line: bytes, stamp: bytes) -> tuple[Layout | None, bytes]:
        """The layout whose header the line has, which then is without colours; a date is put before
        a time that has none.
        """
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
