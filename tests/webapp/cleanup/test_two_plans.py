"""Two approved plans over the same files, and jobs that are restored from what a plan lists: real
audits, plans, applies and purges.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError
from django.utils import timezone

from ingest.storage.tree import Stat
from tests.webapp.builders import cluster, job, person
from tests.webapp.cleanup.test_fixed_job_ids import DRAWN, ENDED, succeed, write
from tests.webapp.cleanup.test_repeated_job_ids import NOW, OLD, Fleet, completed, restored, tell
from tests.webapp.cleanup.test_unseen_needs import NOTHING_COMPLETED, forked
from tests.webapp.cleanup.test_whole import home, run
from tests.webapp.cleanup.worlds import World, name_of_job
from webapp.cleanup import execution, orders
from webapp.cleanup.errors import Halted
from webapp.cleanup.fresh_audits import FreshAudits
from webapp.cleanup.models import CleanupPlan
from webapp.cleanup.places import TreeFiles
from webapp.cleanup.recheck import FreshAudit

__all__ = ["home"]
pytestmark = pytest.mark.django_db(transaction=True)


def approve_plan() -> CleanupPlan:
    """A plan of all that is waste or orphaned now."""
    user = person(f"ada-{CleanupPlan.objects.count()}")
    user.is_superuser = True
    user.save()
    run("plan_cleanup", "--waste", "--json")
    plan = CleanupPlan.objects.latest("id")
    orders.approve(plan, user, timezone.now())
    return plan


def do(plan: CleanupPlan, verb: str) -> CleanupPlan:
    if verb == "purge":
        CleanupPlan.objects.filter(pk=plan.pk).update(purge_at=timezone.now())
    run("apply_cleanup", str(plan.name), f"--{verb}", "--json")
    plan.refresh_from_db()
    return plan


@contextmanager
def stopped_after(moves: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Doubt arises after so many files were moved."""

    class Stopping(TreeFiles):
        left = moves

        def move(self, source: str, target: str, expected: Stat) -> None:
            if not Stopping.left:
                raise Halted("stopped")
            Stopping.left -= 1
            super().move(source, target, expected)

    with monkeypatch.context() as patched:
        patched.setattr(execution, "TreeFiles", Stopping)
        yield


@pytest.fixture
def origin(home: Path) -> World:
    """Its checkpoint 5 is waste; twice audited."""
    fleet = Fleet(home)
    world = forked(fleet)
    fleet.application("app-b", 8)
    tell("app-b", state="CANCELED", terminal=True)
    fleet.audit_twice()
    return world


def test_what_one_plan_took_is_gone_for_the_other(origin: World) -> None:
    one, other = approve_plan(), approve_plan()
    files = origin.all_files()
    assert do(one, "apply").counts("apply")["quarantined"] == len(files)
    assert not do(other, "apply").counts("apply").get("quarantined")
    do(one, "undo")
    assert origin.all_files() == files and not origin.unresolved()
    with pytest.raises(CommandError):
        do(other, "purge")
    assert origin.all_files() == files


@pytest.mark.parametrize("moves", [1, 2])
def test_what_two_plans_took_of_one_checkpoint_comes_back_whole(
    origin: World, monkeypatch: pytest.MonkeyPatch, moves: int
) -> None:
    """The one is stopped amid a checkpoint, the other takes what it may of the rest; then the first
    is undone.
    """
    one, other = approve_plan(), approve_plan()
    files = origin.all_files()
    with stopped_after(moves, monkeypatch), pytest.raises(CommandError, match="stopped"):
        do(one, "apply")
    do(other, "apply")
    do(one, "undo")
    if other.counts("apply").get("quarantined"):
        with pytest.raises(CommandError, match="referred to by now"):
            do(other, "purge")
        do(other, "undo")
    assert origin.all_files() == files and not origin.unresolved()


