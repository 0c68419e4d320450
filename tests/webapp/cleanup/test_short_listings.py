"""What lists short without an error, while the checkpoint that needs it is moved away: nothing of
it is ever deleted.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError
from django.utils import timezone

from tests.selections import mostly_long
from tests.webapp.builders import person
from tests.webapp.cleanup.test_forgotten_needs import write_ended_job
from tests.webapp.cleanup.test_repeated_job_ids import NOW, OLD, Fleet
from tests.webapp.cleanup.test_unseen_needs import audit
from tests.webapp.cleanup.test_whole import home, run
from webapp.cleanup import orders
from webapp.cleanup.models import CleanupPlan

__all__ = ["home"]
pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def aside(directory: Path, *, leaves_empty: bool = False) -> Iterator[None]:
    """The directory is not there meanwhile, or lists empty."""
    hidden = directory.rename(directory.parent.parent / "aside")
    if leaves_empty:
        directory.mkdir()
    yield
    if leaves_empty:
        directory.rmdir()
    hidden.rename(directory)


@pytest.mark.parametrize("leaves_empty", mostly_long([False, True], ids=["absent", "empty"]))
@pytest.mark.parametrize("hidden", ["job", "shared"])
@pytest.mark.parametrize("moved", mostly_long(["checkpoint", "savepoint"]))
def test_files_stay_that_listed_short_while_their_checkpoint_was_moved_away(
    home: Path, hidden: str, moved: str, leaves_empty: bool
) -> None:
    fleet = Fleet(home)
    one, needed = write_ended_job(fleet, "app-a", 5)
    if moved == "checkpoint":
        first = one.checkpoint(5, 12, needed, at=OLD)
    else:
        first = one.savepoint("savepoint-000005-0123456789ab", needed, at=OLD)
    audit(30)
    first.rename(home / "put-elsewhere")
    with aside(one.job(5) if hidden == "job" else one.job(5) / "shared", leaves_empty=leaves_empty):
        audit(29)
    audit(20)
    run("audit_storage")
    assert not fleet.clean_up_all()


@pytest.mark.parametrize("short", mostly_long([1, 3]))
def test_files_stay_of_a_root_that_listed_empty_some_times(home: Path, short: int) -> None:
    fleet = Fleet(home)
    one, needed = write_ended_job(fleet, "app-a", 5)
    first = one.checkpoint(5, 12, needed, at=OLD)
    audit(30)
    first.rename(home / "put-elsewhere")
    with aside(one.root, leaves_empty=True):
        for times in range(short):
            audit(29 - times)
    audit(20)
    run("audit_storage")
    assert not fleet.clean_up_all()


def test_files_stay_that_were_written_right_before_they_listed_short(home: Path) -> None:
    fleet = Fleet(home)
    one, _ = write_ended_job(fleet, "app-a", 5)
    shared, lately = one.job(5) / "shared", NOW - timedelta(days=30, hours=1)
    needed = [one.file(shared, at=lately) for _ in range(2)]
    first = one.checkpoint(5, 12, needed, at=lately)
    audit(30)
    first.rename(home / "put-elsewhere")
    with aside(one.job(5)):
        run("audit_storage", "--as-of", (NOW - timedelta(days=29, hours=23)).isoformat())
        run("audit_storage", "--as-of", (NOW - timedelta(days=29, hours=22)).isoformat())
    audit(20)
    run("audit_storage")
    assert not fleet.clean_up_all() & {*needed}


def test_files_stay_in_a_root_that_was_not_audited_when_their_checkpoint_in_another_was_moved_away(
    home: Path,
) -> None:
    fleet = Fleet(home)
    _, needed = write_ended_job(fleet, "app-a", 5)
    other, _ = write_ended_job(fleet, "app-b", 6)
    first = other.checkpoint(6, 12, needed, at=OLD)
    audit(30)
    first.rename(home / "put-elsewhere")
    audit(28, str(other.root))
    audit(20)
    run("audit_storage")
    assert not fleet.clean_up_all() & {*needed}


def test_files_stay_of_a_directory_that_could_not_be_listed_when_their_checkpoint_in_another_root_was_moved_away(
    home: Path,
) -> None:
    fleet = Fleet(home)
    one, needed = write_ended_job(fleet, "app-a", 5)
    other, _ = write_ended_job(fleet, "app-b", 6)
    first = other.checkpoint(6, 12, needed, at=OLD)
    audit(30)
    first.rename(home / "put-elsewhere")
    shared = one.job(5) / "shared"
    hidden = shared.rename(home / "aside")
    shared.symlink_to(hidden)  # no link is followed
    audit(28)
    shared.unlink()
    hidden.rename(shared)
    audit(20)
    run("audit_storage")
    assert not fleet.clean_up_all() & {*needed}


def test_what_was_written_since_a_listing_and_needed_by_nothing_goes(home: Path) -> None:
    fleet = Fleet(home)
    one, _ = write_ended_job(fleet, "app-a", 5)
    audit(30)
    later = one.file(one.job(5) / "shared", at=NOW - timedelta(days=29))
    audit(20)
    run("audit_storage")
    assert later in fleet.clean_up_all()


@pytest.mark.parametrize("whole", [True, False])
def test_what_a_checkpoint_referred_to_that_came_and_went_after_the_apply_is_not_purged(
    home: Path, whole: bool
) -> None:
    fleet = Fleet(home)
    one, needed = write_ended_job(fleet, "app-a", 5)
    first = one.savepoint("savepoint-000005-0123456789ab", needed, at=OLD)
    archived = first.rename(home / "archive")
    fleet.audit_twice()
    user = person("ada")
    user.is_superuser = True
    user.save()
    run("plan_cleanup", "--json")
    plan = CleanupPlan.objects.exclude(files=0).get()
    orders.approve(plan, user, timezone.now())
    run("apply_cleanup", str(plan.name), "--apply", "--json")
    assert not any(path.exists() for path in needed)
    archived.rename(first)
    link = one.root / "link"
    if not whole:
        link.symlink_to(home)
    run("audit_storage")
    link.unlink(missing_ok=True)
    first.rename(archived)
    CleanupPlan.objects.update(purge_at=timezone.now())
    with pytest.raises(CommandError, match="referred to by now"):
        run("apply_cleanup", str(plan.name), "--purge", "--json")
    run("apply_cleanup", str(plan.name), "--undo", "--json")
    assert all(path.exists() for path in needed)
