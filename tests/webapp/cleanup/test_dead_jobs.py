"""Jobs that were dead before Weir came: an operator attests it, with real audits, plans, applies and
purges; whatever contradicts it keeps their files.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management.base import CommandError
from django.utils import timezone

from tests.webapp.builders import person
from tests.webapp.cleanup.test_repeated_job_ids import NOW, OLD, Fleet
from tests.webapp.cleanup.test_unseen_needs import audit
from tests.webapp.cleanup.test_whole import home, run
from tests.webapp.cleanup.worlds import World, name_of_job
from webapp.cleanup import orders
from webapp.cleanup.models import CleanupPlan
from webapp.storage.models import AuditDoubt, RootFigures, StorageStatement

__all__ = ["home"]
pytestmark = pytest.mark.django_db(transaction=True)
DEAD, WHY = 5, "Its application cluster was deleted in March."


@pytest.fixture
def fleet(home: Path) -> Fleet:
    """A job that ended, and beside it what a job left that no cluster ever reported."""
    fleet = Fleet(home)
    world = fleet.application("app-a", 7, state="FINISHED", terminal=True)
    left(world)
    audit(30)
    return fleet


def left(world: World) -> set[Path]:
    needed = world.file(world.job(DEAD) / "shared", at=OLD)
    world.file(world.job(DEAD) / "shared", at=OLD)
    world.checkpoint(DEAD, 13, [needed], at=OLD)
    return {path for path in world.all_files() if name_of_job(DEAD) in str(path)}


def of_dead(fleet: Fleet) -> set[Path]:
    return {path for path in fleet.worlds["app-a"].all_files() if name_of_job(DEAD) in str(path)}


def attest(fleet: Fleet) -> StorageStatement:
    directory = fleet.worlds["app-a"].job(DEAD)
    run("storage_statement", "dead_job", str(directory), "--reason", WHY)
    return StorageStatement.objects.latest("id")


def approved(*options: str) -> CleanupPlan:
    run("plan_cleanup", "--json", *options)
    plan = CleanupPlan.objects.latest("id")
    ada = person("ada")
    ada.is_superuser = True
    ada.save()
    orders.approve(plan, ada, timezone.now())
    return plan


def apply(plan: CleanupPlan) -> int:
    """How many files it moved."""
    applied = json.loads(run("apply_cleanup", str(plan.name), "--apply", "--json"))["apply"]
    return int(applied.get("quarantined", 0))


def purge(plan: CleanupPlan) -> None:
    CleanupPlan.objects.filter(pk=plan.pk).update(purge_at=timezone.now())
    run("apply_cleanup", str(plan.name), "--purge", "--json")


def test_nothing_of_a_job_goes_that_nobody_attested_to_be_dead(fleet: Fleet) -> None:
    run("audit_storage")
    assert not fleet.clean_up_all()


def test_what_a_dead_job_left_goes_and_the_plan_says_on_whose_word(fleet: Fleet) -> None:
    everything = of_dead(fleet)
    attest(fleet)
    run("audit_storage")
    plan = approved("--waste")
    (quoted,) = plan.summary["statements"]
    assert quoted["subject"] == f"file:{fleet.worlds['app-a'].job(DEAD)}"
    assert quoted["reason"] == WHY and quoted["stated_by"]
    apply(plan)
    purge(plan)
    assert len(everything) == 3 and not any(path.exists() for path in everything)


def test_without_waste_only_what_nothing_refers_to_goes(fleet: Fleet) -> None:
    attest(fleet)
    run("audit_storage")
    plan = approved()
    apply(plan)
    assert plan.files == 1 and len(of_dead(fleet)) == 2


def test_no_plan_rests_on_an_attestation_that_was_taken_back_since_the_audit(fleet: Fleet) -> None:
    statement = attest(fleet)
    run("audit_storage")
    run("storage_statement", "--take-back", str(statement.pk))
    with pytest.raises(CommandError, match="Audit again"):
        run("plan_cleanup", "--waste")
    run("audit_storage")
    run("plan_cleanup", "--waste")
    assert CleanupPlan.objects.latest("id").files == 0


def test_nothing_is_moved_on_an_attestation_that_was_taken_back(fleet: Fleet) -> None:
    statement, everything = attest(fleet), of_dead(fleet)
    run("audit_storage")
    plan = approved("--waste")
    run("storage_statement", "--take-back", str(statement.pk))
    assert apply(plan) == 0
    assert all(path.exists() for path in everything)


def test_nothing_is_purged_on_an_attestation_that_was_taken_back(fleet: Fleet) -> None:
    statement, everything = attest(fleet), of_dead(fleet)
    run("audit_storage")
    plan = approved("--waste")
    assert apply(plan) == 3
    run("storage_statement", "--take-back", str(statement.pk))
    with pytest.raises(CommandError, match="attestation"):
        purge(plan)
    run("apply_cleanup", str(plan.name), "--undo", "--json")
    assert all(path.exists() for path in everything)


@pytest.mark.parametrize("stage", ["plan", "apply", "purge"])
def test_a_job_that_writes_again_is_not_dead(fleet: Fleet, stage: str) -> None:
    world, statement = fleet.worlds["app-a"], attest(fleet)

    def write() -> None:
        world.file(world.job(DEAD) / "shared", at=timezone.now())
        StorageStatement.objects.update(stated_at=OLD + (NOW - OLD) * 0.9)

    if stage == "plan":
        write()
    run("audit_storage")
    if stage == "plan":
        statement.refresh_from_db()
        assert statement.ended_at and AuditDoubt.objects.filter(reason="void_attestation").exists()
        assert not fleet.clean_up_all()
        return
    plan = approved("--waste")
    if stage == "apply":
        write()
        assert apply(plan) == 0
    else:
        apply(plan)
        write()
        with pytest.raises(CommandError, match="attestation"):
            purge(plan)
    statement.refresh_from_db()
    assert statement.ended_at


def test_an_attestation_needs_a_reason_and_a_directory_that_an_audit_listed(fleet: Fleet) -> None:
    root = fleet.worlds["app-a"].root
    for subject, reason, why in (
        (root / name_of_job(DEAD), " ", "reason"),
        (root / "d" / name_of_job(DEAD), WHY, "audit first"),
        (root / "shared", WHY, "no directory of a job"),
        (root / name_of_job(7), WHY, "."),
        (root.parent / "elsewhere" / name_of_job(DEAD), WHY, "no registered root"),
    ):
        with pytest.raises(CommandError, match=why):
            run("storage_statement", "dead_job", str(subject), "--reason", reason)
    assert not StorageStatement.objects.exists()


def write_parquet(world: World) -> None:
    place = world.root / "tables" / "_metadata"
    place.parent.mkdir()
    place.write_bytes(b"PAR1" + b"\0" * 20 + (16).to_bytes(4, "little") + b"PAR1")


def write_json(world: World) -> None:
    place = world.root / "_metadata"
    place.write_text('{"version": 3}')


def write_link(world: World) -> None:
    (world.root / "link").symlink_to("/usr/share")


def copy_beside(world: World) -> None:
    shutil.copytree(world.job(DEAD), world.root / "backup" / name_of_job(DEAD))


@pytest.mark.parametrize("write", [write_parquet, write_json, write_link, copy_beside])
def test_what_is_none_of_flinks_does_not_block_the_root(
    fleet: Fleet, write: Callable[[World], None]
) -> None:
    world = fleet.worlds["app-a"]
    write(world)
    audit(20)
    attest(fleet)
    run("audit_storage")
    (figures,) = RootFigures.objects.order_by("-as_of")[:1]
    assert figures.cleanable, list(AuditDoubt.objects.values_list("reason", "reach"))
    plan = approved()
    assert plan.files == 1
    apply(plan)
    assert len([path for path in of_dead(fleet) if "/backup/" not in str(path)]) == 2


def write_unknown(world: World) -> None:
    (world.root / "_metadata").write_bytes(b"\x07" * 99)


def write_link_above(world: World) -> None:
    (world.root / "link").symlink_to(world.root.parent)


@pytest.mark.parametrize("write", [write_unknown, write_link_above])
def test_what_may_refer_to_anything_blocks_the_root(
    fleet: Fleet, write: Callable[[World], None]
) -> None:
    write(fleet.worlds["app-a"])
    attest(fleet)
    run("audit_storage")
    (figures,) = RootFigures.objects.order_by("-as_of")[:1]
    assert figures.not_cleanable == ["in_doubt"]
    assert not fleet.clean_up_all()


def test_a_file_that_somebody_looked_at_blocks_nothing_until_it_changes(fleet: Fleet) -> None:
    world = fleet.worlds["app-a"]
    write_unknown(world)
    run("audit_storage")
    file = str(world.root / "_metadata")
    run("storage_statement", "foreign_file", file, "--reason", "Of our table format.")
    attest(fleet)
    run("audit_storage")
    assert RootFigures.objects.order_by("-as_of")[0].cleanable
    (world.root / "_metadata").write_bytes(b"\x08" * 99)
    run("audit_storage")
    assert not RootFigures.objects.order_by("-as_of")[0].cleanable
