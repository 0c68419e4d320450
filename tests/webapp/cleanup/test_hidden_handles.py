"""Files that operators and backends know of and no reader of ``_metadata`` sees: real audits,
plans, applies and purges.
"""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.ingest.metadata import writing as w
from tests.selections import mostly_long
from tests.webapp.builders import cluster, fact
from tests.webapp.cleanup.test_fixed_job_ids import DRAWN
from tests.webapp.cleanup.test_repeated_job_ids import NOW, OLD, Fleet, completed, restored, tell
from tests.webapp.cleanup.test_unseen_needs import audit
from tests.webapp.cleanup.test_whole import home, run
from tests.webapp.cleanup.worlds import World, date, name_of_job
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import Cluster, JobCurrent
from webapp.storage.models import StorageRoot

__all__ = ["home"]
pytestmark = pytest.mark.django_db(transaction=True)

LATER = OLD + timedelta(days=2)
FINISHED = {"state": "FINISHED", "terminal": True}
NEVER_RESTORED = {"flink_counts": {"at": NOW.isoformat(), "total": 1, "restored": 0}}
PLACES = ("taskowned", "dstl", "shared/job_5_op_0_1_1", "taskowned/job_5_tm_1")


def write_changelog(
    folder: Path, base: list[Path], changes: list[Path], at: datetime = OLD
) -> None:
    """A checkpoint of a changelog: what was materialised, and the changes since."""
    folder.mkdir(parents=True)
    shared = {
        f"{number:06}.sst": w.file(path.stat().st_size, f"file:{path}")
        for number, path in enumerate(base)
    }
    materialised = w.incremental(w.byte_stream("meta", b"meta"), shared, {}, new=True)
    logged = [(7, w.file(path.stat().st_size, f"file:{path}")) for path in changes]
    size = sum(path.stat().st_size for path in changes)
    delta = w.file_changes(
        logged, size, w.pack(">q", size) + w.utf("delta") + w.utf("filesystem"), tag=13
    )
    state = w.changelog(
        [materialised], [delta], w.pack(">qq", 3, 9) + w.utf("changelog"), tag=14, uploaded=5
    )
    subtask = w.operator(4, [w.subtask(4, 0, keyed=state)])
    (folder / "_metadata").write_bytes(w.metadata(4, [subtask], checkpoint=9))
    date(folder / "_metadata", at)


def write_dead_job(fleet: Fleet) -> tuple[World, set[Path]]:
    """Job 5 of app-a finished and left a file at each of these places."""
    one = fleet.application("app-a", 5)
    hidden = {one.file(one.job(5) / place, at=OLD) for place in PLACES}
    tell("app-a", **FINISHED, **completed(one, 5, OLD, 5), **NEVER_RESTORED)
    return one, hidden


def test_what_a_dead_job_left_goes_where_nothing_stems_from_it(home: Path) -> None:
    fleet = Fleet(home)
    _, hidden = write_dead_job(fleet)
    fleet.audit_twice()
    assert fleet.clean_up_all() == hidden


def test_it_stays_where_a_job_of_which_nobody_heard_left_a_later_checkpoint(
    home: Path,
) -> None:
    fleet = Fleet(home)
    one, hidden = write_dead_job(fleet)
    one.checkpoint(9, 6, [one.file(one.job(9) / "shared", at=LATER)], at=LATER)
    fleet.audit_twice()
    assert not hidden & fleet.clean_up_all()


@pytest.mark.parametrize("needs", ["files of the other root", "own files alone"])
def test_it_stays_where_the_root_with_the_checkpoint_of_an_heir_is_forgotten_as_the_heir_is(
    home: Path, needs: str
) -> None:
    fleet = Fleet(home)
    one, hidden = write_dead_job(fleet)
    heir = fleet.application("app-c", 8)
    tell(
        "app-c",
        state="CANCELED",
        terminal=True,
        **restored(one, 5, OLD, 5),
        **completed(heir, 7, LATER, 8),
    )
    of_one = [one.file(one.job(5) / "shared", at=OLD)] if needs == "files of the other root" else []
    heir.checkpoint(8, 7, [*of_one, heir.file(heir.job(8) / "shared", at=LATER)], at=LATER)
    audit(30)
    StorageRoot.objects.filter(uri=f"file:{heir.root}").delete()
    JobCurrent.objects.filter(cluster="app-c").delete()
    audit(20)
    run("audit_storage")
    assert not hidden & fleet.clean_up_all()


