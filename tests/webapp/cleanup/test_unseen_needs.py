"""Files that somebody needs of whom little was seen: real audits, plans, applies and purges take
none of them.
"""

import os
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError
from django.utils import timezone

from tests.ingest.metadata import writing
from tests.selections import mostly_long
from tests.webapp.builders import cluster, fact, job, person
from tests.webapp.cleanup.test_repeated_job_ids import (
    NOW,
    OLD,
    REPEATED,
    Fleet,
    completed,
    ended,
    restored,
    tell,
)
from tests.webapp.cleanup.test_whole import home, run
from tests.webapp.cleanup.worlds import World, name_of_job
from webapp.cleanup import orders
from webapp.cleanup.models import CleanupPlan
from webapp.fleet.models import Cluster, JobCurrent
from webapp.storage.models import CheckpointStorage, StorageRoot

__all__ = ["home"]
pytestmark = pytest.mark.django_db(transaction=True)
NOTHING_COMPLETED = {
    "last_completed_id": None,
    "last_completed_at": None,
    "last_completed_path": None,
}
COMPLETED_ANYWHERE = {
    "last_completed_id": 9,
    "last_completed_at": NOW - timedelta(minutes=1),
    "last_completed_path": None,
}
DRAWN = int("9e107d9d372bb6826bd81d3542a419d6", 16)


def forked(fleet: Fleet) -> World:
    """Job 5 of app-x ended with chk-5, and job 7 of app-c was restored from it and is whole: chk-5
    is waste unless one more needs it.
    """
    origin, heir = fleet.application("app-x", 5), fleet.application("app-c", 7)
    origin.checkpoint(
        5, 5, [origin.file(origin.job(5) / "shared", at=OLD) for _ in range(2)], at=OLD
    )
    tell("app-x", state="CANCELED", terminal=True, **completed(origin, 5, OLD, 5))
    later = OLD + timedelta(days=2)
    heir.checkpoint(7, 6, [heir.file(heir.job(7) / "shared", at=later)], at=later)
    tell("app-c", **restored(origin, 5, OLD + timedelta(days=1), 5), **completed(heir, 6, later, 7))
    return origin


def audit(days_ago: int, *more: str) -> None:
    run("audit_storage", *more, "--as-of", (NOW - timedelta(days=days_ago)).isoformat())


def test_what_one_heir_has_left_behind_goes_where_there_is_no_other(home: Path) -> None:
    fleet = Fleet(home)
    forked(fleet)
    fleet.audit_twice()
    assert {path.name for path in fleet.clean_up_all()} > {"_metadata"}


@pytest.mark.parametrize("name", mostly_long(["link", "other authority", "copy"]))
def test_a_second_heir_that_was_restored_by_another_name_keeps_its_origin(
    home: Path, name: str
) -> None:
    fleet = Fleet(home)
    origin = forked(fleet)
    fleet.application("app-b", 8)
    (home / "mnt").symlink_to(origin.root)
    below = f"{name_of_job(5)}/chk-5"
    path = {
        "link": f"file:{home}/mnt/{below}",
        "other authority": f"hdfs://nn1.example:8020/flink/{below}",
        "copy": f"file:{home}/of-5",
    }
    tell(
        "app-b",
        restored_path=path[name],
        restored_checkpoint_id=5,
        restored_at=OLD + timedelta(days=3),
        **NOTHING_COMPLETED,
    )
    fleet.audit_twice()
    assert not fleet.clean_up_all()


