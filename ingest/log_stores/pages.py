"""A new store is a ``Store``, registered in ``collector.store_of``. Its answers, made from its
reference, are a class of ``tests/ingest/log_stores/stores.py``.
"""

from dataclasses import dataclass
from typing import Protocol

from ingest.pushed.entries import Entry
from ingest.records import Skip

NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
NOWHEN = -1
LAST_NS = 4_102_444_800 * NS_PER_S

Line = tuple[int, Entry | Skip]


@dataclass(frozen=True, slots=True)
class Page:
    """Lines with their instants (epoch ns), oldest first; ``NOWHEN`` for a line without one."""

    lines: tuple[Line, ...]


class Store(Protocol):
    """Lines from an instant on (inclusive) up to another (exclusive), oldest first.
    ``resolution_ns``: least difference of instants, ``usual_lines`` what is asked for at once,
    ``most_lines`` what it answers at once.
    """

    name: str
    resolution_ns: int
    usual_lines: int
    most_lines: int

    def path(self, start_ns: int, end_ns: int, limit: int) -> str: ...

    def page(self, body: object) -> Page:
        """Raises :class:`IngestError` if it is not an answer of this store, or incomplete."""
        ...

    def advice(self, status: int) -> str:
        """What to do about this HTTP status."""
        ...
