"""The schedule on a fake clock, and what a receiver may ask for."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
import time_machine

from tests.webapp.delivery.builders import LOOPBACK, T0, delivery, endpoint
from tests.webapp.delivery.receiver import Receiver
from webapp.delivery import retries
from webapp.delivery.models import Attempt, Delivery
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