def test_a_second_heir_by_another_name_that_appears_after_the_apply_stops_the_purge(
    home: Path,
) -> None:
    fleet = Fleet(home)
    origin = forked(fleet)
    fleet.application("app-b", 8)
    tell("app-b", state="CANCELED", terminal=True)
    (home / "mnt").symlink_to(origin.root)
    fleet.audit_twice()
    user = person("ada")
    user.is_superuser = True
    user.save()
    run("plan_cleanup", "--waste", "--json")
    plan = CleanupPlan.objects.exclude(files=0).get()
    orders.approve(plan, user, timezone.now())
    run("apply_cleanup", str(plan.name), "--apply", "--json")
    path = f"file:{home}/mnt/{name_of_job(5)}/chk-5"
    tell(
        "app-b",
        state="RUNNING",
        terminal=False,
        restored_path=path,
        restored_at=timezone.now(),
        **NOTHING_COMPLETED,
    )
    CleanupPlan.objects.update(purge_at=timezone.now())
    with pytest.raises(CommandError, match="may not be cleaned"):
        run("apply_cleanup", str(plan.name), "--purge", "--json")
    assert any(path.name == "_metadata" for path in origin.quarantine.rglob("*"))


def test_a_job_restored_from_nobody_knows_where_keeps_all_beside_an_old_checkpoint_of_its_own(
    home: Path,
) -> None:
    fleet = Fleet(home)
    forked(fleet)
    other, before = fleet.application("app-b"), OLD - timedelta(days=5)
    other.checkpoint(
        REPEATED, 50, [other.file(other.job(REPEATED) / "shared", at=before)], at=before
    )
    tell(
        "app-b",
        restored_path=None,
        restored_checkpoint_id=5,
        restored_at=OLD + timedelta(days=3),
        **completed(other, 50, before),
    )
    fleet.audit_twice()
    assert not fleet.clean_up_all()


def test_a_job_of_which_no_restore_was_read_though_flink_counts_one_keeps_all(home: Path) -> None:
    fleet = Fleet(home)
    forked(fleet)
    fleet.application("app-b", 8)
    counts = {"at": NOW.isoformat(), "total": 0, "restored": 1}
    tell(
        "app-b",
        restored_path=None,
        restored_at=None,
        restored_checkpoint_id=None,
        flink_counts=counts,
    )
    fleet.audit_twice()
    assert not fleet.clean_up_all()


def test_a_job_that_started_again_and_of_which_nothing_was_read_since_keeps_all(
    home: Path,
) -> None:
    fleet = Fleet(home)
    forked(fleet)
    other = fleet.application("app-b", start_time=NOW - timedelta(days=1))
    savepoint = "savepoint-123456-0123456789ab"
    other.savepoint(savepoint, [other.file(other.root / "x", at=OLD)], at=OLD)
    of_run_before = {
        "restored_path": f"file:{other.root}/{savepoint}",
        "restored_at": OLD,
        "flink_counts": {"at": OLD.isoformat(), "total": 0, "restored": 1},
    }
    tell("app-b", **of_run_before, **NOTHING_COMPLETED)
    fleet.audit_twice()
    assert not fleet.clean_up_all()


def test_a_checkpoint_of_another_application_does_not_stand_for_one_of_a_job_restored_from_nobody_knows_where(
    home: Path,
) -> None:
    fleet = Fleet(home)
    forked(fleet)
    other, lately = fleet.application("app-a"), NOW - timedelta(minutes=1)
    run("add_storage_root", str(other.root), "--attest", "olga", "--replace")
    other.checkpoint(REPEATED, 90, [other.file(other.job(REPEATED) / "shared", at=OLD)], at=lately)
    tell("app-a", **completed(other, 90, lately), restored_at=OLD, restored_path=None)
    cluster("app-b", at=timezone.now() + timedelta(days=1))
    restore = {"restored_path": None, "restored_at": OLD + timedelta(days=3)}
    job("app-b", at=timezone.now(), job_id=name_of_job(REPEATED), **restore, **NOTHING_COMPLETED)
    fleet.audit_twice()
    assert not fleet.clean_up_all()


