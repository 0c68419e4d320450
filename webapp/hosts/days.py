"""What happened on each host by UTC day, counted when it changes: lists of hosts over weeks read
days instead of every event.

Whoever writes or deletes rows of :class:`HostEvent` calls :func:`sum_again` for their hosts and
days in the same transaction.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, QuerySet

from webapp.hosts.models import HOST_LENGTH, HostDay, HostEvent
from webapp.lib.chunks import chunks
from webapp.lib.instants import begin_of_day, day_of, drawable
from webapp.work.texts import bounded

HOSTS_AT_ONCE = 1_000
_SUMS = """
INSERT INTO hosts_hostday (cluster, host, day, declines, expired, failures, last_at)
SELECT cluster, host, %s,
    SUM(CASE WHEN kind = 'decline' THEN 1 ELSE 0 END),
    SUM(CASE WHEN kind = 'expired' THEN 1 ELSE 0 END),
    SUM(CASE WHEN kind = 'failure' THEN 1 ELSE 0 END),
    MAX(at)
FROM hosts_hostevent
WHERE at >= %s AND at < %s AND cluster IN ({clusters}) AND host IN ({hosts})
GROUP BY cluster, host
ON CONFLICT (cluster, host, day) DO UPDATE SET
    declines = excluded.declines, expired = excluded.expired, failures = excluded.failures,
    last_at = excluded.last_at
"""


def record_loaded(rows: Iterable[Mapping[str, Any]]) -> None:
    # As the loader writes them.
    sum_again(
        (row["cluster"], bounded(row["host"], HOST_LENGTH, unique=True) or "", day_of(row["at"]))
        for row in rows
    )


def sum_again(places: Iterable[tuple[str, str, date]]) -> None:
    """``places``: clusters, hosts and days.

    Hosts of the same names on the other clusters among them are counted as well, to the same.
    """
    of_days: dict[date, set[tuple[str, str]]] = defaultdict(set)
    for cluster, host, day in places:
        of_days[day].add((cluster, host))
    for day, of_day in sorted(of_days.items()):
        for part in chunks(sorted(of_day), HOSTS_AT_ONCE):
            _sum_day(
                day, sorted({cluster for cluster, _ in part}), sorted({host for _, host in part})
            )


def _sum_day(day: date, clusters: list[str], hosts: list[str]) -> None:
    start, end = begin_of_day(day), begin_of_day(day) + timedelta(days=1)
    known = HostDay.objects.filter(day=day, cluster__in=clusters, host__in=hosts)
    events = HostEvent.objects.filter(
        cluster=OuterRef("cluster"), host=OuterRef("host"), at__gte=start, at__lt=end
    )
    with transaction.atomic(), connection.cursor() as cursor:
        # The events are counted once nobody else writes the days of these hosts.
        list(known.select_for_update().order_by("cluster", "host").values_list("pk"))
        span = [connection.ops.adapt_datetimefield_value(at) for at in (start, end)]
        query = _SUMS.format(clusters=_gaps(clusters), hosts=_gaps(hosts))
        cursor.execute(query, [connection.ops.adapt_datefield_value(day), *span, *clusters, *hosts])
        known.exclude(Exists(events)).delete()


def places_of(rows: "QuerySet[HostEvent]") -> list[tuple[str, str, date]]:
    return sorted(
        {
            (cluster, host, day_of(at))
            for cluster, host, at in rows.order_by().values_list("cluster", "host", "at")
        }
    )


def whole_days(start: datetime, end: datetime) -> tuple[date, date]:
    """The first day that lies in the range as a whole, and the first after it that does not; the
    same where none does.
    """
    start, end = drawable(start), drawable(end)
    first = (
        day_of(start) if begin_of_day(day_of(start)) == start else day_of(start) + timedelta(days=1)
    )
    return first, max(day_of(end), first)


def _gaps(values: list[str]) -> str:
    return ", ".join(["%s"] * len(values))
