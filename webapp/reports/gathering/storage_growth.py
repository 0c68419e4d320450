"""How storage roots grew: the first and the last audit of a stretch of time, root by root."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ingest.messages import message
from webapp.reports import texts
from webapp.storage.choices import AuditState
from webapp.storage.models import RootFigures
from webapp.storage.replication_factor import NONE, ReplicationFactor, factors_by_uri

MOST_ROOTS = 50
MOST_AUDITS = 5_000
LOOK_BACK = timedelta(days=7)
"""The first figure may be older than the range: roots are audited every few hours, their history is
kept one a day.
"""


@dataclass(frozen=True)
class RootGrowth:
    """``grown_bytes`` is ``None`` where only one audit looked; so is ``orphans_grown_bytes``.
    ``raw_bytes``: as often as HDFS stores them, ``None`` where unknown or another storage.
    """

    root: str
    bytes: int
    grown_bytes: int | None
    orphan_bytes: int
    orphans_grown_bytes: int | None
    missing_files: int
    as_of: datetime
    raw_bytes: int | None = None


def of_roots(start: datetime, end: datetime) -> tuple[RootGrowth, ...]:
    """The largest growth first. Five queries at most, one without HDFS."""
    loaded = RootFigures.objects.filter(
        audit__state=AuditState.LOADED, as_of__gte=start - LOOK_BACK, as_of__lte=end
    )
    columns = (
        message("root"),
        "as_of",
        message("bytes"),
        "raw_bytes",
        "orphan_bytes",
        "missing_files",
    )
    first: dict[str, RootFigures] = {}
    last: dict[str, RootFigures] = {}
    for row in loaded.order_by("-as_of", "-id").only(*columns)[:MOST_AUDITS]:
        last.setdefault(row.root, row)
        # The newest one before the range begins, else the first in it.
        if row.root not in first or first[row.root].as_of > start:
            first[row.root] = row
    factors = factors_by_uri(last)
    growths = [
        _growth(last[root], first[root], factors.get(root, NONE))
        for root in last
        if last[root].as_of >= start
    ]
    return tuple(sorted(growths, key=lambda growth: (-(growth.grown_bytes or 0), -growth.bytes)))[
        :MOST_ROOTS
    ]


def _growth(last: RootFigures, first: RootFigures, replicated: ReplicationFactor) -> RootGrowth:
    alone = last.pk == first.pk
    return RootGrowth(
        root=texts.bounded(last.root),
        bytes=last.bytes,
        grown_bytes=None if alone else last.bytes - first.bytes,
        orphan_bytes=last.orphan_bytes,
        orphans_grown_bytes=None if alone else last.orphan_bytes - first.orphan_bytes,
        missing_files=last.missing_files,
        as_of=last.as_of,
        raw_bytes=replicated.raw(last.bytes) if last.raw_bytes is None else last.raw_bytes,
    )
