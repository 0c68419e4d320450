"""What an earlier audit learned, or nobody could learn, keeps files: real audits, plans, applies
and purges take none of them.
"""

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from tests.webapp.builders import fact
from tests.webapp.cleanup.test_repeated_job_ids import (
    NOW,
    OLD,
    REPEATED,
    Fleet,
    completed,
    ended,
    restored,
    tell,
)  # fmt: skip
from tests.webapp.cleanup.test_unseen_needs import audit
from tests.webapp.cleanup.test_whole import home, run
from tests.webapp.cleanup.worlds import World
from webapp.cleanup.models import CleanupPlan
from webapp.fleet.models import Cluster, JobCurrent
from webapp.storage.models import StorageRoot

__all__ = ["home"]
pytestmark = pytest.mark.django_db(transaction=True)


def write_ended_job(fleet: Fleet, name: str, number: int) -> tuple[World, list[Path]]:
    """An ended job, the files of its last checkpoint 13, and two more old ones that nothing needs
    yet, which are returned.
    """
    one = fleet.application(name, number)
    shared = one.job(number) / "shared"
    others = [one.file(shared, at=OLD) for _ in range(2)]
    one.checkpoint(number, 13, [one.file(shared, at=OLD)], at=OLD)
    tell(name, state="CANCELED", terminal=True, **completed(one, 13, OLD, number))
    return one, others


def test_what_nothing_needs_goes(home: Path) -> None:
    fleet = Fleet(home)
    _, others = write_ended_job(fleet, "app-a", 5)
    fleet.audit_twice()
    assert fleet.clean_up_all() == set(others)


@pytest.mark.parametrize("state", ["RUNNING", "NOT_LISTED"])
def test_of_a_job_that_its_jobmanager_lists_no_more_all_stays_as_of_one_that_runs(
    home: Path, state: str
) -> None:
    fleet = Fleet(home)
    one, _ = write_ended_job(fleet, "app-a", 5)
    end = OLD + timedelta(hours=1) if state == "NOT_LISTED" else None
    tell("app-a", state=state, terminal=False, end_time=end)
    fact(
        JobCurrent.objects.get(cluster="app-a"), 13, OLD, external_path=f"file:{one.job(5)}/chk-13"
    )
    fleet.audit_twice()
    assert not fleet.clean_up_all()


def test_what_a_checkpoint_refers_to_stays_when_its_cluster_and_its_root_are_removed(
    home: Path,
) -> None:
    fleet = Fleet(home)
    _, needed = write_ended_job(fleet, "app-a", 5)
    other, _ = write_ended_job(fleet, "app-b", 6)
    other.checkpoint(6, 14, needed, at=OLD)
    tell("app-b", **completed(other, 14, OLD, 6))
    audit(30)
    StorageRoot.objects.filter(uri=f"file:{other.root}").delete()
    JobCurrent.objects.filter(cluster="app-b").delete()
    Cluster.objects.filter(name="app-b").delete()
    audit(20)
    run("audit_storage")
    assert not fleet.clean_up_all()


def test_what_an_audit_of_one_root_alone_found_is_not_forgotten(home: Path) -> None:
    fleet = Fleet(home)
    one, needed = write_ended_job(fleet, "app-a", 5)
    other = fleet.application("app-b", 6)
    tell("app-b", state="CANCELED", terminal=True)
    audit(30)
    first = one.checkpoint(5, 12, needed, at=OLD)
    audit(28, str(one.root))
    first.rename(home / "put-elsewhere")
    audit(26, str(other.root))
    audit(20)
    run("audit_storage")
    assert not fleet.clean_up_all()


def test_what_a_checkpoint_referred_to_stays_when_another_one_of_its_number_took_its_place(
    home: Path,
) -> None:
    """The first was put elsewhere, and a run of the same id counted that far again."""
    fleet = Fleet(home)
    one, needed = write_ended_job(fleet, "app-a", 5)
    last = one.checkpoint(5, 14, needed, at=OLD)
    audit(30)
    last.rename(home / "put-elsewhere")
    later = OLD + timedelta(days=40)
    one.checkpoint(5, 14, [one.file(one.job(5) / "shared", at=later)], at=later)
    tell("app-a", **completed(one, 14, later, 5), start_time=OLD, end_time=later)
    audit(10)
    run("audit_storage")
    assert not fleet.clean_up_all()


def test_files_stay_of_a_dead_job_whose_last_checkpoint_lies_where_nobody_looks(home: Path) -> None:
    fleet = Fleet(home)
    one, _ = write_ended_job(fleet, "app-a", 5)
    (one.job(5) / "chk-13").rename(home / "put-elsewhere")
    fleet.audit_twice()
    assert not fleet.clean_up_all()


def test_an_earlier_run_whose_checkpoint_has_the_number_does_not_stand_for_the_last_one(
    home: Path,
) -> None:
    fleet = Fleet(home)
    one, before = fleet.application("app-a"), OLD - timedelta(days=9)
    shared = one.job(REPEATED) / "shared"
    last = one.checkpoint(REPEATED, 13, [one.file(shared, at=OLD) for _ in range(2)], at=OLD)
    one.checkpoint(REPEATED, 50, [one.file(shared, at=before)], at=before)
    tell("app-a", **ended(one, 13), start_time=OLD - timedelta(days=1))
    last.rename(home / "put-elsewhere")
    fleet.audit_twice()
    assert not fleet.clean_up_all()


