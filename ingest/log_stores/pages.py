"""The interface of stores of logs. For a new store, write a ``Store``, register it in
``collector.store_of``, and add its documented answers to ``tests/ingest/log_stores/stores.py``.
"""

from dataclasses import dataclass
from typing import Protocol

from ingest.pushed.entries import Entry
from ingest.records import Skip

NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
NO_INSTANT = -1
LAST_NS = 4_102_444_800 * NS_PER_S

Line = tuple[int, Entry | Skip]


@dataclass(frozen=True, slots=True)
class Page:
    """Lines with their instants (epoch ns or ``NO_INSTANT``), oldest first."""

    lines: tuple[Line, ...]


class Store(Protocol):
    """Returns lines from ``start_ns`` (inclusive) to ``end_ns`` (exclusive), oldest first.
    ``resolution_ns``: least difference of instants. ``usual_lines`` of a request. ``most_lines`` of
    an answer.
    """

    name: str
    resolution_ns: int
    usual_lines: int
    most_lines: int

    def path(self, start_ns: int, end_ns: int, limit: int) -> str: ...

    def page(self, body: object) -> Page: ...

    def advice(self, status: int) -> str: ...
