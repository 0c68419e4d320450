"""The schedule on a fake clock, and what a receiver may ask for."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
import time_machine

from tests.webapp.delivery.builders import LOOPBACK, T0, alert, delivery, endpoint, notice
from tests.webapp.delivery.receiver import Receiver
from webapp.config import encryption
from webapp.delivery import retries
from webapp.delivery.models import Attempt, Delivery, Endpoint
from webapp.delivery.sending import send_due

WRITTEN_S = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]


@pytest.mark.django_db
def test_a_delivery_that_never_succeeds_is_tried_ten_times_at_the_written_times_and_then_dead(
    receiver: Receiver,
) -> None:
    row = delivery(endpoint(f"{receiver.url}/500"))
    with time_machine.travel(T0, tick=False) as clock:
        for _ in WRITTEN_S:
            send_due(LOOPBACK)
            clock.move_to(Delivery.objects.get(pk=row.pk).next_attempt_at)
        send_due(LOOPBACK)
        clock.shift(timedelta(days=9))
        send_due(LOOPBACK)
    times = list(
        Attempt.objects.filter(delivery=row).order_by("id").values_list("at", "latency_ms")
    )
    ended = [at + timedelta(milliseconds=latency) for at, latency in times]
    waited = [(later - earlier).total_seconds() for earlier, later in pairwise(ended)]
    assert len(times) == len(receiver.got) == 10
    assert all(
        0.9 * written <= wait <= 1.1 * written
        for written, wait in zip(WRITTEN_S, waited, strict=True)
    ), waited
    assert Delivery.objects.get(pk=row.pk).state == "dead"


@pytest.mark.django_db
@pytest.mark.parametrize("ended", [True, False])
def test_what_ended_before_its_notice_got_through_is_delivered_once_as_ended(
    receiver: Receiver, ended: bool
) -> None:
    to, begun = endpoint(f"{receiver.url}/500"), alert()
    after = replace(begun, status="resolved", ends_at=T0) if ended else alert()
    with time_machine.travel(T0, tick=False) as clock:
        late = delivery(to, notice(begun))
        send_due(LOOPBACK)
        delivery(to, notice(after), made_at=T0)
        Endpoint.objects.update(url_encrypted=encryption.encrypt(f"{receiver.url}/ok"))
        clock.shift(timedelta(seconds=10))
        send_due(LOOPBACK)
    got = [json.loads(one.body)["data"]["status"] for one in receiver.of("/ok")]
    assert got == (["resolved"] if ended else ["firing", "firing"])
    assert Delivery.objects.get(pk=late.pk).state == ("cancelled" if ended else "delivered")


@pytest.mark.django_db
def test_of_several_in_a_late_notice_those_that_still_fire_are_delivered(
    receiver: Receiver,
) -> None:
    to, over, fires = endpoint(f"{receiver.url}/500"), alert(), alert()
    with time_machine.travel(T0, tick=False) as clock:
        delivery(to, notice(over, fires))
        send_due(LOOPBACK)
        delivery(to, notice(replace(over, status="resolved", ends_at=T0)), made_at=T0)
        Endpoint.objects.update(url_encrypted=encryption.encrypt(f"{receiver.url}/ok"))
        clock.shift(timedelta(seconds=10))
        send_due(LOOPBACK)
    first, second = (json.loads(one.body)["data"] for one in receiver.of("/ok"))
    assert [one["uid"] for one in first["alerts"]] == [fires.uid] and first["firing_total"] == 1
    assert [one["uid"] for one in second["alerts"]] == [over.uid]


def test_waits_are_spread() -> None:
    assert len({retries.next_attempt(2, T0) for _ in range(20)}) > 10


@pytest.mark.parametrize(
    ("header", "pause"),
    [
        ("120", timedelta(seconds=120)),
        ("0", timedelta()),
        ("999999999999999999", timedelta(hours=24)),
        ("Sun, 01 Mar 2026 05:10:00 GMT", timedelta(hours=1)),
        ("Sun, 01 Mar 2026 03:10:00 GMT", timedelta()),
        ("Sun, 01 Mar 2099 03:10:00 GMT", timedelta(hours=24)),
        ("-5", None),
        ("soon", None),
        ("", None),
        ("1.5", None),
    ],
)
def test_what_retry_after_asks_for_is_bounded(header: str, pause: timedelta | None) -> None:
    assert retries.pause_of(header, T0) == pause


def test_a_longer_pause_moves_the_attempt_and_a_shorter_does_not() -> None:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    assert retries.next_attempt(1, at, timedelta(hours=2)) == at + timedelta(hours=2)
    assert (retries.next_attempt(2, at, timedelta(seconds=1)) or at) >= at + timedelta(seconds=270)
