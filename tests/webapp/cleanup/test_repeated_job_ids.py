"""Applications whose jobs all have the id 000…0, each with a root of its own: real audits, plans,
applies and purges.

Every job of an application cluster with high availability has that id, so what is known of one says
nothing of the others.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from django.utils import timezone

from tests.webapp.builders import cluster, fact, job, person
from tests.webapp.cleanup.test_whole import home, run
from tests.webapp.cleanup.worlds import World, name_of_job
from webapp.cleanup import orders
from webapp.cleanup.models import CleanupPlan
from webapp.fleet.models import JobCurrent
from webapp.storage.models import CheckpointStorage

__all__ = ["home"]

REPEATED = 0
NOW = datetime.now(UTC)
OLD = NOW - timedelta(days=60)
pytestmark = pytest.mark.django_db(transaction=True)


class Fleet:
    """Clusters of one application each, which write below roots registered for them alone."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.worlds: dict[str, World] = {}

    def application(self, name: str, number: int = REPEATED, **told: object) -> World:
        """One whose job has the id of that number; ``told``: what REST says of the job."""
        world = World(self.home / name, Random(len(self.worlds)))
        world.job(number).mkdir(parents=True)
        # Seen again and again while this test takes its time.
        cluster(name, at=timezone.now() + timedelta(days=1))
        self.worlds[name] = world
        row = {
            "state": "RUNNING",
            "terminal": False,
            "start_time": OLD,
            "last_completed_id": None,
            "last_completed_at": None,
        }
        job(name, at=timezone.now(), job_id=name_of_job(number), **row | told)
        run("add_storage_root", str(world.root), "--attest", "olga", "--cluster", name)
        return world

    def audit_twice(self, between: Callable[[], None] = lambda: None) -> None:
        """As of a month ago, and now."""
        run("audit_storage", "--as-of", (NOW - timedelta(days=30)).isoformat())
        between()
        run("audit_storage")

    def clean_up_all(self) -> set[Path]:
        """Whatever a plan takes, waste as well, is applied and purged; returns the files that are
        gone.
        """
        before = {path for world in self.worlds.values() for path in world.all_files()}
        user = person("ada")
        user.is_superuser = True
        user.save()
        run("plan_cleanup", "--waste", "--json")
        for plan in CleanupPlan.objects.exclude(files=0):
            orders.approve(plan, user, timezone.now())
            run("apply_cleanup", str(plan.name), "--apply", "--json")
            CleanupPlan.objects.filter(pk=plan.pk).update(purge_at=timezone.now())
            run("apply_cleanup", str(plan.name), "--purge", "--json")
        return {path for path in before if not path.exists()}


def ended(world: World, number: int, at: datetime = OLD) -> dict[str, object]:
    return {"state": "CANCELED", "terminal": True} | completed(world, number, at)


def completed(
    world: World, number: int, at: datetime = OLD, job_number: int = REPEATED
) -> dict[str, object]:
    path = f"file:{world.job(job_number)}/chk-{number}"
    return {"last_completed_id": number, "last_completed_at": at, "last_completed_path": path}


def tell(name: str, **told: object) -> None:
    assert JobCurrent.objects.filter(cluster=name).update(**told) == 1


def restored(
    origin: World, number: int, at: datetime, origin_job: int = REPEATED
) -> dict[str, object]:
    return {
        "restored_path": f"file:{origin.job(origin_job)}/chk-{number}",
        "restored_checkpoint_id": number,
        "restored_at": at,
    }


def test_the_last_state_of_an_application_is_not_waste_because_another_one_was_succeeded(
    home: Path,
) -> None:
    fleet = Fleet(home)
    one, other = fleet.application("app-a"), fleet.application("app-b")
    heir = fleet.application("app-y", 7)
    needed = [one.file(one.job(REPEATED) / "shared", at=OLD) for _ in range(4)]
    one.checkpoint(REPEATED, 50, needed, at=OLD)
    tell("app-a", **ended(one, 50))
    left = [other.file(other.job(REPEATED) / "shared", at=OLD) for _ in range(2)]
    other.checkpoint(REPEATED, 60, left, at=OLD)
    tell("app-b", **ended(other, 60))
    later = OLD + timedelta(days=2)
    heir.checkpoint(7, 61, [heir.file(heir.job(7) / "shared", at=later)], at=later)
    tell("app-y", **restored(other, 60, OLD + timedelta(days=1)), **completed(heir, 61, later, 7))
    fleet.audit_twice()
    gone = fleet.clean_up_all()
    # What was succeeded goes, or nothing here would prove anything.
    assert gone == {*left, other.job(REPEATED) / "chk-60" / "_metadata"}


