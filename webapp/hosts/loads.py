"""Sums of what runs on each host, which lists of hosts read. Code that writes or deletes rows of
:class:`JobHost` must call :func:`sum_again` for their hosts in the same transaction.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, QuerySet

from webapp.hosts.models import HOST_LENGTH, HostLoad, JobHost
from webapp.lib.chunks import chunks
from webapp.work.texts import bounded

HOSTS_AT_ONCE = 1_000
SAME_HOST = {"cluster": OuterRef("cluster"), "host": OuterRef("host")}
_SUMS = """
INSERT INTO hosts_hostload (cluster, host, jobs, subtasks, slots)
SELECT cluster, host, COUNT(*), SUM(subtasks), SUM(slots) FROM hosts_jobhost
WHERE left_at IS NULL AND cluster IN ({clusters}) AND host IN ({hosts}) GROUP BY cluster, host
ON CONFLICT (cluster, host) DO UPDATE SET
    jobs = excluded.jobs, subtasks = excluded.subtasks, slots = excluded.slots
"""


def record_loaded(rows: Iterable[Mapping[str, Any]]) -> None:
    sum_again(
        (row["cluster"], bounded(row["host"], HOST_LENGTH, unique=True) or "") for row in rows
    )


def sum_again(places: Iterable[tuple[str, str]]) -> None:
    """``places``: (cluster, host). Same host names in their other clusters are summed up too."""
    present = JobHost.objects.filter(**SAME_HOST, left_at__isnull=True)
    for part in chunks(sorted(set(places)), HOSTS_AT_ONCE):
        write_sums(HostLoad.objects.all(), _SUMS, [], part, present)


def write_sums(
    sums: "QuerySet[Any]",
    query: str,
    values: Sequence[Any],
    places: Sequence[tuple[str, str]],
    source: "QuerySet[Any]",
) -> None:
    """Run ``query`` with ``values`` and ``places``; delete ``sums`` without a ``source`` row."""
    clusters = sorted({cluster for cluster, _ in places})
    hosts = sorted({host for _, host in places})
    stored = sums.filter(cluster__in=clusters, host__in=hosts)
    with transaction.atomic(), connection.cursor() as cursor:
        # Wait until no other process writes sums of these hosts.
        list(stored.select_for_update().order_by("cluster", "host").values_list("pk"))
        placeholders = {"clusters": _placeholders(clusters), "hosts": _placeholders(hosts)}
        cursor.execute(query.format(**placeholders), [*values, *clusters, *hosts])
        stored.exclude(Exists(source)).delete()


def places_of(rows: "QuerySet[JobHost]") -> list[tuple[str, str]]:
    return list(rows.order_by().values_list("cluster", "host").distinct())


def _placeholders(values: list[str]) -> str:
    return ", ".join(["%s"] * len(values))
