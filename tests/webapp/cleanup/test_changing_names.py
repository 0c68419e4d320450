"""What is remembered of files holds when their root gets another name, and of whatever order audits
came in.
"""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.webapp.cleanup.test_forgotten_needs import write_ended_job
from tests.webapp.cleanup.test_repeated_job_ids import NOW, OLD, Fleet, completed, tell
from tests.webapp.cleanup.test_unseen_needs import audit
from tests.webapp.cleanup.test_whole import home, inventory, run
from tests.webapp.cleanup.worlds import World
from webapp.storage.models import StorageRoot

__all__ = ["home"]
pytestmark = pytest.mark.django_db(transaction=True)


def rename(one: World, settings, name: str = "hdfs://ns/flink") -> None:  # type: ignore[no-untyped-def]
    """Everything of the root is called another way from now on, as the operator declares."""
    settings.WEIR = replace(settings.WEIR, storage_aliases={f"file:{one.root}": name})
    StorageRoot.objects.all().delete()
    run(
        "add_storage_root",
        name,
        "--read-at",
        str(one.root),
        "--quarantine",
        f"file:{one.quarantine}",
        "--attest",
        "olga",
        "--cluster",
        "app-a",
    )


@pytest.mark.parametrize("vanished", [True, False])
def test_that_a_referrer_vanished_is_remembered_under_the_name_that_a_root_gets_later(
    home: Path,
    settings,
    vanished: bool,  # type: ignore[no-untyped-def]
) -> None:
    fleet = Fleet(home)
    one, needed = write_ended_job(fleet, "app-a", 5)
    first = one.checkpoint(5, 12, needed, at=OLD)
    audit(30)
    first.rename(home / "put-elsewhere")
    if vanished:
        audit(29)
    rename(one, settings)
    audit(20)
    run("audit_storage", "--as-of", (NOW - timedelta(days=10)).isoformat())
    run("audit_storage")
    assert not fleet.clean_up_all() & {*needed}


@pytest.mark.parametrize("vanished", [True, False])
def test_files_stay_where_nobody_declared_that_their_root_had_another_name(
    home: Path,
    settings,
    vanished: bool,  # type: ignore[no-untyped-def]
) -> None:
    fleet = Fleet(home)
    one, needed = write_ended_job(fleet, "app-a", 5)
    rename(one, settings, "hdfs://nn1/flink")
    first = one.checkpoint(5, 12, needed, at=OLD)
    audit(30)
    first.rename(home / "put-elsewhere")
    if vanished:
        audit(29)
    rename(one, settings)
    audit(20)
    run("audit_storage")
    assert not fleet.clean_up_all()


def test_what_nothing_needs_goes_under_the_name_that_its_root_gets_later(
    home: Path, settings
) -> None:  # type: ignore[no-untyped-def]
    fleet = Fleet(home)
    one, others = write_ended_job(fleet, "app-a", 5)
    audit(30)
    rename(one, settings)
    run("audit_storage")
    assert fleet.clean_up_all() == {*others}


def test_what_an_inventory_of_the_past_shows_is_not_forgotten(home: Path) -> None:
    fleet = Fleet(home)
    one, needed = write_ended_job(fleet, "app-a", 5)
    audit(30)
    first = one.checkpoint(5, 12, needed, at=NOW - timedelta(days=29))
    listed = inventory(one, home / "inventory.csv")
    hidden = first.rename(home / "aside")
    audit(26)
    hidden.rename(first)
    run(
        "audit_storage",
        str(one.root),
        "--listing",
        listed,
        "--as-of",
        (NOW - timedelta(days=28)).isoformat(),
    )
    first.rename(home / "put-elsewhere")
    audit(20)
    run("audit_storage")
    assert not fleet.clean_up_all() & {*needed}


def test_what_an_inventory_of_one_root_shows_is_not_forgotten_by_an_audit_of_another_that_is_newer(
    home: Path,
) -> None:
    fleet = Fleet(home)
    one, needed = write_ended_job(fleet, "app-a", 5)
    other, _ = write_ended_job(fleet, "app-b", 6)
    audit(30)
    first = other.checkpoint(6, 14, needed, at=NOW - timedelta(days=29))
    tell("app-b", **completed(other, 14, NOW - timedelta(days=29), 6))
    listed = inventory(other, home / "inventory.csv")
    audit(26, str(one.root))
    run(
        "audit_storage",
        str(other.root),
        "--listing",
        listed,
        "--as-of",
        (NOW - timedelta(days=28)).isoformat(),
    )
    first.rename(home / "put-elsewhere")
    other.checkpoint(6, 15, [], at=NOW - timedelta(days=27))
    tell("app-b", **completed(other, 15, NOW - timedelta(days=27), 6))
    audit(20)
    run("audit_storage")
    assert not fleet.clean_up_all() & {*needed}