def test_a_checkpoint_stays_that_a_running_application_was_restored_from_while_another_one_is_whole(
    home: Path,
) -> None:
    fleet = Fleet(home)
    origin = fleet.application("app-x", 5)
    fleet.application("app-a")
    other = fleet.application("app-b")
    files = [origin.file(origin.job(5) / "shared", at=OLD) for _ in range(3)]
    origin.checkpoint(5, 5, files, at=OLD)
    tell("app-x", state="CANCELED", terminal=True, **completed(origin, 5, OLD, 5))
    later = OLD + timedelta(days=2)
    other.checkpoint(REPEATED, 60, [other.file(other.job(REPEATED) / "shared", at=later)], at=later)
    for name in ("app-a", "app-b"):
        tell(name, **restored(origin, 5, OLD + timedelta(days=1), 5))
    tell("app-b", **completed(other, 60, later))
    fleet.audit_twice()
    assert not fleet.clean_up_all()


def test_files_stay_whose_checkpoint_a_rule_deleted_while_another_application_discarded_its_own(
    home: Path,
) -> None:
    fleet = Fleet(home)
    one, other = fleet.application("app-d"), fleet.application("app-b")
    shared = [one.file(one.job(REPEATED) / "shared", at=OLD) for _ in range(2)]
    first = one.checkpoint(REPEATED, 12, shared, at=OLD)
    one.checkpoint(REPEATED, 13, [one.file(one.job(REPEATED) / "shared", at=OLD)], at=OLD)
    other.checkpoint(REPEATED, 13, [other.file(other.job(REPEATED) / "shared", at=OLD)], at=OLD)
    tell("app-d", **ended(one, 13))
    tell("app-b", **completed(other, 13))
    of_other = JobCurrent.objects.get(cluster="app-b")
    fact(of_other, 12, NOW - timedelta(days=1), discarded=True)
    fleet.audit_twice(between=lambda: (first / "_metadata").unlink())
    run("audit_storage")  # once more: an orphan is found by two
    assert not fleet.clean_up_all()


def test_an_application_that_needs_files_of_another_one_is_not_self_contained(home: Path) -> None:
    fleet = Fleet(home)
    one, other = fleet.application("app-a"), fleet.application("app-b")
    inherited = one.file(one.job(REPEATED) / "shared", at=OLD)
    one.checkpoint(REPEATED, 50, [inherited], at=OLD)
    tell("app-a", **ended(one, 50))
    later = OLD + timedelta(days=2)
    other.checkpoint(
        REPEATED, 51, [inherited, other.file(other.job(REPEATED) / "shared", at=later)], at=later
    )
    tell("app-b", **restored(one, 50, OLD + timedelta(days=1)), **completed(other, 51, later))
    fleet.audit_twice()
    found = CheckpointStorage.objects.filter(
        metadata_path__startswith=f"file:{other.root}/"
    ).latest("audit_id")
    assert (found.foreign_files, found.self_contained) == (1, False)
    assert not fleet.clean_up_all()


def test_in_one_root_nothing_of_applications_that_share_a_directory_is_deletable(
    home: Path,
) -> None:
    fleet = Fleet(home)
    shared = fleet.application("app-a")
    cluster("app-b", at=timezone.now() + timedelta(days=1))
    run(
        "add_storage_root",
        str(shared.root),
        "--attest",
        "olga",
        "--cluster",
        "app-a",
        "--cluster",
        "app-b",
        "--replace",
    )
    job(
        "app-b",
        at=timezone.now(),
        job_id=name_of_job(REPEATED),
        state="CANCELED",
        terminal=True,
        **completed(shared, 9),
    )
    shared.checkpoint(REPEATED, 9, [shared.file(shared.job(REPEATED) / "shared", at=OLD)], at=OLD)
    shared.file(shared.job(REPEATED) / "shared", at=OLD)
    tell("app-a", **ended(shared, 9))
    fleet.audit_twice()
    assert not fleet.clean_up_all()


@pytest.mark.parametrize("missing", ["everything", "newest checkpoint"])
def test_a_live_directory_that_lists_short_once_loses_nothing(home: Path, missing: str) -> None:
    fleet = Fleet(home)
    world, origin = fleet.application("app-a"), fleet.application("app-x", 5)
    inherited = [origin.file(origin.job(5) / "shared", at=OLD) for _ in range(2)]
    origin.checkpoint(5, 5, inherited, at=OLD)
    tell("app-x", state="CANCELED", terminal=True, **completed(origin, 5, OLD, 5))
    own = [world.file(world.job(REPEATED) / "shared", at=OLD) for _ in range(2)]
    world.checkpoint(REPEATED, 6, [own[0]], at=OLD)
    newest = world.checkpoint(REPEATED, 7, [own[1], *inherited], at=OLD + timedelta(days=2))
    tell(
        "app-a",
        **restored(origin, 5, OLD + timedelta(days=1), 5),
        **completed(world, 7, OLD + timedelta(days=2)),
    )
    aside = world.root.with_name("aside")
    hidden = world.job(REPEATED) if missing == "everything" else newest

    fleet.audit_twice(between=lambda: hidden.rename(aside) and None)
    aside.rename(hidden)
    assert not fleet.clean_up_all()