def test_it_stays_where_the_job_between_is_forgotten(home: Path) -> None:
    fleet = Fleet(home)
    _, hidden = write_dead_job(fleet)
    between, heir = fleet.application("app-b", 7), fleet.application("app-c", 8)
    tell(
        "app-b",
        **FINISHED,
        **restored(fleet.worlds["app-a"], 5, OLD, 5),
        **completed(between, 6, OLD, 7),
    )
    tell("app-c", **restored(between, 6, OLD, 7), **completed(heir, 7, LATER, 8))
    heir.checkpoint(8, 7, [heir.file(heir.job(8) / "shared", at=LATER)], at=LATER)
    JobCurrent.objects.filter(cluster="app-b").delete()
    fleet.audit_twice()
    assert not hidden & fleet.clean_up_all()


def test_it_stays_where_a_savepoint_of_a_job_of_which_nobody_heard_lies(home: Path) -> None:
    fleet = Fleet(home)
    one, hidden = write_dead_job(fleet)
    one.savepoint("savepoint-abcdef-0123456789ab", [one.file(one.root / "x", at=LATER)], at=LATER)
    fleet.audit_twice()
    assert not hidden & fleet.clean_up_all()


def test_it_stays_where_the_checkpoint_of_an_heir_was_put_elsewhere(home: Path) -> None:
    fleet = Fleet(home)
    one, hidden = write_dead_job(fleet)
    heir = fleet.application("app-c", 8)
    tell(
        "app-c",
        state="CANCELED",
        terminal=True,
        **restored(one, 5, OLD, 5),
        **completed(heir, 7, LATER, 8),
    )
    moved = heir.checkpoint(8, 7, [heir.file(heir.job(8) / "shared", at=LATER)], at=LATER)
    audit(30)
    moved.rename(home / "put-elsewhere")
    for days_ago in (25, 20):
        audit(days_ago)
    run("audit_storage")
    assert not hidden & fleet.clean_up_all()


@pytest.mark.parametrize(
    "path",
    mostly_long(
        [
            "app-h/savepoint-9e107d-0123456789ab",
            "app-h/savepoint-abcdef-0123456789ab",
            "app-h/savepoint-000000-0123456789ab",
            f"app-q/{name_of_job(0)}/chk-5",
        ],
        short=2,
        ids=[
            "its own savepoint",
            "of a forgotten job",
            "of any given id",
            "of a given id elsewhere",
        ],
    ),
)
def test_it_stays_where_a_running_job_was_restored_from_what_tells_no_other_job_that_is_known(
    home: Path, path: str
) -> None:
    """That one may have been restored from anything."""
    fleet = Fleet(home)
    one, heir = fleet.application("app-a", 0xABC << 112), fleet.application("app-h", DRAWN)
    fleet.application("app-z", 0, **FINISHED, **NEVER_RESTORED)
    one.file(one.job(0xABC << 112) / "taskowned", at=OLD)
    tell("app-a", **FINISHED, **completed(one, 5, OLD, 0xABC << 112), **NEVER_RESTORED)
    heir.checkpoint(DRAWN, 9, [heir.file(heir.job(DRAWN) / "shared", at=LATER)], at=LATER)
    restore = {"restored_path": f"file:{home}/{path}", "restored_at": OLD + timedelta(days=1)}
    tell("app-h", **completed(heir, 9, LATER, DRAWN), **restore)
    fleet.audit_twice()
    assert not fleet.clean_up_all()


def test_it_goes_where_a_job_that_was_restored_from_anywhere_left_nothing(home: Path) -> None:
    fleet = Fleet(home)
    _, hidden = write_dead_job(fleet)
    fleet.application("app-h", DRAWN, **FINISHED, restored_at=OLD, restored_path=None)
    fleet.audit_twice()
    assert fleet.clean_up_all() == hidden


def test_it_stays_where_a_savepoint_was_written_outside_of_the_roots_however_long_ago(
    home: Path,
) -> None:
    fleet = Fleet(home)
    write_dead_job(fleet)
    fact(
        JobCurrent.objects.get(cluster="app-a"),
        6,
        NOW - timedelta(days=20),
        is_savepoint=True,
        external_path=f"file:{home}/elsewhere/savepoint-000000-0123456789ab",
    )
    fleet.audit_twice()
    assert not fleet.clean_up_all()