def test_a_reader_by_another_name_that_writes_where_nobody_knows_keeps_its_origin(
    home: Path,
) -> None:
    """It may have claimed it, and may have completed any number of checkpoints since."""
    fleet = Fleet(home)
    origin = forked(fleet)
    fleet.application("app-b", 8)
    (home / "mnt").symlink_to(origin.root)
    tell(
        "app-b",
        restored_path=f"file:{home}/mnt/{name_of_job(5)}/chk-5",
        restored_at=OLD + timedelta(days=1),
        last_completed_id=9,
        last_completed_at=NOW - timedelta(minutes=1),
        last_completed_path=None,
    )
    fleet.audit_twice()
    assert not fleet.clean_up_all()


@pytest.mark.parametrize(
    ("place", "is_quarantine"),
    mostly_long(
        [
            (f"trash/{32 * '0a'}/0", True),
            ("inner.weir-quarantine/plan/0", True),
            (f"trash/{31 * '0a'}/0", False),
        ],
        spread=True,
    ),
)
def test_what_another_weir_moved_to_its_quarantine_stays_wherever_that_lies_below_a_root(
    home: Path, place: str, is_quarantine: bool
) -> None:
    """The checkpoint that it took of the job is no last one of which the other files are left."""
    fleet, later = Fleet(home), OLD + timedelta(days=5)
    ended = {"state": "CANCELED", "terminal": True, **NOTHING_COMPLETED}
    ended |= {"last_completed_id": 5, "last_completed_at": later}
    one = fleet.application("app-a", 5, end_time=NOW - timedelta(days=9), **ended)
    one.job(5).rmdir()
    moved = one.root / place / name_of_job(5)
    one.snapshot(moved / "chk-5", 5, [one.file(moved / "shared", at=later)], at=later)
    orphan = one.file(moved / "shared", at=later)
    fleet.audit_twice()
    assert fleet.clean_up_all() == (set() if is_quarantine else {orphan})


def test_a_cluster_that_cannot_be_seen_may_have_an_heir_of_which_nobody_has_heard(
    home: Path,
) -> None:
    fleet = Fleet(home)
    forked(fleet)
    fleet.application("app-b", 8)
    Cluster.objects.filter(name="app-b").update(last_success_at=OLD, unreachable_since=OLD)
    JobCurrent.objects.filter(cluster="app-b").delete()
    fleet.audit_twice()
    assert not fleet.clean_up_all()


def test_a_failed_checkpoint_explains_no_unreadable_one_of_an_earlier_run(home: Path) -> None:
    fleet = Fleet(home)
    one = fleet.application("app-a")
    files = [one.file(one.job(REPEATED) / "shared", at=OLD) for _ in range(2)]
    metadata = one.checkpoint(REPEATED, 12, files, at=OLD) / "_metadata"
    newer = OLD + timedelta(days=40)
    one.checkpoint(REPEATED, 13, [one.file(one.job(REPEATED) / "shared", at=newer)], at=newer)
    tell("app-a", **ended(one, 13, newer))
    of = JobCurrent.objects.get(cluster="app-a")
    fact(of, 12, newer - timedelta(minutes=5), outcome="expired", reason="CHECKPOINT_EXPIRED")
    of_no_known_version = bytearray(metadata.read_bytes())
    of_no_known_version[4:8] = (77).to_bytes(4, "big")
    metadata.write_bytes(bytes(of_no_known_version))
    os.utime(metadata, (OLD.timestamp(), OLD.timestamp()))
    fleet.audit_twice()
    assert not fleet.clean_up_all()


@pytest.mark.parametrize("how", ["failover", "moved savepoint"])
def test_task_owned_files_stay_where_the_last_restore_does_not_tell_from_whom_a_job_stems(
    home: Path, how: str
) -> None:
    fleet = Fleet(home)
    one, heir = fleet.application("app-x", 5), fleet.application("app-b", 8)
    one.file(one.job(5) / "taskowned", at=OLD)
    tell("app-x", state="CANCELED", terminal=True, **completed(one, 5, OLD, 5))
    later = OLD + timedelta(days=2)
    heir.checkpoint(8, 9, [heir.file(heir.job(8) / "shared", at=later)], at=later)
    tell("app-b", **restored(heir, 9, later + timedelta(days=1), 8), **completed(heir, 9, later, 8))
    if how == "moved savepoint":
        tell(
            "app-b",
            restored_path=f"file:{one.root}/saved/before-upgrade",
            restored_at=OLD + timedelta(days=1),
        )
    fleet.audit_twice()
    assert not fleet.clean_up_all()


