"""Counts of each host's events by UTC day, which lists of hosts over weeks read. Code that writes
or deletes :class:`HostEvent` must call :func:`sum_again` in the same transaction.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from webapp.hosts.loads import HOSTS_AT_ONCE, SAME_HOST, write_sums
from webapp.hosts.models import HOST_LENGTH, HostDay, HostEvent
from webapp.lib.chunks import chunks
from webapp.lib.instants import begin_of_day, day_of, drawable
from webapp.work.texts import bounded

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
    sum_again(
        (row["cluster"], bounded(row["host"], HOST_LENGTH, unique=True) or "", day_of(row["at"]))
        for row in rows
    )


def sum_again(places: Iterable[tuple[str, str, date]]) -> None:
    """``places``: (cluster, host, day). Same host names in their other clusters are counted too."""
    hosts_by_day: dict[date, set[tuple[str, str]]] = defaultdict(set)
    for cluster, host, day in places:
        hosts_by_day[day].add((cluster, host))
    for day, hosts in sorted(hosts_by_day.items()):
        for part in chunks(sorted(hosts), HOSTS_AT_ONCE):
            _sum_day(day, part)


def _sum_day(day: date, places: Sequence[tuple[str, str]]) -> None:
    start, end = begin_of_day(day), begin_of_day(day) + timedelta(days=1)
    events = HostEvent.objects.filter(**SAME_HOST, at__gte=start, at__lt=end)
    span = [connection.ops.adapt_datetimefield_value(at) for at in (start, end)]
    values = [connection.ops.adapt_datefield_value(day), *span]
    write_sums(HostDay.objects.filter(day=day), _SUMS, values, places, events)


def places_of(rows: "QuerySet[HostEvent]") -> list[tuple[str, str, date]]:
    return sorted(
        {
            (cluster, host, day_of(at))
            for cluster, host, at in rows.order_by().values_list("cluster", "host", "at")
        }
    )


def whole_days(start: datetime, end: datetime) -> tuple[date, date]:
    """The first whole day of the range, and the day after the last; equal if no day is whole."""
    start, end = drawable(start), drawable(end)
    first = day_of(start)
    if begin_of_day(first) != start:
        first += timedelta(days=1)
    return first, max(day_of(end), first)
