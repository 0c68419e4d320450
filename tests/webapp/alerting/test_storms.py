"""Storms, from findings to what a real receiver on loopback gets: few notices, and nothing lost."""

import json
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from tests.attacks.scale import examples
from tests.webapp.alerting.builders import (
    T0,
    at,
    closed,
    look,
    looks,
    opened,
    somebody_listens,
    unsaved,
)
from tests.webapp.alerting.streams import Span, spans
from tests.webapp.builders import cluster
from tests.webapp.delivery.builders import LOOPBACK
from tests.webapp.delivery.receiver import Receiver, receiving
from webapp.alerting.choices import OPEN
from webapp.alerting.models import Alert, AlertGroup
from webapp.delivery.models import Delivery
from webapp.delivery.sending import send_due
from webapp.findings import marks, unreachable_clusters
from webapp.findings.models import Finding
from webapp.fleet.models import Cluster

pytestmark = pytest.mark.django_db
CYCLE_S = 30


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture(autouse=True)
def on_call(db, receiver):
    return somebody_listens(url=f"{receiver.url}/ok")


def arrived(receiver: Receiver) -> list[dict[str, Any]]:
    """Everything that was queued, as the receiver got it."""
    send_due(LOOPBACK)
    assert not Delivery.objects.exclude(state="delivered").exists()
    assert len({got.headers["webhook-id"] for got in receiver.got}) == len(receiver.got)
    return [json.loads(got.body)["data"] for got in receiver.got]


def brief(notices: list[dict[str, Any]]) -> list[tuple[str, str, int]]:
    return [(notice["group"], notice["kind"], notice["firing_total"]) for notice in notices]


def test_twenty_restarts_a_minute_for_ten_minutes_are_at_most_three_notices(receiver):
    """Each restart is an episode of its own, as short as it gets."""
    for second in range(0, 600, 15):
        for step in range(0, 15, 3):
            closed(opened(second + step, rule="restart.loop"), second + step + 1)
        look(second + 15)
    arrived(receiver)
    looks(630, 3_600, 60)
    assert brief(arrived(receiver)) == [
        ("prod-eu/restart", "firing", 1),
        ("prod-eu/restart", "resolved", 0),
    ]
    row = Alert.objects.get()
    assert row.flapping and row.firings == 200


def test_twenty_restarting_jobs_are_told_together_as_well(receiver):
    for second in range(0, 600, 60):
        for number in range(20):
            closed(opened(second + number, f"job-{number}", "restart.loop"), second + number + 1)
        looks(second + 15, second + 60)
    arrived(receiver)
    looks(615, 3_600, 60)
    notices = arrived(receiver)
    assert len(notices) <= 3 and notices[-1]["kind"] == "resolved"
    assert Alert.objects.filter(flapping=True, firings__gte=8).count() == 20


@pytest.mark.long
def test_a_cluster_of_a_thousand_jobs_that_goes_dark_is_one_notice_and_its_return_shows_what_is_wrong(
    receiver,
):
    cluster("prod-eu", at=at(-200))
    Cluster.objects.update(last_collected_at=at(0), consecutive_failures=6, created_at=at(-3_600))
    for name in ("prod-us", "prod-asia"):
        cluster(name, at=at(0))
    fields = {"rule": "checkpoint.stalled", "subject_id": "job"}
    rows = [
        unsaved(0, f"job-{number:04}", job_id=f"{number:032x}", **fields) for number in range(1_000)
    ]
    Finding.objects.bulk_create(rows)
    for second in range(0, 1_800, 120):
        unreachable_clusters.watch(at(second))
        look(second + 1)
    dark = arrived(receiver)
    assert brief(dark) == [("prod-eu/collect", "firing", 1)]
    (alert,) = dark[0]["alerts"]
    assert alert["muted_count"] == 1_000 and len(alert["muted"]) == 50

    Cluster.objects.update(
        last_success_at=at(1_800), last_collected_at=at(1_800), consecutive_failures=0
    )
    unreachable_clusters.watch(at(1_801))
    marks.close(
        list(
            Finding.objects.filter(
                rule="checkpoint.stalled", job_id__gte=f"{300:032x}"
            ).values_list("pk", flat=True)
        ),
        at(1_800),
    )
    looks(1_815, 3_600, 60)
    back = arrived(receiver)[1:]
    assert sorted(brief(back)) == [
        ("prod-eu/checkpoint", "firing", 300),
        ("prod-eu/collect", "resolved", 0),
    ]
    surfaced = next(notice for notice in back if notice["group"] == "prod-eu/checkpoint")
    assert len(surfaced["alerts"]) == 300 and surfaced["alerts_total"] == 300


