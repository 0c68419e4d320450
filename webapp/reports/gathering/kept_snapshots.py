"""Savepoints, and checkpoints of ended jobs: what Flink never deletes by itself, root by root, by
the newest audits.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Min, Sum

from webapp.reports import texts
from webapp.storage.models import CheckpointStorage, JobStorage
from webapp.storage.newest_audits import latest_audits

MOST_ROOTS = 50


@dataclass(frozen=True)
class KeptSnapshots:
    """``oldest``: when the oldest savepoint was written.

    ``ended_bytes``: live files of jobs that have ended.
    """

    root: str
    savepoints: int
    savepoint_bytes: int
    oldest: datetime | None
    ended_jobs: int
    ended_bytes: int


def of_roots() -> tuple[KeptSnapshots, ...]:
    """Most bytes first. Two queries."""
    audited = (
        CheckpointStorage.objects.filter(audit__in=latest_audits(), is_savepoint=True)
        .order_by()
        .values("root")
    )
    savepoints = {
        row["root"]: row
        for row in audited.annotate(count=Count("id"), size=Sum("bytes"), oldest=Min("modified"))
    }
    over = (
        JobStorage.objects.filter(
            audit__in=latest_audits(), terminal=True, checkpoints__gt=0, live_files__gt=0
        )
        .order_by()
        .values("root")
    )
    ended = {
        row["root"]: row
        for row in over.order_by()
        .values("root")
        .annotate(count=Count("id"), size=Sum("live_bytes"))
    }
    by_root = []
    for root in savepoints.keys() | ended.keys():
        own: Mapping[str, Any] = savepoints.get(root) or {}
        of_ended: Mapping[str, Any] = ended.get(root) or {}
        by_root.append(
            KeptSnapshots(
                root=texts.bounded(root),
                savepoints=own.get("count") or 0,
                savepoint_bytes=own.get("size") or 0,
                oldest=own.get("oldest"),
                ended_jobs=of_ended.get("count") or 0,
                ended_bytes=of_ended.get("size") or 0,
            )
        )
    return tuple(
        sorted(
            by_root,
            key=lambda snapshots: (
                -(snapshots.savepoint_bytes + snapshots.ended_bytes),
                snapshots.root,
            ),
        )[:MOST_ROOTS]
    )