@pytest.mark.parametrize("how", mostly_long(["copy", "short", "wider root"]))
def test_that_a_vanished_checkpoint_referred_to_a_file_is_not_forgotten(
    home: Path, how: str
) -> None:
    fleet = Fleet(home)
    one = fleet.application("app-a", 5)
    first = one.checkpoint(
        5, 12, [one.file(one.job(5) / "shared", at=OLD) for _ in range(2)], at=OLD
    )
    one.checkpoint(5, 13, [one.file(one.job(5) / "shared", at=OLD)], at=OLD)
    tell("app-a", **({"state": "CANCELED", "terminal": True} | completed(one, 13, OLD, 5)))
    if how == "wider root":
        StorageRoot.objects.all().delete()
        run("add_storage_root", str(one.job(5)), "--attest", "olga", "--cluster", "app-a")
    audit(30)
    (first / "_metadata").unlink()
    audit(29)
    if how == "copy":
        (home / "copy").mkdir()
        audit(28, str(one.root), "--at", str(home / "copy"))
    elif how == "short":
        aside = one.job(5).rename(home / "aside")
        audit(28)
        aside.rename(one.job(5))
    else:
        StorageRoot.objects.all().delete()
        run("add_storage_root", str(one.root), "--attest", "olga", "--cluster", "app-a")
    audit(20)
    run("audit_storage")
    assert not fleet.clean_up_all()


def test_an_heir_of_a_later_run_leaves_nothing_of_the_run_before_behind(home: Path) -> None:
    fleet = Fleet(home)
    one, heir = fleet.application("app-a"), fleet.application("app-y", 7)
    before = OLD - timedelta(days=9)
    of_first_run = [one.file(one.job(REPEATED) / "shared", at=before) for _ in range(2)]
    one.checkpoint(REPEATED, 40, of_first_run, at=before)
    one.checkpoint(REPEATED, 50, [one.file(one.job(REPEATED) / "shared", at=OLD)], at=OLD)
    tell("app-a", **ended(one, 50))
    later = OLD + timedelta(days=2)
    heir.checkpoint(7, 51, [heir.file(heir.job(7) / "shared", at=later)], at=later)
    tell("app-y", **restored(one, 50, OLD + timedelta(days=1)), **completed(heir, 51, later, 7))
    fleet.audit_twice()
    gone = fleet.clean_up_all()
    assert gone and not gone.intersection(of_first_run)


def test_a_second_writer_of_a_shared_directory_is_not_forgotten_with_its_row(home: Path) -> None:
    fleet = Fleet(home)
    shared, heir = fleet.application("app-a"), fleet.application("app-y", 7)
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
    shared.checkpoint(
        REPEATED,
        9,
        [shared.file(shared.job(REPEATED) / "shared", at=OLD) for _ in range(2)],
        at=OLD,
    )
    shared.checkpoint(REPEATED, 50, [shared.file(shared.job(REPEATED) / "shared", at=OLD)], at=OLD)
    tell("app-a", **ended(shared, 50))
    later = OLD + timedelta(days=2)
    heir.checkpoint(7, 51, [heir.file(heir.job(7) / "shared", at=later)], at=later)
    tell("app-y", **restored(shared, 50, OLD + timedelta(days=1)), **completed(heir, 51, later, 7))
    of_other = job(
        "app-b",
        at=timezone.now(),
        job_id=name_of_job(REPEATED),
        state="CANCELED",
        terminal=True,
        **completed(shared, 9),
    )
    fleet.audit_twice()
    of_other.delete()
    run("audit_storage")
    assert not fleet.clean_up_all()


