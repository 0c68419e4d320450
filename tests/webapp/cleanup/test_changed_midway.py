"""A plan is applied in part, its process dies, and what it rested on changes before it goes on."""

from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from tests.webapp.builders import job
from tests.webapp.cleanup.played_weeks import Killed
from tests.webapp.cleanup.test_dead_jobs import DEAD, WHY, apply, approved, left, purge
from tests.webapp.cleanup.test_repeated_job_ids import NOW, OLD, Fleet, completed, restored, tell
from tests.webapp.cleanup.test_unseen_needs import audit
from tests.webapp.cleanup.test_whole import home, run
from tests.webapp.cleanup.worlds import name_of_job
from webapp.cleanup.journal import Journal
from webapp.cleanup.models import CleanupPlan
from webapp.storage.models import StorageStatement

__all__ = ["home"]
pytestmark = pytest.mark.django_db(transaction=True)


def dies_after_the_metadata(plan: CleanupPlan, metadata: Path) -> None:
    def intend(journal: Journal, chunk: int, *arguments: Any) -> None:
        if chunk:
            raise Killed
        before(journal, chunk, *arguments)

    before = Journal.write_intent
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Journal, "write_intent", intend)
        apply(plan)
    assert not metadata.exists()


def test_what_is_left_stays_once_the_attestation_is_taken_back(home: Path) -> None:
    fleet = Fleet(home)
    world = fleet.application("app-a", 7, state="FINISHED", terminal=True)
    of_dead = left(world)
    metadata = world.job(DEAD) / "chk-13" / "_metadata"
    job(
        "app-a",
        at=NOW,
        job_id=name_of_job(DEAD),
        state="CANCELED",
        terminal=True,
        **completed(world, 13, OLD, DEAD),
    )
    audit(30)
    named = ("--cluster", "app-a", "--job", name_of_job(DEAD))
    run("storage_statement", "dead_job", str(world.job(DEAD)), *named, "--reason", WHY)
    run("audit_storage")
    plan = approved("--waste")
    assert plan.files == 3
    dies_after_the_metadata(plan, metadata)
    run("storage_statement", "--take-back", str(StorageStatement.objects.latest("id").pk))
    with suppress(CommandError):
        apply(plan)
    there = {path for path in of_dead if path.exists()}
    assert there >= of_dead - {metadata}, sorted(of_dead - there)
    run("apply_cleanup", str(plan.name), "--undo", "--json")
    assert metadata.exists()


def test_what_is_left_stays_once_the_heir_has_no_whole_checkpoint_any_more(home: Path) -> None:
    fleet = Fleet(home)
    world = fleet.application("app-a", 5, state="CANCELED", terminal=True)
    heir = fleet.application("app-b", 7)
    needed = world.file(world.job(5) / "shared", at=OLD)
    metadata = world.checkpoint(5, 13, [needed], at=OLD) / "_metadata"
    tell("app-a", **completed(world, 13, OLD, 5))
    later = OLD + timedelta(days=2)
    own = heir.file(heir.job(7) / "shared", at=later)
    heir.checkpoint(7, 14, [own], at=later)
    tell(
        "app-b",
        **restored(world, 13, OLD + timedelta(days=1), 5),
        **completed(heir, 14, later, 7),
    )
    fleet.audit_twice()
    plan = approved("--waste")
    assert plan.files == 2
    dies_after_the_metadata(plan, metadata)
    own.unlink()
    with suppress(CommandError):
        apply(plan)
    assert needed.exists()
    with pytest.raises(CommandError):
        purge(plan)
