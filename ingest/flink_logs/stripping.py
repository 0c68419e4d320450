"""A line without what container runtimes, log daemons and shippers put around it, however often."""

import re
from collections.abc import Iterable
from zoneinfo import ZoneInfo

from ingest.flink_logs.envelopes import Stripped, cloudwatch, cri, docker, prefixed
from ingest.flink_logs.json_records import JsonRecord
from ingest.flink_logs.json_records import read as read_json
from ingest.flink_logs.line_layouts import LineLayouts

MAX_DEPTH = 3
MAX_KNOWN = 1024
"""Kinds of prefixes with their processes, which are taken without a record behind them once one
stood there.
"""
LONGEST_KEPT, MOST_KEPT = 300, 100
BEFORE = -1

_WRAPPED_JSON = re.compile(
    rb'"(?:log|MESSAGE|line|@message|textPayload|LogMessage|LogEntry|content|_raw)" ?: ?"'
    rb'|"(?:kubernetes|stream|_source|jsonPayload|attributes|result)" ?:'
).search


class EnvelopeStripper:
    """Of one file. ``known``: prefixes that stood before a record, each with the place of the line
    at which it was first met. ``at``: the place of the line that is looked at.
    """

    def __init__(self, lines: LineLayouts, zone: ZoneInfo) -> None:
        self.known: dict[str, int] = {}
        self.at = BEFORE
        self._lines, self._zone = lines, zone

    @staticmethod
    def may_wrap(block: bytes) -> bool:
        return _WRAPPED_JSON(block) is not None

    def stripped(self, line: bytes, within: tuple[str, ...] = ()) -> Stripped | None:
        """The line without all that is around it, ``None`` where that is nothing.

        None stands in one of its kind.
        """
        for outer in self._envelopes(line):
            if outer.envelope in within:
                continue
            deeper = len(within) + 1 < MAX_DEPTH and not self._lines.own(outer.content)
            inner = self.stripped(outer.content, (*within, outer.envelope)) if deeper else None
            if inner is not None:
                process = "/".join(filter(None, (outer.process, inner.process)))
                inner = Stripped(
                    f"{outer.envelope}, {inner.envelope}",
                    process,
                    inner.stream or outer.stream,
                    inner.content,
                    inner.whole and outer.whole,
                    inner.stamp or outer.stamp,
                )
            known = f"{outer.envelope}\t{outer.process}"
            if outer.strict or known in self.known:
                return inner or outer
            if inner is not None or self._begins(outer.content):
                if len(self.known) < MAX_KNOWN:
                    self.known[known] = self.at
                return inner or outer
        return None

    def known_before(self, offset: int) -> list[str]:
        """Prefixes that were met before this place; a hundred at most."""
        return [
            known for known, at in self.known.items() if at < offset and len(known) <= LONGEST_KEPT
        ][:MOST_KEPT]

    def _envelopes(self, line: bytes) -> Iterable[Stripped]:
        if line[:1] == b"{":
            if (of_docker := docker(line)) is not None:
                yield of_docker
            elif _WRAPPED_JSON(line):
                try:
                    record = read_json(line, self._zone)
                except ValueError:
                    return
                if isinstance(record, Stripped):
                    yield record
        elif (known := cri(line) or cloudwatch(line)) is not None:
            yield known
        else:
            yield from prefixed(line)

    def _begins(self, line: bytes) -> bool:
        if self._lines.have_header(line):
            return True
        try:
            return line[:1] == b"{" and isinstance(read_json(line, self._zone), JsonRecord)
        except ValueError:
            return False