def test_an_old_checkpoint_of_a_higher_number_does_not_stand_for_the_newest_one(home: Path) -> None:
    fleet = Fleet(home)
    world = fleet.application("app-a")
    before = OLD - timedelta(days=9)
    lately = NOW - timedelta(days=31)
    world.checkpoint(
        REPEATED, 50, [world.file(world.job(REPEATED) / "shared", at=before)], at=before
    )
    newest = world.checkpoint(
        REPEATED,
        7,
        [world.file(world.job(REPEATED) / "shared", at=OLD) for _ in range(2)],
        at=lately,
    )
    tell("app-a", **completed(world, 7, lately), start_time=OLD)
    newest.rename(home / "between-two-listings")
    audit(30)
    tell("app-a", **completed(world, 8, NOW - timedelta(hours=1)))
    run("audit_storage")
    assert not fleet.clean_up_all()


def test_a_checkpoint_with_a_reference_that_is_no_path_is_not_called_self_contained(
    home: Path,
) -> None:
    fleet = Fleet(home)
    one = fleet.application("app-a", 5)
    folder, own = one.job(5) / "chk-3", one.file(one.job(5) / "shared", at=OLD)
    folder.mkdir()
    shared = {
        "1.sst": writing.file(10, f"file:{own}"),
        "2.sst": writing.file(7, "alluxio-cache:somewhere/else/1"),
    }
    state = writing.incremental(writing.byte_stream("meta", b"meta"), shared, {}, new=True)
    subtask = writing.operator(4, [writing.subtask(4, 0, keyed=state)])
    (folder / "_metadata").write_bytes(writing.metadata(4, [subtask], checkpoint=3))
    tell("app-a", **completed(one, 3, OLD, 5))
    fleet.audit_twice()
    found = CheckpointStorage.objects.latest("id")
    assert (found.self_contained, found.resolvable) == (False, None)


@pytest.mark.parametrize("number", mostly_long([REPEATED, DRAWN], ids=["repeated", "drawn"]))
def test_a_reader_of_the_same_id_by_another_name_that_writes_where_nobody_knows_keeps_its_origin(
    home: Path, number: int
) -> None:
    fleet = Fleet(home)
    origin = fleet.application("app-x", number, state="CANCELED", terminal=True)
    origin.checkpoint(number, 5, [origin.file(origin.job(number) / "shared", at=OLD)], at=OLD)
    tell("app-x", **completed(origin, 5, OLD, number), start_time=OLD - timedelta(days=1))
    heir, later = fleet.application("app-c", 7), OLD + timedelta(days=2)
    heir.checkpoint(7, 6, [heir.file(heir.job(7) / "shared", at=later)], at=later)
    of_restore = restored(origin, 5, OLD + timedelta(days=1), number)
    tell("app-c", **of_restore, **completed(heir, 6, later, 7))
    fleet.application("app-b", number)
    (home / "mnt").symlink_to(origin.root)
    path = f"file:{home}/mnt/{name_of_job(number)}/chk-5"
    tell("app-b", **of_restore | {"restored_path": path}, **COMPLETED_ANYWHERE)
    fleet.audit_twice()
    assert not fleet.clean_up_all()


def test_a_job_that_was_restored_from_and_writes_where_nobody_knows_keeps_all(home: Path) -> None:
    fleet = Fleet(home)
    forked(fleet)
    fleet.application("app-b", 8)
    tell("app-b", restored_path=None, restored_at=OLD + timedelta(days=1), **COMPLETED_ANYWHERE)
    fleet.audit_twice()
    assert not fleet.clean_up_all()


def test_an_heir_that_ended_and_of_which_no_checkpoint_was_read_keeps_its_origin(
    home: Path,
) -> None:
    """It may have claimed it, and left one that was put elsewhere."""
    fleet = Fleet(home)
    origin = forked(fleet)
    fleet.application("app-b", 8)
    of_restore = restored(origin, 5, OLD + timedelta(days=1), 5)
    tell("app-b", state="CANCELED", terminal=True, **of_restore, **NOTHING_COMPLETED)
    fleet.audit_twice()
    assert not fleet.clean_up_all()


