"""Clocks that are ahead, of a JobManager or of Weir itself, and are set back: nobody is notified a
day late of what is there now.
"""

import pytest

from tests.webapp.alerting.builders import (
    at,
    kinds,
    look,
    looks,
    opened,
    somebody_listens,
    told,
    unreachable,
)
from tests.webapp.builders import cluster, person
from webapp.alerting import setting_actions
from webapp.alerting.models import AlertGroup
from webapp.delivery import outbox
from webapp.delivery.models import Attempt, Delivery, Endpoint

pytestmark = pytest.mark.django_db
DAY = 86_400


@pytest.fixture(autouse=True)
def on_call(db):
    return somebody_listens()


def test_what_a_jobmanager_tells_whose_clock_is_ahead_does_not_wait_for_that_time():
    opened(8 * 3_600)
    looks(15, 60)
    assert kinds() == ["firing"]


def test_nor_does_what_has_to_last():
    setting_actions.save(
        "checkpoint.declined",
        "",
        "",
        {"hold_before_s": 60},
        person(operator=True),
    )
    opened(8 * 3_600)
    looks(15, 120)
    assert kinds() == ["firing"]


def test_another_cause_that_is_seen_ahead_does_not_wait_either():
    opened(0)
    looks(15, 30)
    opened(8 * 3_600, "orders", "restart.loop")
    looks(45, 400)
    assert len(kinds()) == 2


@pytest.mark.parametrize("notices", [1, 12])
def test_a_group_that_was_notified_by_a_clock_that_is_set_back_does_not_wait_for_that_time(
    notices,
):
    for number in range(notices):
        opened(DAY + 60 * number, f"job-{number}")
        look(DAY + 60 * number + 20)
    before = len(kinds())
    assert before >= min(notices, 10)
    opened(100, "clicks")
    looks(115, 400 + 15)
    assert len(kinds()) > before
    assert "clicks" in str(told()[-1].alerts)


def test_news_of_an_incident_that_was_notified_by_such_a_clock_do_not_wait_either():
    opened(DAY, "orders")
    look(DAY + 20)
    opened(100, "orders", "checkpoint.stalled")
    looks(115, 500)
    assert len(kinds()) == 2


def test_what_fires_is_repeated_in_its_time_after_such_a_clock():
    opened(DAY, "orders")
    look(DAY + 20)
    looks(100, 4 * 3_600 + 200, every_s=600)
    assert kinds() == ["firing", "repeat"]
    assert AlertGroup.objects.get().last_notified_at <= at(4 * 3_600 + 200)


def test_a_delivery_that_was_made_by_such_a_clock_is_sent():
    opened(DAY, "orders")
    look(DAY + 20)
    outbox.wake(at(100))
    assert Delivery.objects.sendable(at(100)).exists()


def test_so_is_one_that_was_tried_by_such_a_clock_and_its_retries_keep_their_times():
    opened(0)
    look(20)
    row = Delivery.objects.get()
    Delivery.objects.update(tries=3, attempts=3, next_attempt_at=at(DAY + 1_800))
    Attempt.objects.create(delivery=row, number=3, at=at(DAY))
    outbox.wake(at(100))
    assert Delivery.objects.sendable(at(100)).exists()
    Attempt.objects.create(delivery=row, number=4, at=at(110))
    Delivery.objects.update(tries=4, attempts=4, next_attempt_at=at(7_310))
    outbox.wake(at(120))
    assert not Delivery.objects.sendable(at(120)).exists()


def test_an_endpoint_that_asked_for_a_pause_by_such_a_clock_is_sent_to_again(on_call):
    opened(0)
    look(20)
    Endpoint.objects.update(paused_until=at(40 * DAY))
    outbox.wake(at(100))
    assert Delivery.objects.sendable(at(100)).exists()


def test_a_cluster_that_is_dark_since_a_time_that_is_ahead_holds_back_nothing():
    for name in ("prod-eu", "prod-us", "prod-cn"):
        cluster(name, at=at(0))
    unreachable(DAY)
    look(DAY + 20)
    opened(100, last_seen=at(100))
    looks(115, 200)
    assert [notice.alerts[0].rule for notice in told()] == ["collect.blind", "checkpoint.declined"]
