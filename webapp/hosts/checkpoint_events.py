"""Events on hosts that belong to a checkpoint come with its fact: a newer report replaces all
earlier ones.
"""

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
    """``before`` each batch of a table is upserted, in the same transaction; ``finish`` once both
    tables are loaded.

    The end of an expired checkpoint is first the log's, then REST's, and its missing subtasks
    become known gradually.
    """

    def __init__(self) -> None:
        self._reported_before: dict[Key, int] = {}
        """Events of checkpoints whose facts are reported again, by id."""

    def before(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        if table == "checkpoint_fact":
            self._remember(
                row for row in rows if row["outcome"] not in ("completed", "in_progress")
            )
        elif table == "host_event":
            for row in rows:
                host = bounded(row["host"], HOST_LENGTH, unique=True) or ""
                self._reported_before.pop(
                    (row["cluster"], row["job_id"], host, row["at"], row["kind"], row["subject"]),
                    None,
                )

    def finish(self) -> int:
        """Delete what was not reported again; returns how many. Call it in a transaction."""
        deleted = 0
        for ids in chunks(list(self._reported_before.values()), IDS_AT_ONCE):
            gone = HostEvent.objects.filter(id__in=ids)
            places = days.places_of(gone)
            deleted += gone.delete()[0]
            days.sum_again(places)
        self._reported_before.clear()
        return deleted

    def _remember(self, facts: Iterable[Mapping[str, Any]]) -> None:
        of_clusters: dict[str, set[tuple[str, int, Any]]] = defaultdict(set)
        for fact in facts:
            of_clusters[fact["cluster"]].add(
                (fact["job_id"], fact["checkpoint_id"], fact["trigger_time"])
            )
        names = ("id", "job_id", "checkpoint_id", "trigger_time", "host", "at", "kind", "subject")
        for cluster, of_cluster in of_clusters.items():
            # One query for many jobs: when a cluster fails, thousands lose a checkpoint at once.
            for wanted in chunks(sorted(of_cluster), IDS_AT_ONCE):
                jobs, numbers, _ = map(set, zip(*wanted, strict=True))
                known = HostEvent.objects.filter(
                    cluster=cluster, job_id__in=jobs, checkpoint_id__in=numbers
                )
                for id_, job_id, number, triggered, *rest in known.values_list(*names):
                    if (job_id, number, triggered) in of_cluster:
                        self._reported_before[cluster, job_id, *rest] = id_