def test_both_parts_of_a_changelog_stay_that_an_heir_took_over(home: Path) -> None:
    fleet = Fleet(home)
    one, heir = fleet.application("app-a", 5), fleet.application("app-b", 7)
    base = [one.file(one.job(5) / "taskowned", at=OLD) for _ in range(2)]
    changes = [one.file(one.job(5) / "dstl", at=OLD) for _ in range(2)]
    unsaid = [one.file(one.job(5) / place, at=OLD) for place in ("taskowned", "dstl")]
    tell("app-a", state="CANCELED", terminal=True, **completed(one, 8, OLD, 5), **NEVER_RESTORED)
    write_changelog(heir.job(7) / "chk-9", base, changes, LATER)
    tell("app-b", **restored(one, 8, OLD + timedelta(days=1), 5), **completed(heir, 9, LATER, 7))
    fleet.audit_twice()
    assert not fleet.clean_up_all() & {*base, *changes, *unsaid}


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_changelog_stays_that_lies_below_another_root_than_its_checkpoints(
    home: Path, is_terminal: bool
) -> None:
    fleet = Fleet(home)
    one = fleet.application("app-a", 5)
    cluster("app-l", at=NOW + timedelta(days=1))
    logs = World(home / "logs")
    logs.root.mkdir()
    run("add_storage_root", str(logs.root), "--attest", "olga", "--cluster", "app-a")
    fleet.worlds["logs"] = logs
    changes = [logs.file(logs.job(5) / "dstl", at=OLD) for _ in range(3)]
    write_changelog(one.job(5) / "chk-9", [one.file(one.job(5) / "taskowned", at=OLD)], changes[:2])
    tell("app-a", **completed(one, 9, OLD, 5), **NEVER_RESTORED)
    if is_terminal:
        tell("app-a", state="CANCELED", terminal=True)
    fleet.audit_twice()
    assert not fleet.clean_up_all()


def test_a_changelog_stays_whose_base_is_referred_to_by_a_checkpoint_that_was_moved(
    home: Path,
) -> None:
    fleet = Fleet(home)
    one = fleet.application("app-a", 5)
    base = one.file(one.job(5) / "taskowned", at=OLD)
    changes = one.file(one.job(5) / "dstl", at=OLD)
    write_changelog(one.root / "put-elsewhere" / "before-upgrade", [base], [changes])
    tell("app-a", **FINISHED, **completed(one, 9, OLD, 5), **NEVER_RESTORED)
    fleet.audit_twice()
    assert not fleet.clean_up_all()


@pytest.mark.parametrize("is_attested_again", [False, True])
def test_it_stays_where_a_savepoint_was_written_outside_of_the_roots_and_is_forgotten(
    home: Path, is_attested_again: bool
) -> None:
    fleet = Fleet(home)
    one, hidden = write_dead_job(fleet)
    path = f"file:{home}/elsewhere/savepoint-000000-0123456789ab"
    of_one = JobCurrent.objects.get(cluster="app-a")
    fact(of_one, 6, NOW - timedelta(days=200), is_savepoint=True, external_path=path)
    audit(60)
    CheckpointFact.objects.all().delete()
    audit(30)
    run("audit_storage")
    if is_attested_again:
        again = ("--attest", "olga", "--replace")
        run("add_storage_root", str(one.root), *again, "--cluster", "app-a")
        run("audit_storage")
    assert fleet.clean_up_all() == (hidden if is_attested_again else set())


def test_it_stays_where_a_cluster_cannot_be_seen(home: Path) -> None:
    """One of its jobs may stem from the dead one."""
    fleet = Fleet(home)
    write_dead_job(fleet)
    fleet.application("app-b", 8)
    Cluster.objects.filter(name="app-b").update(last_success_at=OLD, unreachable_since=OLD)
    JobCurrent.objects.filter(cluster="app-b").delete()
    fleet.audit_twice()
    assert not fleet.clean_up_all()


@pytest.mark.parametrize("below", ["savepoint-000000-0123456789ab", f"{name_of_job(5)}/chk-5"])
def test_it_stays_where_a_job_was_restored_from_a_snapshot_outside_of_the_roots(
    home: Path, below: str
) -> None:
    """That job is over; the snapshot lies there still."""
    fleet = Fleet(home)
    write_dead_job(fleet)
    path = f"file:{home}/archive/{below}"
    fleet.application("app-c", 8, **FINISHED, restored_path=path, restored_at=OLD)
    fleet.audit_twice()
    assert not fleet.clean_up_all()
