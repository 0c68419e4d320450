"""Due work is claimed once, given back, taken over, and its late holders are refused."""

import threading
from datetime import timedelta

import psycopg
import pytest
from django.db import OperationalError
from django.utils import timezone

from webapp.config import beat, schedule
from webapp.config.celery import app
from webapp.work import lease as lease_holders
from webapp.work import perform as performing
from webapp.work.lease import Lease, LeaseLost, backoff
from webapp.work.models import DueWork
from webapp.work.registry import MAINTAIN_TASK, Work

pytestmark = pytest.mark.django_db
KEY = "collect/0"


@pytest.fixture(autouse=True)
def _row(db: None) -> None:
    DueWork.objects.ensure({KEY: 30}, timezone.now())


def test_only_one_claim_succeeds() -> None:
    now = timezone.now()
    assert DueWork.objects.claim(KEY, now) is not None
    assert DueWork.objects.claim(KEY, now) is None


def test_work_that_is_done_is_due_again_after_its_interval() -> None:
    now = timezone.now()
    lease = DueWork.objects.claim(KEY, now)
    assert lease
    assert lease.complete(now)
    assert not DueWork.objects.due(now + timedelta(seconds=29)).exists()
    assert DueWork.objects.due(now + timedelta(seconds=30)).exists()


def test_work_that_falls_due_before_the_next_tick_can_be_hinted_at_ahead() -> None:
    now = timezone.now()
    DueWork.objects.update(next_attempt_at=now + timedelta(seconds=10))
    assert not DueWork.objects.due(now).exists()
    assert DueWork.objects.due(now, by=now + timedelta(seconds=15)).exists()


def test_work_that_fails_waits_longer_each_time_and_remembers_why() -> None:
    now = timezone.now()
    lease = DueWork.objects.claim(KEY, now)
    assert lease
    lease.fail(now, "no lake")
    row = DueWork.objects.get()
    assert (row.failures, row.last_error, row.lease_until) == (1, "no lake", None)
    assert row.next_attempt_at > now
    assert backoff(30, 4) > backoff(30, 1)
    assert backoff(30, 500) <= timedelta(minutes=15)


def test_an_expired_lease_is_taken_over_and_its_old_holder_refused() -> None:
    now = timezone.now()
    old = DueWork.objects.claim(KEY, now - timedelta(hours=1), even_if_not_due=True)
    assert old
    new = DueWork.objects.claim(KEY, now)
    assert new
    assert new.fence == old.fence + 1
    with pytest.raises(LeaseLost), old.writing():
        pass
    assert not old.complete(now)
    assert not old.fail(now, "late")
    new.renew()


def test_a_held_lease_of_a_process_that_died_is_free_at_once() -> None:
    now = timezone.now()
    lease = DueWork.objects.claim(KEY, now)
    assert lease
    machine, pid, _, nonce = lease_holders.new_holder().split("/")
    DueWork.objects.update(
        leased_by=f"{machine}/{pid}/1/{nonce}"
    )  # the same pid, but another process
    assert DueWork.objects.claim(KEY, now) is not None


def test_what_a_process_that_died_held_is_due_to_be_hinted_at() -> None:
    now = timezone.now()
    assert DueWork.objects.claim(KEY, now)
    DueWork.objects.release_from_the_dead()
    assert not DueWork.objects.due(now).exists()
    machine, pid, _, nonce = lease_holders.new_holder().split("/")
    DueWork.objects.update(leased_by=f"{machine}/{pid}/1/{nonce}")
    DueWork.objects.release_from_the_dead()
    assert DueWork.objects.due(now).exists()


def test_a_holder_on_another_machine_is_never_taken_for_dead() -> None:
    assert not lease_holders.is_dead("another-boot:pid/1/1/abc")
    assert not lease_holders.is_dead("")
    assert not lease_holders.is_dead(lease_holders.new_holder())


def test_rows_keep_their_due_time_when_they_are_ensured_again() -> None:
    before = DueWork.objects.get().next_attempt_at
    DueWork.objects.ensure({KEY: 60}, timezone.now() + timedelta(hours=1))
    row = DueWork.objects.get()
    assert (row.next_attempt_at, row.interval_s) == (before, 60)


def test_a_row_that_is_not_due_can_be_claimed_by_hand() -> None:
    DueWork.objects.update(next_attempt_at=timezone.now() + timedelta(hours=1))
    assert DueWork.objects.claim(KEY, timezone.now()) is None
    assert DueWork.objects.claim(KEY, timezone.now(), even_if_not_due=True) is not None


@pytest.mark.parametrize("hours", [1, 3, 24 * 365])
def test_a_clock_set_back_puts_nothing_off(hours: int) -> None:
    ahead = timezone.now() + timedelta(hours=hours)
    lease = DueWork.objects.claim(KEY, ahead)
    assert lease
    lease.complete(ahead)
    now = timezone.now()
    assert not DueWork.objects.due(now).exists()
    assert DueWork.objects.mend(now) == 1
    assert DueWork.objects.claim(KEY, now) is not None