def test_it_goes_where_all_of_that_heir_was_read_and_it_completed_none(home: Path) -> None:
    fleet = Fleet(home)
    origin = forked(fleet)
    fleet.application("app-b", 8)
    counts = {"at": NOW.isoformat(), "total": 0, "restored": 1}
    tell("app-b", state="FAILED", terminal=True, end_time=OLD, flink_counts=counts)
    tell("app-b", **restored(origin, 5, OLD + timedelta(days=1), 5), **NOTHING_COMPLETED)
    fleet.audit_twice()
    assert {path.name for path in fleet.clean_up_all()} > {"_metadata"}


def test_an_heir_that_ended_by_another_name_of_its_origin_keeps_it_where_its_last_was_put_elsewhere(
    home: Path,
) -> None:
    fleet = Fleet(home)
    origin, other = forked(fleet), fleet.application("app-b", 8)
    (home / "mnt").symlink_to(origin.root)
    later = OLD + timedelta(days=2)
    own = other.file(other.job(8) / "shared", at=later)
    other.checkpoint(8, 9, [own], at=later).rename(home / "put-elsewhere")
    tell(
        "app-b",
        state="CANCELED",
        terminal=True,
        restored_path=f"file:{home}/mnt/{name_of_job(5)}/chk-5",
        restored_at=OLD + timedelta(days=1),
        **completed(other, 9, later, 8),
    )
    fleet.audit_twice()
    assert not fleet.clean_up_all()


@pytest.mark.parametrize("forgotten", mostly_long(["cluster", "job", "restored again"]))
def test_an_heir_that_is_not_whole_is_remembered_by_audits(home: Path, forgotten: str) -> None:
    fleet = Fleet(home)
    origin = forked(fleet)
    fleet.application("app-b", 8)
    tell("app-b", **restored(origin, 5, OLD + timedelta(days=1), 5), **NOTHING_COMPLETED)
    audit(40)
    if forgotten == "restored again":
        path = f"file:{origin.root}/savepoint-123456-0123456789ab"
        origin.savepoint(path.rpartition("/")[2], [origin.file(origin.root / "x")], at=OLD)
        tell("app-b", restored_path=path, restored_at=OLD + timedelta(days=3))
    else:
        JobCurrent.objects.filter(cluster="app-b").delete()
    if forgotten == "cluster":
        Cluster.objects.get(name="app-b").delete()
    fleet.audit_twice()
    assert not fleet.clean_up_all()


def test_a_cluster_that_is_known_by_its_history_alone_may_have_an_heir_that_runs(
    home: Path,
) -> None:
    fleet = Fleet(home)
    forked(fleet)
    Cluster.objects.filter(name="app-x").update(url="", history_url="http://127.0.0.1:8082")
    fleet.audit_twice()
    assert not fleet.clean_up_all()


def test_what_a_job_that_writes_outside_of_the_roots_without_a_level_of_jobs_refers_to_stays(
    home: Path,
) -> None:
    fleet = Fleet(home)
    one, other = fleet.application("app-a", 5), fleet.application("app-d", 8)
    needed, own = (one.file(one.job(5) / "shared", at=OLD) for _ in range(2))
    one.checkpoint(5, 5, [own], at=OLD)
    tell("app-a", state="CANCELED", terminal=True, **completed(one, 5, OLD, 5))
    other.snapshot(home / "elsewhere" / "chk-9", 9, [needed], at=OLD)
    path = f"file:{home}/elsewhere/chk-9"
    tell("app-d", state="CANCELED", terminal=True, last_completed_id=9)
    tell("app-d", last_completed_at=OLD, last_completed_path=path)
    fleet.audit_twice()
    assert not fleet.clean_up_all()
