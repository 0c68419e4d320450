"""A host of a cluster with its figures, and the orders of lists of them: pure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

ANY = "any"
COUNTED = ("declines", "expired", "failures", "losses", "findings")
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class HostRow:
    """``jobs``, ``subtasks``, ``slots``: what runs there now; the others: of a time. ``findings``:
    open ones that name it, whose worst severity has ``worst_rank``.
    """

    host: str
    cluster: str
    jobs: int = 0
    subtasks: int = 0
    slots: int = 0
    declines: int = 0
    expired: int = 0
    failures: int = 0
    losses: int = 0
    findings: int = 0
    worst_rank: int = 0
    last_at: datetime | None = None

    @property
    def trouble(self) -> int:
        return self.declines + self.expired + self.failures + self.losses + self.findings


SORTS: dict[str, Callable[[HostRow], Any]] = {
    "trouble": lambda row: (row.worst_rank, row.trouble, row.last_at or _LONG_AGO),
    "host": attrgetter("host"),
    **{name: attrgetter(name) for name in (*COUNTED, "jobs", "subtasks")},
    "last_at": lambda row: row.last_at or _LONG_AGO,
}


def ordered(rows: Iterable[HostRow], sort: str, downwards: bool) -> list[HostRow]:
    """Hosts that are alike by name."""
    by_name = sorted(rows, key=attrgetter("host", "cluster"))
    return sorted(by_name, key=SORTS[sort], reverse=downwards)


def with_trouble(rows: Iterable[HostRow], trouble: str | None) -> list[HostRow]:
    """``trouble``: one of ``COUNTED``, any of it, or None for all rows."""
    if not trouble:
        return list(rows)
    return [row for row in rows if (row.trouble if trouble == ANY else getattr(row, trouble))]