def test_two_failures_ten_quiet_minutes_then_a_burst_fires(receiver):
    for start in (0, 20):
        closed(opened(start, rule="checkpoint.failed"), start + 5)
    looks(30, 615)
    for start in range(620, 680, 10):
        row = opened(start, rule="checkpoint.failed")
        if start < 670:
            closed(row, start + 5)
        looks(start, start)
    looks(690, 1_200)
    notices = arrived(receiver)
    assert [notice["kind"] for notice in notices] == ["resolved", "firing"]
    assert notices[-1]["alerts"][0]["starts_at"] == (T0 + timedelta(seconds=620)).isoformat(
        timespec="milliseconds"
    ).replace("+00:00", "Z")


def test_the_state_is_rows_so_that_no_restart_between_two_looks_tells_anything_twice(receiver):
    """Looks share nothing but the database: each of these might be another process."""
    row = opened(0)
    for second in range(15, 300, 15):
        look(second)
        look(second)
    arrived(receiver)
    closed(row, 300)
    for second in range(315, 900, 15):
        look(second)
        look(second)
    assert [notice["kind"] for notice in arrived(receiver)] == ["firing", "resolved"]


def test_every_endpoint_hears_of_what_it_asked_for_and_nothing_else(receiver):
    critical = somebody_listens(url=f"{receiver.url}/ok/critical", min_severity="critical")
    opened(0, "orders")
    opened(0, "payments", severity="critical")
    look(30)
    arrived(receiver)
    (got,) = receiver.of("/ok/critical")
    assert [alert["job_name"] for alert in json.loads(got.body)["data"]["alerts"]] == [
        "payments"
    ] and critical.pk


class Streams(TestCase):
    """The promises of the lifecycle once more, through the database."""

    @settings(max_examples=examples(2, 12), deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(spans(most=4), min_size=1, max_size=3), st.sampled_from((15, 60, 300)))
    def test_one_open_alert_nothing_lost_an_end_to_everything(
        self, streams: list[list[Span]], every_s: int
    ) -> None:
        listener = somebody_listens()
        rows: dict[tuple[int, int], Finding] = {}
        until = max(stream[-1].end for stream in streams) + 1_800
        for second in range(0, until, every_s):
            for who, stream in enumerate(streams):
                for number, span in enumerate(stream):
                    key, mine = (who, number), [one for (of, _), one in rows.items() if of == who]
                    if (
                        key not in rows
                        and second >= span.start
                        and all(one.state == "closed" for one in mine)
                    ):
                        rows[key] = opened(span.start, f"job-{who}")
                    if key in rows and second > span.end and rows[key].state == "open":
                        closed(rows[key], span.end)
            look(second)
            open_of = list(Alert.objects.filter(state__in=OPEN).values_list("job_name", flat=True))
            assert len(open_of) == len(set(open_of))
        assert len(rows) == sum(len(stream) for stream in streams)
        assert sum(Alert.objects.values_list("firings", flat=True)) == len(rows)
        assert (
            not Alert.objects.filter(state__in=OPEN).exists()
            and not Alert.objects.filter(notify_since__isnull=False).exists()
        )
        for who in range(len(streams)):
            told = [
                one.status
                for row in Delivery.objects.filter(endpoint=listener).order_by("id")
                for one in row.notice.alerts
                if one.job_name == f"job-{who}" and one.uid in row.notice.changed
            ]
            assert told[-1] == "resolved" and ("firing", "firing") not in pairwise(told)
        before = Delivery.objects.count()
        looks(until + 5 * 3_600, until + 5 * 3_600 + 60)
        assert Delivery.objects.count() == before
        assert not AlertGroup.objects.filter(next_due_at__isnull=False).exists()
