"""Files that a listing lacked: they count as others once audits listed them long enough, unless a
referrer went meanwhile.
"""

from pathlib import Path

import pytest

from tests.selections import mostly_long
from tests.webapp.cleanup.test_changing_names import rename
from tests.webapp.cleanup.test_forgotten_needs import write_ended_job
from tests.webapp.cleanup.test_repeated_job_ids import OLD, Fleet
from tests.webapp.cleanup.test_short_listings import aside
from tests.webapp.cleanup.test_unseen_needs import audit
from tests.webapp.cleanup.test_whole import home, run
from webapp.cleanup.models import CleanupPlan

__all__ = ["home"]
pytestmark = pytest.mark.django_db(transaction=True)


def planned() -> int | None:
    run("plan_cleanup", "--waste", "--json")
    return CleanupPlan.objects.latest("id").files


def test_a_file_goes_that_audits_have_listed_again_for_as_long_as_the_age_guard(home: Path) -> None:
    fleet = Fleet(home)
    one, others = write_ended_job(fleet, "app-a", 5)
    audit(30)
    with aside(one.job(5) / "shared"):
        audit(29)
    audit(20)
    audit(18)
    assert not planned()
    audit(16)
    assert not planned()
    run("audit_storage")
    assert fleet.clean_up_all() == {*others}


def test_that_time_begins_again_where_an_audit_lacks_it_again(home: Path) -> None:
    fleet = Fleet(home)
    one, others = write_ended_job(fleet, "app-a", 5)
    audit(30)
    for hidden, listed in ((29, 28), (24, 23)):
        with aside(one.job(5) / "shared"):
            audit(hidden)
        audit(listed)
    audit(22)
    audit(21)
    assert not planned()
    audit(19)
    run("audit_storage")
    assert fleet.clean_up_all() == {*others}


def test_that_time_does_not_end_in_an_audit_with_doubts(home: Path) -> None:
    fleet = Fleet(home)
    one, others = write_ended_job(fleet, "app-a", 5)
    audit(30)
    with aside(one.job(5) / "shared"):
        audit(29)
    audit(20)
    (one.root / "link").symlink_to(home)
    for days_ago in (15, 14):
        audit(days_ago)
    (one.root / "link").unlink()
    audit(13)
    assert not planned()
    run("audit_storage")
    assert fleet.clean_up_all() == {*others}


@pytest.mark.parametrize("moved", mostly_long(["checkpoint", "savepoint"]))
@pytest.mark.parametrize("later", [False, True], ids=["at once", "later"])
def test_a_file_never_goes_whose_referrer_was_moved_away_while_it_was_not_listed(
    home: Path, moved: str, later: bool
) -> None:
    fleet = Fleet(home)
    one, needed = write_ended_job(fleet, "app-a", 5)
    if moved == "checkpoint":
        first = one.checkpoint(5, 12, needed, at=OLD)
    else:
        first = one.savepoint("savepoint-000005-0123456789ab", needed, at=OLD)
    audit(30)
    with aside(one.job(5) / "shared"):
        if later:
            audit(29)
        first.rename(home / "put-elsewhere")
        audit(28)
    for days_ago in (25, 20, 15, 10, 5):
        audit(days_ago)
    run("audit_storage")
    assert not fleet.clean_up_all()


def test_a_file_never_goes_whose_referrer_in_another_root_was_moved_away_while_it_was_not_listed(
    home: Path,
) -> None:
    fleet = Fleet(home)
    one, needed = write_ended_job(fleet, "app-a", 5)
    other, _ = write_ended_job(fleet, "app-b", 6)
    first = other.savepoint("savepoint-000006-0123456789ab", needed, at=OLD)
    audit(30)
    first.rename(home / "put-elsewhere")
    with aside(one.job(5)):
        audit(29)
    audit(28, str(other.root))
    for days_ago in (25, 20, 15):
        audit(days_ago)
    run("audit_storage")
    assert not fleet.clean_up_all() & {*needed}


def test_a_file_never_goes_that_came_back_under_another_name_of_its_root(
    home: Path, settings
) -> None:  # type: ignore[no-untyped-def]
    fleet = Fleet(home)
    one, needed = write_ended_job(fleet, "app-a", 5)
    rename(one, settings, "hdfs://nn1/flink")
    first = one.checkpoint(5, 12, needed, at=OLD)
    audit(30)
    first.rename(home / "put-elsewhere")
    with aside(one.job(5)):
        audit(29)
    rename(one, settings)
    for days_ago in (25, 20, 15):
        audit(days_ago)
    run("audit_storage")
    assert not fleet.clean_up_all()
