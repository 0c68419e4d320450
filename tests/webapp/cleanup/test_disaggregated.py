"""ForSt, whose database lies in checkpoint storage and may read the files of a checkpoint that it
was restored from while it runs.
"""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.webapp.cleanup.test_repeated_job_ids import OLD, Fleet, completed, restored, tell
from tests.webapp.cleanup.test_unseen_needs import forked
from tests.webapp.cleanup.test_whole import home
from tests.webapp.cleanup.worlds import name_of_job

__all__ = ["home"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    ("backend", "version"),
    [
        ("ForStStateBackend", "2.1.0"),
        ("org.apache.flink.state.forst.ForStStateBackend", "2.1.0"),
        (None, "2.1.0"),
        (None, None),
    ],
)
def test_what_a_database_was_restored_from_stays_while_its_job_runs_although_its_checkpoints_are_whole(
    home: Path, backend: str | None, version: str | None
) -> None:
    fleet = Fleet(home)
    forked(fleet)
    tell("app-c", checkpoint_config={"state_backend": backend}, flink_version=version)
    fleet.audit_twice()
    assert not fleet.clean_up_all()


def test_it_stays_where_another_database_was_restored_from_it_by_another_name(home: Path) -> None:
    fleet = Fleet(home)
    origin, other = forked(fleet), fleet.application("app-b", 8)
    (home / "mnt").symlink_to(origin.root)
    later = OLD + timedelta(days=2)
    other.checkpoint(8, 9, [other.file(other.job(8) / "shared", at=later)], at=later)
    tell(
        "app-b",
        restored_path=f"file:{home}/mnt/{name_of_job(5)}/chk-5",
        restored_at=OLD + timedelta(days=1),
        checkpoint_config={"state_backend": "ForStStateBackend"},
        **completed(other, 9, later, 8),
    )
    fleet.audit_twice()
    assert not fleet.clean_up_all()


@pytest.mark.parametrize("ended", [False, True], ids=["other backend", "ended"])
def test_it_goes_where_the_job_copied_it_or_has_ended(home: Path, ended: bool) -> None:
    fleet = Fleet(home)
    forked(fleet)
    if ended:
        tell(
            "app-c",
            state="CANCELED",
            terminal=True,
            checkpoint_config={"state_backend": "ForStStateBackend"},
        )
    else:
        tell("app-c", checkpoint_config={"state_backend": "EmbeddedRocksDBStateBackend"})
    fleet.audit_twice()
    assert {path.name for path in fleet.clean_up_all()} > {"_metadata"}


WORKING = (
    "shared/op_Window_1__2__attempt_0/db",
    "op_Window_1__2__attempt_0/db",
    "shared/db",
    "db",
    "taskowned/db",
)


@pytest.mark.parametrize("terminal", [False, True])
def test_working_files_of_a_database_stay_while_its_job_runs(home: Path, terminal: bool) -> None:
    """Nothing but the files of attempts goes after its end."""
    fleet = Fleet(home)
    one = fleet.application("app-a", 5)
    working = {place: [one.file(one.job(5) / place, at=OLD) for _ in range(2)] for place in WORKING}
    for first, _ in working.values():
        first.rename(first.with_name("CURRENT"))
    one.checkpoint(5, 13, [one.file(one.job(5) / "shared", at=OLD)], at=OLD)
    tell(
        "app-a",
        terminal=terminal,
        state="CANCELED" if terminal else "RUNNING",
        end_time=OLD + timedelta(hours=1),
        **completed(one, 13, OLD, 5),
    )
    fleet.audit_twice()
    of_attempts = {working[place][1] for place in WORKING if "_attempt_" in place}
    assert fleet.clean_up_all() == (of_attempts if terminal else set())


def test_files_that_an_heir_took_over_stay_where_they_are(home: Path) -> None:
    """Claimed: the heir's checkpoints refer to files in the directory of the job before, some of
    them among its working files.
    """
    fleet = Fleet(home)
    one, heir = fleet.application("app-a", 5), fleet.application("app-b", 7)
    reused = [
        one.file(one.job(5) / place, at=OLD)
        for place in ("shared", "shared/op_Window_1__2__attempt_0/db")
    ]
    later = OLD + timedelta(days=2)
    heir.checkpoint(
        7,
        9,
        [*reused, heir.file(heir.job(7) / "shared/op_Window_1__2__attempt_1/db", at=later)],
        at=later,
    )
    tell("app-a", state="CANCELED", terminal=True, **completed(one, 8, OLD, 5))
    tell("app-b", **restored(one, 8, OLD + timedelta(days=1), 5), **completed(heir, 9, later, 7))
    fleet.audit_twice()
    assert not fleet.clean_up_all()
