"""Due work is claimed once, given back, taken over, and its late holders are refused."""

from datetime import timedelta

import pytest
from django.utils import timezone

from webapp.pipeline import holders
from webapp.pipeline.lease import LeaseLost, backoff
from webapp.pipeline.models import DueWork

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
    machine, pid, _, nonce = holders.me().split("/")
    DueWork.objects.update(leased_by=f"{machine}/{pid}/1/{nonce}")  # the same pid, but another process
    assert DueWork.objects.claim(KEY, now) is not None


def test_a_holder_on_another_machine_is_never_taken_for_dead() -> None:
    assert not holders.is_dead("another-boot:pid/1/1/abc")
    assert not holders.is_dead("")
    assert not holders.is_dead(holders.me())


def test_rows_keep_their_due_time_when_they_are_ensured_again() -> None:
    before = DueWork.objects.get().next_attempt_at
    DueWork.objects.ensure({KEY: 60}, timezone.now() + timedelta(hours=1))
    row = DueWork.objects.get()
    assert (row.next_attempt_at, row.interval_s) == (before, 60)


def test_a_row_that_is_not_due_can_be_claimed_by_hand() -> None:
    DueWork.objects.update(next_attempt_at=timezone.now() + timedelta(hours=1))
    assert DueWork.objects.claim(KEY, timezone.now()) is None
    assert DueWork.objects.claim(KEY, timezone.now(), even_if_not_due=True) is not None