def test_what_succeeded_by_such_a_clock_is_late_as_soon_as_anything_else() -> None:
    now = timezone.now()
    DueWork.objects.filter(key=KEY).update(last_success_at=now + timedelta(hours=9))
    DueWork.objects.mend(now)
    assert DueWork.objects.get(key=KEY).last_success_at == now


def test_a_lease_of_a_clock_that_was_set_back_since_is_not_held_for_hours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ahead = timezone.now() + timedelta(hours=3)
    monkeypatch.setattr(lease_holders, "_machine", lambda: "another:machine")
    old = DueWork.objects.claim(KEY, ahead)
    monkeypatch.undo()
    assert old
    now = timezone.now()
    DueWork.objects.mend(now)
    DueWork.objects.filter(key=KEY).update(next_attempt_at=now)
    assert DueWork.objects.claim(KEY, now) is None  # it may live, and then renews it
    assert DueWork.objects.claim(KEY, now + timedelta(seconds=61)) is not None
    with pytest.raises(LeaseLost):
        old.renew()


def test_a_living_holder_keeps_its_work_when_the_clock_is_set_back() -> None:
    lease = DueWork.objects.claim(KEY, timezone.now() + timedelta(hours=3))
    assert lease
    DueWork.objects.mend(timezone.now())
    lease.renew()
    assert DueWork.objects.claim(KEY, timezone.now() + timedelta(seconds=30)) is None


def test_a_clock_set_forward_lets_only_one_holder_write() -> None:
    now = timezone.now()
    first = DueWork.objects.claim(KEY, now)
    second = DueWork.objects.claim(KEY, now + timedelta(hours=3))
    assert first
    assert second
    with pytest.raises(LeaseLost), first.writing():
        raise AssertionError("nothing may be written")
    with second.writing():
        pass


def test_what_is_put_off_as_it_should_is_left_alone() -> None:
    now = timezone.now()
    DueWork.objects.ensure({"storage/audit": 6 * 3600, "maintenance/lake": 24 * 3600}, now)
    for key in ("storage/audit", "maintenance/lake", KEY):
        lease = DueWork.objects.claim(key, now)
        assert lease
        lease.complete(now) if key != KEY else lease.fail(now, "no lake")
    before = list(DueWork.objects.values_list("key", "next_attempt_at", "lease_until"))
    assert DueWork.objects.mend(now) == 0
    assert list(DueWork.objects.values_list("key", "next_attempt_at", "lease_until")) == before


def test_the_beat_ticks_on_when_the_clock_is_set_back_or_forward() -> None:
    every = beat.Every(schedule.TICK_S, app=app)
    now = every.now()
    assert every.is_due(now + timedelta(hours=3)).is_due
    assert every.is_due(now - timedelta(hours=3)).is_due
    fresh = every.is_due(now)
    assert not fresh.is_due
    assert 0 < fresh.next <= schedule.TICK_S


def test_a_database_that_is_away_for_a_moment_ends_no_lease(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Work that takes hours would go on without, and be begun by another worker beside it."""
    asked: list[str] = []
    again = threading.Event()

    def renew(lease: Lease) -> None:
        asked.append(lease.key)
        if len(asked) == 1:
            raise OperationalError("the connection is lost")
        again.set()

    monkeypatch.setattr(Lease, "renew", renew)
    lease = DueWork.objects.claim(KEY, timezone.now(), lease=timedelta(milliseconds=30))
    assert lease
    with lease.kept_alive():
        assert again.wait(10)


def test_work_that_a_lost_database_interrupted_goes_on_soon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A clean-up waits for ten minutes after a failure, an audit for hours."""

    def lose(*_: object) -> None:
        raise OperationalError from psycopg.errors.AdminShutdown("terminating connection")

    interval_s, now = 24 * 3600, timezone.now()
    DueWork.objects.filter(key=KEY).update(interval_s=interval_s)
    work = Work(KEY, MAINTAIN_TASK, every=dict, do=lose)
    monkeypatch.setattr(performing, "work_of", lambda key: work)
    with pytest.raises(OperationalError):
        performing.perform(KEY)
    row = DueWork.objects.get()
    assert row.failures == 1
    assert now < row.next_attempt_at < timezone.now() + timedelta(minutes=1)


def test_work_that_is_asked_for_while_it_is_done_is_due_when_that_said() -> None:
    now = timezone.now()
    lease = DueWork.objects.claim(KEY, now, even_if_not_due=True)
    assert lease
    DueWork.objects.make_due(KEY, 30, now + timedelta(seconds=2))
    lease.complete(now + timedelta(seconds=1))
    assert not DueWork.objects.due(now + timedelta(seconds=1)).exists()
    assert DueWork.objects.due(now + timedelta(seconds=2)).exists()
