"""Host events of a checkpoint are loaded with its fact, and replace events of earlier loads."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from webapp.hosts import days
from webapp.hosts.models import HOST_LENGTH, HostEvent
from webapp.lib.chunks import chunks
from webapp.work.texts import bounded

IDS_AT_ONCE = 500

Key = tuple[Any, ...]
"""cluster, job_id, host, at, kind, subject."""


class CheckpointEvents:
    """Call ``prepare`` before a batch of a table is upserted, in the same transaction, and
    ``finish`` after both tables. Later reports differ: the end of an expired checkpoint comes first
    from the log, then from REST, and its missing subtasks become known gradually.
    """

    def __init__(self) -> None:
        self._unconfirmed: dict[Key, int] = {}
        """Ids of stored events that are not reported again, although their checkpoints are."""

    def prepare(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        if table == "checkpoint_fact":
            self._remember(
                row for row in rows if row["outcome"] not in ("completed", "in_progress")
            )
        elif table == "host_event":
            for row in rows:
                host = bounded(row["host"], HOST_LENGTH, unique=True) or ""
                self._unconfirmed.pop(
                    (row["cluster"], row["job_id"], host, row["at"], row["kind"], row["subject"]),
                    None,
                )

    def finish(self) -> int:
        """Deletes events that were not reported again; returns how many. Call in a transaction."""
        deleted = 0
        for ids in chunks(list(self._unconfirmed.values()), IDS_AT_ONCE):
            outdated = HostEvent.objects.filter(id__in=ids)
            host_days = days.places_of(outdated)
            deleted += outdated.delete()[0]
            days.sum_again(host_days)
        self._unconfirmed.clear()
        return deleted

    def _remember(self, facts: Iterable[Mapping[str, Any]]) -> None:
        reported: dict[str, set[tuple[str, int, Any]]] = defaultdict(set)
        for fact in facts:
            reported[fact["cluster"]].add(
                (fact["job_id"], fact["checkpoint_id"], fact["trigger_time"])
            )
        names = ("id", "job_id", "checkpoint_id", "trigger_time", "host", "at", "kind", "subject")
        for cluster, checkpoints in reported.items():
            # One query for many jobs: when a cluster fails, thousands lose a checkpoint at once.
            for part in chunks(sorted(checkpoints), IDS_AT_ONCE):
                jobs, numbers, _ = map(set, zip(*part, strict=True))
                stored = HostEvent.objects.filter(
                    cluster=cluster, job_id__in=jobs, checkpoint_id__in=numbers
                )
                for id_, job_id, number, trigger_time, *key in stored.values_list(*names):
                    if (job_id, number, trigger_time) in checkpoints:
                        self._unconfirmed[cluster, job_id, *key] = id_