def test_a_plan_made_amid_another_takes_nothing_that_the_other_may_bring_back(
    origin: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, files = approve_plan(), origin.all_files()
    with stopped_after(1, monkeypatch), pytest.raises(CommandError, match="stopped"):
        do(one, "apply")
    for _ in range(3):
        run("audit_storage")
    run("plan_cleanup", "--waste", "--json")
    assert not CleanupPlan.objects.latest("id").files
    do(one, "undo")
    assert origin.all_files() == files and not origin.unresolved()


def test_a_plan_that_goes_on_takes_what_its_checkpoint_left(
    origin: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = approve_plan()
    with stopped_after(1, monkeypatch), pytest.raises(CommandError, match="stopped"):
        do(plan, "apply")
    do(plan, "apply")
    assert not origin.all_files()


def test_a_plan_that_goes_on_takes_nothing_against_which_something_new_stands(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That its checkpoint is in quarantine explains why nothing refers to a file, and nothing
    else.
    """
    fleet = Fleet(home)
    origin = fleet.application("app-x", DRAWN, **ENDED, start_time=OLD - timedelta(days=1))
    cluster("app-z", at=timezone.now() + timedelta(days=1))
    run(
        "add_storage_root",
        str(origin.root),
        "--attest",
        "olga",
        "--cluster",
        "app-x",
        "--cluster",
        "app-z",
        "--replace",
    )
    write(origin, DRAWN, 5)
    tell("app-x", **completed(origin, 5, OLD, DRAWN))
    succeed(fleet, origin, DRAWN, 5)
    fleet.audit_twice()
    plan, files = approve_plan(), origin.all_files()
    with stopped_after(1, monkeypatch), pytest.raises(CommandError, match="stopped"):
        do(plan, "apply")
    job("app-z", at=NOW, job_id=name_of_job(DRAWN), **ENDED)
    do(plan, "apply")
    assert len(origin.all_files()) == len(files) - 1


@pytest.mark.parametrize("when", ["before the apply", "amid the apply"])
def test_nothing_goes_from_which_a_job_was_restored_after_the_plan_was_made(
    origin: World, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    plan, files = approve_plan(), origin.all_files()
    of_restore = {
        "state": "RUNNING",
        "terminal": False,
        **restored(origin, 5, timezone.now(), 5),
        **NOTHING_COMPLETED,
    }
    audited = FreshAudits.fresh

    def fresh(self: FreshAudits) -> FreshAudit:
        found = audited(self)
        tell("app-b", **of_restore)
        return found

    if when == "before the apply":
        tell("app-b", **of_restore)
    else:
        monkeypatch.setattr(FreshAudits, "fresh", fresh)
    assert not do(plan, "apply").counts("apply").get("quarantined")
    assert origin.all_files() == files


def test_nothing_is_purged_from_which_a_job_was_restored_meanwhile(origin: World) -> None:
    plan, files = approve_plan(), origin.all_files()
    do(plan, "apply")
    tell(
        "app-b",
        state="RUNNING",
        terminal=False,
        **restored(origin, 5, timezone.now(), 5),
        **NOTHING_COMPLETED,
    )
    with pytest.raises(CommandError, match="may not be cleaned"):
        do(plan, "purge")
    do(plan, "undo")
    assert origin.all_files() == files


def test_nothing_goes_from_which_a_job_was_restored_by_another_name_amid_the_apply(
    origin: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, files = approve_plan(), origin.all_files()
    (mount := origin.root.with_name("mnt")).symlink_to(origin.root)
    path, audited = f"file:{mount}/{name_of_job(5)}/chk-5", FreshAudits.fresh

    def fresh(self: FreshAudits) -> FreshAudit:
        found = audited(self)
        restore = {"restored_path": path, "restored_at": timezone.now(), **NOTHING_COMPLETED}
        tell("app-b", state="RUNNING", terminal=False, **restore)
        return found

    monkeypatch.setattr(FreshAudits, "fresh", fresh)
    with pytest.raises(CommandError, match="may not be cleaned"):
        do(plan, "apply")
    assert origin.all_files() == files
