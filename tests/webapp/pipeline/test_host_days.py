"""Days of each host follow the events they are of, whoever changes these: recounted one by one."""

from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache

from spark_jobs.serving import HOST_EVENT_KINDS
from tests.webapp.builders import job
from tests.webapp.hosts.builders import host_event
from tests.webapp.pipeline.runs import AT, row
from webapp.fleet.models import Cluster
from webapp.hosts import days, lookup
from webapp.hosts.models import HostDay, HostEvent
from webapp.pipeline import retention
from webapp.work.lease import Lease

Load = Callable[..., dict[str, int]]
Counts = tuple[int, int, int, datetime]


def happened(
    host: str, kind: str, at: datetime = AT, job_id: str = "a" * 32, **values: Any
) -> dict[str, Any]:
    return row(
        "host_event",
        host=host,
        kind=kind,
        at=at,
        job_id=job_id,
        **{"cluster": "c", "subject": "s", **values},
    )


def stored() -> dict[tuple[str, str, date], Counts]:
    rows = HostDay.objects.all()
    return {
        (one.cluster, one.host, one.day): (
            one.declines,
            one.expired,
            one.failures,
            one.last_at,
        )
        for one in rows
    }


def recounted() -> dict[tuple[str, str, date], Counts]:
    of_places: dict[tuple[str, str, date], list[HostEvent]] = defaultdict(list)
    for one in HostEvent.objects.all():
        of_places[one.cluster, one.host, one.at.astimezone(UTC).date()].append(one)
    return {place: counted(events) for place, events in of_places.items()}


def counted(events: list[HostEvent]) -> Counts:
    declines, expired, failures = (
        sum(one.kind == kind for one in events) for kind in HOST_EVENT_KINDS
    )
    return declines, expired, failures, max(one.at for one in events)


def test_loaded_events_are_counted_by_host_and_day_and_the_same_again_change_nothing(
    load: Load,
) -> None:
    midnight = AT.replace(hour=0)
    rows = [
        happened("h", "decline"),
        happened("h", "decline", subject="t"),
        happened("h", "expired", AT + timedelta(hours=1)),
        happened("h", "failure", midnight),
        happened("h", "failure", midnight - timedelta(microseconds=1)),
        happened("h", "decline", cluster="d"),
        happened("long" * 100, "decline"),
    ]
    load({"host_event": rows})
    assert stored() == recounted()
    assert stored()["c", "h", AT.date()] == (2, 1, 1, AT + timedelta(hours=1))
    before = list(HostDay.objects.order_by("pk").values_list())
    load({"host_event": rows})
    assert list(HostDay.objects.order_by("pk").values_list()) == before


def test_events_that_are_not_kept_leave_their_days(lease: Lease) -> None:
    Cluster.objects.create(name="prod-eu")
    of, cut = job(at=AT), AT - retention.notable()
    host_event("h", of, "decline", AT)
    host_event("h", of, "decline", cut - timedelta(hours=1))
    host_event("h", of, "failure", cut + timedelta(hours=1))
    host_event("h", of, "expired", cut - timedelta(days=9))
    retention.purge(AT, lease)
    assert sum(of_day[0] for of_day in stored().values()) == 1
    assert stored() == recounted()
    assert len(stored()) == 2


@pytest.mark.parametrize("most", [lookup.MOST_EVENTS, 30, 3])
def test_lists_of_hosts_count_days_and_what_is_beside_them_as_every_event_by_itself(
    db: None, monkeypatch: Any, most: int
) -> None:
    monkeypatch.setattr(lookup, "MOST_EVENTS", most)
    of = [job(at=AT) for _ in range(2)]
    for n in range(60):
        host_event(
            f"h{n % 3}",
            of[n % 2],
            HOST_EVENT_KINDS[n // 3 % 3],
            AT - timedelta(hours=3 * (n // 2)),
            f"s{n % 5}",
        )
    for start_h, end_h in ((200, 0), (180, 13), (60, 12), (24, 0), (5, 1), (84, 84), (1, 5)):
        cache.clear()
        start, end = AT - timedelta(hours=start_h), AT - timedelta(hours=end_h)
        found = lookup.hosts("prod-eu", start, end)
        events: dict[str, list[HostEvent]] = defaultdict(list)
        for one in HostEvent.objects.filter(
            at__gte=found.since, at__gt=start - timedelta(microseconds=1), at__lte=end
        ):
            events[one.host].append(one)
        told = {
            row.host: (row.declines, row.expired, row.failures, row.last_at) for row in found.rows
        }
        assert told == {host: counted(of_host) for host, of_host in events.items()}
        assert lookup.hosts("prod-eu", start, end) == found


def test_whole_days_of_a_range() -> None:
    day = datetime(2025, 3, 1, tzinfo=UTC)
    first = day.date()
    assert days.whole_days(day, day + timedelta(days=1)) == (first, first + timedelta(days=1))
    assert days.whole_days(day + timedelta(seconds=1), day + timedelta(days=2, hours=3)) == (
        first + timedelta(days=1),
        first + timedelta(days=2),
    )
    inside, end = days.whole_days(day + timedelta(hours=1), day + timedelta(hours=5))
    assert inside == end
    assert days.whole_days(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
