"""Which lines of a store were read, and which are read next: plain data, no request."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from ingest.log_stores.pages import LAST_NS, NS_PER_S
from ingest.sources import LogStoreSource

LATE_S = 120
"""Lines that reach the store later than this after their instant are not read: shippers wait for
seconds, indices refresh within thirty.
"""
MOST_AGAIN = 20_000
"""Lines that are read again for the sake of late ones: fewer than the spool remembers of each
process (``REMEMBERED_LINES``).
"""


@dataclass(slots=True)
class ReadTo:
    """Everything before ``to_ns`` was read, from ``from_ns`` on. ``recent``: where each of the last
    cycles began, and its new lines. ``of``: digest of what was asked of whom.
    """

    of: str
    from_ns: int
    to_ns: int
    recent: list[tuple[int, int]] = field(default_factory=list)

    @classmethod
    def of_cursor(
        cls, document: Mapping[str, Any], source: LogStoreSource, now_ns: int
    ) -> "ReadTo":
        of, first_ns = digest(source), now_ns - round(source.backfill_s) * NS_PER_S
        match document:
            case {"of": str(known), "from_ns": int(from_ns), "to_ns": int(to_ns)} if (
                known == of and 0 <= from_ns <= min(to_ns, now_ns) <= LAST_NS
            ):
                recent = document.get("recent")
                pairs = (
                    [pair for pair in recent if _is_pair(pair)] if isinstance(recent, list) else []
                )
                return cls(of, from_ns, to_ns, [(at, lines) for at, lines in pairs])
        return cls(of, first_ns, first_ns)

    def to_json(self) -> dict[str, Any]:
        return {
            "of": self.of,
            "from_ns": self.from_ns,
            "to_ns": self.to_ns,
            "recent": [list(pair) for pair in self.recent],
        }

    def begin_ns(self, now_ns: int) -> int:
        """Some time before, for late lines, as far as these are few; never in the future."""
        read_to = min(self.to_ns, now_ns)
        begin, again = read_to, 0
        for at, lines in reversed(self.recent):
            again += lines
            if again > MOST_AGAIN:
                break
            begin = min(begin, at)
        return max(begin, read_to - LATE_S * NS_PER_S, min(self.from_ns, read_to))

    def took(self, begun_ns: int, lines: int) -> None:
        oldest = self.to_ns - LATE_S * NS_PER_S
        kept = [*self.recent, (begun_ns, lines)]
        # One that began before the oldest instant is needed: it may have lines behind that.
        begins = [at for at, _ in kept if at <= oldest]
        self.recent = [pair for pair in kept if pair[0] >= max(begins, default=0)][-200:]


def digest(source: LogStoreSource) -> str:
    asked = "\0".join((source.kind, source.url, source.index, source.query, source.tenant))
    return sha256(asked.encode("utf-8", "replace")).hexdigest()[:16]


def _is_pair(pair: Any) -> bool:
    match pair:
        case [int(at), int(lines)]:
            return 0 <= at <= LAST_NS and lines >= 0
    return False
