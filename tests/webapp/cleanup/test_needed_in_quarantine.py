"""Files that come to be needed while they wait in quarantine: real audits, plans, applies and
purges take none of them.
"""

import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError
from django.utils import timezone

from tests.selections import mostly_long
from tests.webapp.cleanup.test_forgotten_needs import write_ended_job
from tests.webapp.cleanup.test_hidden_handles import FINISHED, NEVER_RESTORED, write_dead_job
from tests.webapp.cleanup.test_repeated_job_ids import OLD, Fleet, completed, restored, tell
from tests.webapp.cleanup.test_two_plans import approve_plan, do
from tests.webapp.cleanup.test_unseen_needs import NOTHING_COMPLETED, forked
from tests.webapp.cleanup.test_whole import home, run
from tests.webapp.cleanup.worlds import name_of_job
from webapp.cleanup.fresh_audits import FreshAudits
from webapp.cleanup.recheck import FreshAudit
from webapp.fleet.models import Cluster, JobCurrent
from webapp.storage.models import StorageRoot

__all__ = ["home"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("of", ["savepoint", "checkpoint", "heir"])
def test_what_no_reference_names_is_not_purged_once_a_snapshot_of_its_job_or_an_heir_is_there(
    home: Path, of: str
) -> None:
    fleet = Fleet(home)
    one, hidden = write_dead_job(fleet)
    heir = fleet.application("app-c", 8)
    tell("app-c", **FINISHED, **NOTHING_COMPLETED, **NEVER_RESTORED)
    fleet.audit_twice()
    plan = do(approve_plan(), "apply")
    assert not any(path.exists() for path in hidden)
    now = timezone.now()
    if of == "savepoint":
        one.savepoint("savepoint-000000-0123456789ab", [one.file(one.root / "x", at=OLD)], at=now)
    elif of == "checkpoint":
        one.checkpoint(5, 5, [one.file(one.job(5) / "shared", at=OLD)], at=now)
    else:
        heir.checkpoint(8, 7, [heir.file(heir.job(8) / "shared", at=now)], at=now)
        runs = {"state": "RUNNING", "terminal": False}
        tell("app-c", **runs, **restored(one, 5, OLD, 5), **completed(heir, 7, now, 8))
    with pytest.raises(CommandError, match="may be needed by now"):
        do(plan, "purge")
    do(plan, "undo")
    assert all(path.exists() for path in hidden)


def test_it_is_purged_where_nothing_came(home: Path) -> None:
    fleet = Fleet(home)
    write_dead_job(fleet)
    fleet.audit_twice()
    assert do(do(approve_plan(), "apply"), "purge").counts("purge")["purged"] == 4


def test_what_a_job_claimed_that_was_restored_from_quarantine_is_not_purged(home: Path) -> None:
    fleet = Fleet(home)
    origin, heir = forked(fleet), fleet.application("app-b", 8)
    tell("app-b", **FINISHED, **NOTHING_COMPLETED)
    fleet.audit_twice()
    plan = do(approve_plan(), "apply")
    files = [path for path in origin.quarantine.rglob("*") if path.is_file()]
    claimed = [path for path in files if path.name != "_metadata"]
    (metadata,) = {*files} - {*claimed}
    now = timezone.now()
    heir.checkpoint(8, 9, claimed, at=now)
    tell(
        "app-b",
        state="RUNNING",
        terminal=False,
        restored_path=f"file:{metadata.parent}",
        restored_at=now - timedelta(minutes=9),
        **completed(heir, 9, now, 8),
    )
    with pytest.raises(CommandError, match="referred to by now"):
        do(plan, "purge")
    assert claimed and all(path.exists() for path in claimed)


@pytest.mark.parametrize(
    "how",
    mostly_long(
        ["lost and restored again", "a file of it is lost", "lost and failed", "deleted", "unseen"]
    ),
)
def test_a_checkpoint_is_not_purged_whose_heir_has_no_whole_one_of_its_own_any_more(
    home: Path, how: str
) -> None:
    fleet = Fleet(home)
    origin = forked(fleet)
    heir = fleet.worlds["app-c"]
    fleet.audit_twice()
    files = origin.all_files()
    plan = do(approve_plan(), "apply")
    if "lost" in how:
        next(path for path in heir.all_files() if path.name != "_metadata").unlink()
    if how == "lost and restored again":
        tell("app-c", **restored(heir, 6, timezone.now(), 7))
    elif how == "lost and failed":
        tell("app-c", state="FAILED", terminal=True)
    elif how == "deleted":
        shutil.rmtree(heir.job(7))
        tell("app-c", state="CANCELED", terminal=True)
    elif how == "unseen":
        Cluster.objects.filter(name="app-c").update(last_success_at=OLD, unreachable_since=OLD)
    with pytest.raises(CommandError, match="no whole checkpoint of its own"):
        do(plan, "purge")
    do(plan, "undo")
    assert origin.all_files() == files


@pytest.mark.parametrize("forgotten", ["job", "cluster", "ended", "since long"])
@pytest.mark.parametrize("how", ["lost", "deleted"])
def test_it_is_not_purged_whose_heir_is_forgotten_and_has_no_whole_one_any_more(
    home: Path, forgotten: str, how: str
) -> None:
    fleet = Fleet(home)
    origin = forked(fleet)
    heir = fleet.worlds["app-c"]
    if forgotten == "ended":
        tell("app-c", state="CANCELED", terminal=True, end_time=timezone.now())
    fleet.audit_twice()
    files = origin.all_files()
    plan = do(approve_plan(), "apply")
    forget(forgotten)
    if forgotten == "since long":
        run("audit_storage")
    if how == "lost":
        next(path for path in heir.all_files() if path.name != "_metadata").unlink()
    else:
        shutil.rmtree(heir.job(7))
    with pytest.raises(CommandError, match="no whole checkpoint of its own"):
        do(plan, "purge")
    do(plan, "undo")
    assert origin.all_files() == files


@pytest.mark.parametrize("forgotten", ["job", "cluster"])
def test_it_is_purged_whose_heir_is_forgotten_and_has_a_whole_one(
    home: Path, forgotten: str
) -> None:
    fleet = Fleet(home)
    forked(fleet)
    fleet.audit_twice()
    plan = do(approve_plan(), "apply")
    forget(forgotten)
    assert do(plan, "purge").counts("purge")["purged"] == 3


def forget(what: str) -> None:
    JobCurrent.objects.filter(cluster="app-c").delete()
    if what == "cluster":
        Cluster.objects.get(name="app-c").delete()


def test_it_is_purged_where_its_heir_was_restored_from_its_own_since_and_has_a_whole_one(
    home: Path,
) -> None:
    fleet = Fleet(home)
    forked(fleet)
    fleet.audit_twice()
    plan = do(approve_plan(), "apply")
    tell("app-c", **restored(fleet.worlds["app-c"], 6, timezone.now(), 7))
    assert do(plan, "purge").counts("purge")["purged"] == 3


def test_a_plan_whose_root_is_registered_no_more_is_not_purged_and_can_be_undone(
    home: Path,
) -> None:
    fleet = Fleet(home)
    _, hidden = write_dead_job(fleet)
    fleet.audit_twice()
    plan = do(approve_plan(), "apply")
    StorageRoot.objects.all().delete()
    with pytest.raises(CommandError, match="No root is registered"):
        do(plan, "purge")
    do(plan, "undo")
    assert all(path.exists() for path in hidden)


def test_a_checkpoint_that_appears_below_a_directory_named_like_one_is_seen(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Fleet(home)
    one, left = write_ended_job(fleet, "app-a", 5)
    fleet.audit_twice()
    plan, audited = approve_plan(), FreshAudits.fresh

    def fresh(self: FreshAudits) -> FreshAudit:
        found = audited(self)
        one.snapshot(one.root / "chk-1" / name_of_job(6) / "chk-4", 4, left[:1], at=OLD)
        return found

    monkeypatch.setattr(FreshAudits, "fresh", fresh)
    done = do(plan, "apply").counts("apply")
    assert (done.get("referred"), done.get("quarantined")) == (1, 1) and left[0].exists()


def test_what_no_reference_names_is_not_moved_once_a_snapshot_appears_that_no_audit_saw(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Fleet(home)
    one, hidden = write_dead_job(fleet)
    other = one.file(one.root / "x", at=OLD)
    fleet.audit_twice()
    plan, audited = approve_plan(), FreshAudits.fresh

    def fresh(self: FreshAudits) -> FreshAudit:
        found = audited(self)
        one.savepoint("savepoint-000000-0123456789ab", [other], at=timezone.now())
        return found

    monkeypatch.setattr(FreshAudits, "fresh", fresh)
    assert do(plan, "apply").counts("apply").get("judged_again") == len(hidden)
    assert all(path.exists() for path in hidden)
