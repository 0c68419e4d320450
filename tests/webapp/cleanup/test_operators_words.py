"""What operators state between an audit, a plan, its apply and its purge, of jobs, clusters and
directories: real audits, plans, applies and purges.
"""

from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management.base import CommandError
from django.utils import timezone

from tests.webapp.builders import cluster, job
from tests.webapp.cleanup.test_dead_jobs import WHY, apply, approved, purge
from tests.webapp.cleanup.test_repeated_job_ids import OLD, REPEATED, Fleet, completed, tell
from tests.webapp.cleanup.test_unseen_needs import DRAWN as DEAD
from tests.webapp.cleanup.test_unseen_needs import audit
from tests.webapp.cleanup.test_whole import home, run
from tests.webapp.cleanup.worlds import World, name_of_job
from webapp.cleanup.models import CleanupPlan
from webapp.storage.auditing import listings
from webapp.storage.models import StorageRoot, StorageStatement

__all__ = ["home"]
pytestmark = pytest.mark.django_db(transaction=True)


def of_dead(fleet: Fleet) -> set[Path]:
    return {path for path in fleet.worlds["app-a"].all_files() if name_of_job(DEAD) in str(path)}


@pytest.fixture
def fleet(home: Path) -> Fleet:
    """Beside a job that ended, what one left whose cluster was removed: a checkpoint, what it needs,
    and a file that nothing refers to.
    """
    fleet = Fleet(home)
    world = fleet.application("app-a", 7, state="FINISHED", terminal=True)
    StorageRoot.objects.get().clusters.clear()
    needed = world.file(world.job(DEAD) / "shared", at=OLD)
    world.file(world.job(DEAD) / "shared", at=OLD)
    world.checkpoint(DEAD, 13, [needed], at=OLD)
    job(
        "removed",
        at=OLD,
        job_id=name_of_job(DEAD),
        start_time=OLD - timedelta(days=1),
        **completed(world, 13, OLD, DEAD),
    )
    audit(30)
    return fleet


def state(*words: str) -> StorageStatement:
    run("storage_statement", *words, "--reason", WHY)
    return StorageStatement.objects.latest("id")


def attest(*more: str) -> StorageStatement:
    return state("dead_job", "--cluster", "removed", "--job", name_of_job(DEAD), *more)


def take_back(statement: StorageStatement) -> None:
    run("storage_statement", "--take-back", str(statement.pk))


def test_what_nothing_refers_to_goes_on_the_word_that_the_job_of_a_cluster_is_dead(
    fleet: Fleet,
) -> None:
    attest()
    run("audit_storage")
    plan = approved("--waste")
    (quoted,) = plan.summary["statements"]
    assert quoted["subject"] == name_of_job(DEAD)
    assert apply(plan) == 1
    purge(plan)
    assert len(of_dead(fleet)) == 2


@pytest.mark.parametrize("stage", ["plan", "apply", "purge"])
def test_nothing_goes_on_a_word_about_the_job_of_a_cluster_that_was_taken_back(
    fleet: Fleet, stage: str
) -> None:
    statement = attest()
    run("audit_storage")
    if stage == "plan":
        take_back(statement)
        with pytest.raises(CommandError, match="Audit again"):
            run("plan_cleanup")
        return
    plan = approved()
    if stage == "purge":
        assert apply(plan) == 1
    take_back(statement)
    if stage == "apply":
        assert apply(plan) == 0
        return
    with pytest.raises(CommandError, match="attestation"):
        purge(plan)
    run("apply_cleanup", str(plan.name), "--undo", "--json")
    assert len(of_dead(fleet)) == 3


