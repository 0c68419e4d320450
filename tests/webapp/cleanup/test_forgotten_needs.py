"""What an earlier audit learned keeps files whatever the next ones look at: real audits, plans, applies and purges."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from tests.webapp.builders import cluster, fact, job, person
from tests.webapp.cleanup.test_repeated_job_ids import (
    NOW, OLD, REPEATED, Fleet, completed, ended, restored, tell,
)
from tests.webapp.cleanup.test_unseen_needs import audit
from tests.webapp.cleanup.test_whole import home, run
from tests.webapp.cleanup.worlds import World, name_of_job
from webapp.fleet.models import Cluster, JobCurrent
from webapp.storage.models import StorageRoot

__all__ = ["home"]
pytestmark = pytest.mark.django_db(transaction=True)


def shared_by_two(fleet: Fleet) -> tuple[World, World]:
    """Job 5 of app-a has ended. A checkpoint below another root refers to two of its files, its own do not."""
    one, other = fleet.application("app-a", 5), fleet.application("app-b", 6)
    needed = [one.file(one.job(5) / "shared", at=OLD) for _ in range(2)]
    one.checkpoint(5, 13, [one.file(one.job(5) / "shared", at=OLD)], at=OLD)
    tell("app-a", state="CANCELED", terminal=True, **completed(one, 13, OLD, 5))
    other.checkpoint(6, 20, [*needed, other.file(other.job(6) / "shared", at=OLD)], at=OLD)
    tell("app-b", state="CANCELED", terminal=True, **completed(other, 20, OLD, 6))
    return one, other


@pytest.mark.parametrize("how", ["root", "cluster and root"])
def test_attack_root_removed(home: Path, how: str) -> None:
    fleet = Fleet(home)
    one, other = shared_by_two(fleet)
    audit(30)
    StorageRoot.objects.filter(uri=f"file:{other.root}").delete()
    if how != "root":
        JobCurrent.objects.filter(cluster="app-b").delete()
        Cluster.objects.filter(name="app-b").delete()
    audit(20)
    run("audit_storage")
    assert not fleet.clean_up_all()


def test_attack_seen_by_audit_of_one_root_only(home: Path) -> None:
    fleet = Fleet(home)
    one, other = fleet.application("app-a", 5), fleet.application("app-b", 6)
    needed = [one.file(one.job(5) / "shared", at=OLD) for _ in range(2)]
    one.checkpoint(5, 13, [one.file(one.job(5) / "shared", at=OLD)], at=OLD)
    tell("app-a", state="CANCELED", terminal=True, **completed(one, 13, OLD, 5))
    tell("app-b", state="CANCELED", terminal=True)
    audit(30)
    first = one.checkpoint(5, 12, needed, at=OLD)
    audit(28, str(one.root))
    first.rename(home / "away")
    audit(26, str(other.root))
    audit(20)
    run("audit_storage")
    assert not fleet.clean_up_all()


def test_attack_short_while_vanishing(home: Path) -> None:
    fleet = Fleet(home)
    one = fleet.application("app-a", 5)
    first = one.checkpoint(5, 12, [one.file(one.job(5) / "shared", at=OLD) for _ in range(2)], at=OLD)
    one.checkpoint(5, 13, [one.file(one.job(5) / "shared", at=OLD)], at=OLD)
    tell("app-a", state="CANCELED", terminal=True, **completed(one, 13, OLD, 5))
    audit(30)
    first.rename(home / "away")
    aside = one.job(5).rename(home / "aside")
    audit(28)
    aside.rename(one.job(5))
    audit(20)
    run("audit_storage")
    assert not fleet.clean_up_all()


def test_attack_last_checkpoint_of_ended_job_never_seen(home: Path) -> None:
    fleet = Fleet(home)
    one = fleet.application("app-a", 5)
    last = one.checkpoint(5, 12, [one.file(one.job(5) / "shared", at=OLD) for _ in range(2)], at=OLD)
    tell("app-a", state="CANCELED", terminal=True, **completed(one, 12, OLD, 5))
    last.rename(home / "away")
    fleet.audit_twice()
    assert not fleet.clean_up_all()


def test_attack_two_heirs_of_two_runs(home: Path) -> None:
    fleet = Fleet(home)
    one, y, z = fleet.application("app-a"), fleet.application("app-y", 7), fleet.application("app-z", 8)
    start = OLD + timedelta(days=4)
    last = one.checkpoint(REPEATED, 5, [one.file(one.job(REPEATED) / "shared", at=start) for _ in range(2)], at=start)
    one.checkpoint(REPEATED, 3, [one.file(one.job(REPEATED) / "shared", at=start)], at=start)
    tell("app-a", **ended(one, 6, start), start_time=start)
    later = OLD + timedelta(days=6)
    y.checkpoint(7, 6, [y.file(y.job(7) / "shared", at=later)], at=later)
    tell("app-y", **restored(one, 5, OLD + timedelta(days=1)), **completed(y, 6, later, 7))
    z.checkpoint(8, 6, [z.file(z.job(8) / "shared", at=later)], at=later)
    tell("app-z", **restored(one, 3, OLD + timedelta(days=5)), **completed(z, 6, later, 8))
    fleet.audit_twice()
    gone = fleet.clean_up_all()
    assert last / "_metadata" not in gone, gone


def test_attack_weaned_by_two_checkpoints_none_of_which_proves_it(home: Path) -> None:
    fleet = Fleet(home)
    origin, heir = fleet.application("app-x", 5), fleet.application("app-a")
    origin.checkpoint(5, 50, [origin.file(origin.job(5) / "shared", at=OLD) for _ in range(2)], at=OLD)
    tell("app-x", state="CANCELED", terminal=True, **completed(origin, 50, OLD, 5))
    before, later = OLD - timedelta(days=9), OLD + timedelta(days=2)
    heir.checkpoint(REPEATED, 100, [heir.file(heir.job(REPEATED) / "shared", at=before)], at=before)
    heir.checkpoint(REPEATED, 3, [heir.file(heir.job(REPEATED) / "shared", at=later)], at=later)
    tell("app-a", **restored(origin, 50, OLD + timedelta(days=1), 5), **completed(heir, 51, OLD + timedelta(days=1, hours=12)))
    fleet.audit_twice()
    assert not fleet.clean_up_all()


def test_attack_discard_of_earlier_run(home: Path) -> None:
    fleet = Fleet(home)
    one = fleet.application("app-d")
    shared = [one.file(one.job(REPEATED) / "shared", at=OLD) for _ in range(2)]
    first = one.checkpoint(REPEATED, 12, shared, at=OLD)
    one.checkpoint(REPEATED, 13, [one.file(one.job(REPEATED) / "shared", at=OLD)], at=OLD)
    tell("app-d", **ended(one, 13), start_time=OLD - timedelta(days=1))
    fact(JobCurrent.objects.get(cluster="app-d"), 12, OLD - timedelta(days=2), discarded=True)
    from webapp.storage.auditing import known_jobs
    from unittest import mock
    with mock.patch.object(known_jobs, "DISCARDS_SINCE", timedelta(days=700)):
        fleet.audit_twice(between=lambda: first.rename(home / "away") and None)
        run("audit_storage")  # once more: an orphan is found by two
    assert not fleet.clean_up_all()
