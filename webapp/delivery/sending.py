"""Sends due deliveries. A conditional update claims a row, with a lease and a new fence; then the
request is sent; then the outcome is stored under that fence. If the process is killed meanwhile,
the lease expires, and the same ``webhook-id`` is sent again.
"""

import logging
import queue
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone

from webapp.delivery import addresses, outbox
from webapp.delivery.choices import DeliveryState
from webapp.delivery.models import Delivery
from webapp.delivery.network import Answer, Network
from webapp.delivery.outcomes import give_up_disabled, record_all
from webapp.delivery.rendering import CannotRender, remaining_news, render_delivery
from webapp.work.lease import new_holder

logger = logging.getLogger(__name__)

MOST_AT_ONCE = 64
MOST_AT_ONCE_EACH = 4
"""Per endpoint: a slow endpoint does not delay others."""
MOST_READ = 50
CLAIMING_S = 240.0
"""After this time a run claims nothing more, and finishes its attempts."""
POLL_S = 0.5
DATABASE_BACK_WITHIN_S = 40.0
"""Less than the lease of a delivery."""

T = TypeVar("T")


@dataclass
class _Attempts:
    rows: dict[int, Delivery] = field(default_factory=dict)

    def room_of(self, endpoint: int) -> int:
        used = sum(row.endpoint_id == endpoint for row in self.rows.values())
        return max(min(MOST_AT_ONCE_EACH - used, MOST_AT_ONCE - len(self.rows)), 0)

    def groups_of(self, endpoint: int) -> set[str]:
        return {row.group for row in self.rows.values() if row.endpoint_id == endpoint}


def send_due(
    rules: addresses.Policy | None = None, now: Callable[[], datetime] = timezone.now
) -> Counter[str]:
    """Also sends what becomes due meanwhile. Returns the number of attempts by outcome."""
    running, outcomes, began = _Attempts(), Counter[str](), time.monotonic()
    with Network(rules or addresses.policy()) as network:
        _retry_database(Delivery.objects.release_from_the_dead)
        _retry_database(lambda: give_up_disabled(now()))
        while True:
            claimed: list[Delivery] = []
            if time.monotonic() - began < CLAIMING_S:
                claimed = _retry_database(partial(_claim, running, now(), new_holder()))
                for row in claimed:
                    _start(row, network, running, outcomes, now())
            if not running.rows:
                if not claimed:
                    break
                # None of these was sent: the next delivery of each group can be claimed.
                continue
            answers = _answers(network)
            for row, _ in answers:
                del running.rows[row.pk]
            outcomes.update(_retry_database(partial(record_all, answers, now())))
    _hint_next(now())
    return outcomes


def _claim(running: _Attempts, now: datetime, holder: str) -> list[Delivery]:
    """The oldest deliveries, one at a time per group. A second call after a database failure finds
    earlier claims of this ``holder``.
    """
    for endpoint in Delivery.objects.endpoints_waiting(now):
        room, busy = running.room_of(endpoint), running.groups_of(endpoint)
        if not room:
            continue
        pks: list[int] = []
        waiting = (
            Delivery.objects.sendable(now)
            .filter(endpoint=endpoint)
            .order_by("id")
            .values_list("pk", "group")[:MOST_READ]
        )
        for pk, group in waiting:
            if group not in busy and len(pks) < room:
                pks.append(pk)
                busy.add(group)
        Delivery.objects.claim(pks, holder, now)
    claimed = Delivery.objects.held_by(holder)
    running.rows.update({row.pk: row for row in claimed})
    return claimed


def _start(
    row: Delivery, network: Network, running: _Attempts, outcomes: Counter[str], now: datetime
) -> None:
    try:
        notice = _retry_database(lambda: remaining_news(row))
        if notice is None:
            answer = Answer(0, error="superseded")
        else:
            network.send(row, render_delivery(row, notice, now))
            return
    except CannotRender as error:
        answer = Answer(0, error="not_rendered", detail=str(error))
    del running.rows[row.pk]
    outcomes.update(_retry_database(lambda: record_all([(row, answer)], now)))


def _answers(network: Network) -> list[tuple[Delivery, Answer]]:
    answers = []
    try:
        answers.append(network.results.get(timeout=POLL_S))
        while True:
            answers.append(network.results.get_nowait())
    except queue.Empty:
        return answers


def _hint_next(now: datetime) -> None:
    due_soon = Delivery.objects.filter(
        state=DeliveryState.PENDING,
        lease_until__isnull=True,
        endpoint__enabled=True,
        next_attempt_at__lt=now + timedelta(seconds=15),
    )
    first = due_soon.order_by("next_attempt_at").values_list("next_attempt_at", flat=True).first()
    if first is not None and first > now:
        outbox.hint(first - now)


def _retry_database(do: Callable[[], T]) -> T:
    """Repeats ``do`` after database failures, since the outcome of a request must be stored."""
    deadline = time.monotonic() + DATABASE_BACK_WITHIN_S
    while True:
        try:
            return do()
        except (OperationalError, InterfaceError) as error:
            if connection.in_atomic_block or time.monotonic() > deadline:
                raise
            logger.warning("The database is away (%s); trying again.", type(error).__name__)
            connection.close()
            time.sleep(0.5)