def test_two_heirs_of_two_runs_of_one_id_leave_nothing_behind_that_lies_between(home: Path) -> None:
    fleet = Fleet(home)
    one = fleet.application("app-a")
    first = fleet.application("app-y", 7)
    second = fleet.application("app-z", 8)
    start, later = OLD + timedelta(days=4), OLD + timedelta(days=6)
    shared = one.job(REPEATED) / "shared"
    one.checkpoint(REPEATED, 3, [one.file(shared, at=start)], at=start)
    last = one.checkpoint(REPEATED, 6, [one.file(shared, at=start) for _ in range(2)], at=start)
    tell("app-a", **ended(one, 6, start), start_time=start)
    # Of the run before, which counted as far.
    first.checkpoint(7, 7, [first.file(first.job(7) / "shared", at=later)], at=later)
    tell("app-y", **restored(one, 6, OLD + timedelta(days=1)), **completed(first, 7, later, 7))
    second.checkpoint(8, 4, [second.file(second.job(8) / "shared", at=later)], at=later)
    tell("app-z", **restored(one, 3, OLD + timedelta(days=5)), **completed(second, 4, later, 8))
    fleet.audit_twice()
    gone = fleet.clean_up_all()
    assert gone and last / "_metadata" not in gone


def test_two_checkpoints_none_of_which_proves_it_do_not_wean_a_job(home: Path) -> None:
    fleet = Fleet(home)
    origin, heir = fleet.application("app-x", 5), fleet.application("app-a")
    origin.checkpoint(
        5, 50, [origin.file(origin.job(5) / "shared", at=OLD) for _ in range(2)], at=OLD
    )
    tell("app-x", state="CANCELED", terminal=True, **completed(origin, 50, OLD, 5))
    before, later = OLD - timedelta(days=9), OLD + timedelta(days=2)
    shared = heir.job(REPEATED) / "shared"
    heir.checkpoint(REPEATED, 100, [heir.file(shared, at=before)], at=before)
    heir.checkpoint(REPEATED, 3, [heir.file(shared, at=later)], at=later)
    of_heir = completed(heir, 51, OLD + timedelta(days=1, hours=12))
    tell(
        "app-a",
        state="CANCELED",
        terminal=True,
        **restored(origin, 50, OLD + timedelta(days=1), 5),
        **of_heir,
    )
    fleet.audit_twice()
    assert not fleet.clean_up_all()


def test_a_checkpoint_of_the_run_before_by_a_clock_that_is_ahead_does_not_wean_a_job(
    home: Path,
) -> None:
    fleet = Fleet(home)
    origin, heir = fleet.application("app-x", 5), fleet.application("app-a")
    origin.checkpoint(5, 50, [origin.file(origin.job(5) / "shared", at=OLD)], at=OLD)
    tell("app-x", state="CANCELED", terminal=True, **completed(origin, 50, OLD, 5))
    before = OLD + timedelta(days=1)
    start, ahead = before + timedelta(seconds=20), before + timedelta(minutes=2)
    own = heir.file(heir.job(REPEATED) / "shared", at=before)
    heir.checkpoint(REPEATED, 60, [own], at=ahead)
    tell("app-a", **completed(heir, 60, before), start_time=start, **restored(origin, 50, start, 5))
    fleet.audit_twice()
    run("plan_cleanup", "--waste", "--json")
    assert not CleanupPlan.objects.get().files


def test_what_an_earlier_run_discarded_says_nothing_of_a_checkpoint_of_that_number(
    home: Path,
) -> None:
    fleet = Fleet(home)
    one, now = fleet.application("app-d"), timezone.now()
    shared, written = one.job(REPEATED) / "shared", now - timedelta(days=5)
    needed = [one.file(shared, at=OLD) for _ in range(2)]
    first = one.checkpoint(REPEATED, 12, needed, at=written)
    one.checkpoint(REPEATED, 13, [one.file(shared, at=OLD)], at=written)
    tell("app-d", **ended(one, 13, written), start_time=written - timedelta(hours=1))
    of_run_before = written - timedelta(days=1)
    end = of_run_before + timedelta(seconds=5)
    fact(JobCurrent.objects.get(cluster="app-d"), 12, of_run_before, end_time=end, discarded=True)
    audit(4)
    first.rename(home / "put-elsewhere")
    run("audit_storage", "--as-of", (NOW - timedelta(hours=1)).isoformat())
    run("audit_storage")
    assert not fleet.clean_up_all()


@pytest.mark.parametrize("minutes", [0, -9], ids=["after its end", "before"])
def test_files_of_a_dead_job_go_only_where_it_was_read_after_its_end(
    home: Path, minutes: int
) -> None:
    """Else it may have completed one more checkpoint, which was put elsewhere."""
    fleet = Fleet(home)
    _, others = write_ended_job(fleet, "app-a", 5)
    counts = {"at": (OLD + timedelta(minutes=minutes)).isoformat(), "total": 13, "restored": 0}
    tell("app-a", flink_counts=counts, end_time=OLD)
    fleet.audit_twice()
    assert fleet.clean_up_all() == (set() if minutes else {*others})