def test_what_was_stated_while_an_audit_listed_counts_from_the_next_on(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = listings.list_all

    def slow(*arguments: object) -> object:
        found = listed(*arguments)  # type: ignore[arg-type]
        attest()
        return found

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(listings, "list_all", slow)
        run("audit_storage")
    run("plan_cleanup", "--waste")
    assert CleanupPlan.objects.latest("id").files == 0
    run("audit_storage")
    assert approved("--waste").summary["statements"]


@pytest.mark.parametrize("stage", ["apply", "purge"])
def test_nothing_goes_from_below_a_directory_that_was_excluded_since(
    fleet: Fleet, stage: str
) -> None:
    attest()
    run("audit_storage")
    plan, directory = approved(), fleet.worlds["app-a"].job(DEAD) / "shared"
    if stage == "purge":
        assert apply(plan) == 1
    state("excluded", str(directory))
    if stage == "apply":
        assert apply(plan) == 0
        return
    with pytest.raises(CommandError, match="excluded"):
        purge(plan)
    run("apply_cleanup", str(plan.name), "--undo", "--json")
    assert len(of_dead(fleet)) == 3


def test_a_directory_that_was_excluded_before_the_plan_stops_nothing_beside_it(
    fleet: Fleet,
) -> None:
    attest()
    state("excluded", str(fleet.worlds["app-a"].job(DEAD) / "chk-13"))
    run("audit_storage")
    plan = approved()
    assert apply(plan) == 1
    purge(plan)
    assert len(of_dead(fleet)) == 2


def test_the_job_of_a_cluster_is_attested_with_no_directory_of_another_job(fleet: Fleet) -> None:
    other = str(fleet.worlds["app-a"].job(7))
    with pytest.raises(CommandError, match="is no directory of job"):
        state("dead_job", other, "--cluster", "removed", "--job", name_of_job(DEAD))
    assert not StorageStatement.objects.exists()


@pytest.mark.parametrize("ends", [True, False])
def test_of_two_applications_with_one_directory_the_death_of_one_leaves_the_other_its_checkpoints(
    home: Path, ends: bool
) -> None:
    """While the other runs, the directory is not taken for that of a dead job at all."""
    fleet = Fleet(home)
    world = fleet.application("app-a")
    StorageRoot.objects.get().clusters.clear()
    needed = world.file(world.job(REPEATED) / "shared", at=OLD)
    world.checkpoint(REPEATED, 13, [needed], at=OLD)
    tell("app-a", **completed(world, 13))
    if ends:
        tell("app-a", state="CANCELED", terminal=True, end_time=OLD)
    job("removed", at=OLD, job_id=name_of_job(REPEATED), **completed(world, 12))
    audit(30)
    directory = str(world.job(REPEATED))
    of_removed = ("dead_job", directory, "--cluster", "removed", "--job", name_of_job(REPEATED))
    if ends:
        state(*of_removed)
    else:
        with pytest.raises(CommandError, match="which has not ended"):
            state(*of_removed)
    run("audit_storage")
    assert not fleet.clean_up_all()


def claim_and_put_elsewhere(world: World) -> None:
    """Job 8 claimed the checkpoint of the dead job, and somebody put its own last one elsewhere."""
    (world.job(DEAD) / "chk-13" / "_metadata").unlink()
    at = OLD + timedelta(days=2)
    world.file(world.job(8) / "shared", at=at)
    job(
        "app-a",
        at=timezone.now(),
        job_id=name_of_job(8),
        state="CANCELED",
        terminal=True,
        start_time=OLD,
        end_time=at,
        checkpoint_config={"retained_on_cancellation": True},
        restored_path=f"file:{world.job(DEAD)}/chk-13",
        restored_checkpoint_id=13,
        restored_at=OLD + timedelta(days=1),
        **completed(world, 14, at, 8),
    )


def test_what_a_dead_job_left_stays_for_the_checkpoint_of_its_heir_that_was_put_elsewhere(
    home: Path,
) -> None:
    fleet = Fleet(home)
    world = fleet.application("app-a", 7, state="FINISHED", terminal=True)
    needed = world.file(world.job(DEAD) / "shared", at=OLD)
    world.checkpoint(DEAD, 13, [needed], at=OLD)
    claim_and_put_elsewhere(world)
    audit(30)
    state("dead_job", str(world.job(DEAD)))
    run("audit_storage")
    assert needed not in fleet.clean_up_all()


def test_a_word_about_a_cluster_that_came_back_does_not_count(fleet: Fleet) -> None:
    statement = attest()
    cluster("removed", at=timezone.now() + timedelta(days=1))
    tell("removed", last_seen_at=timezone.now() + timedelta(hours=1))
    run("audit_storage")
    statement.refresh_from_db()
    assert statement.ended_at
    run("audit_storage")
    assert not fleet.clean_up_all()
