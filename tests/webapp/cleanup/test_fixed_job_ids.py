"""Ids of jobs that are given and not drawn, which come again in one directory and on other
clusters: real audits, plans, purges.
"""

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from tests.selections import mostly_long
from tests.webapp.builders import cluster, job
from tests.webapp.cleanup.test_repeated_job_ids import NOW, OLD, Fleet, completed, restored, tell
from tests.webapp.cleanup.test_whole import home, run
from tests.webapp.cleanup.worlds import World, name_of_job
from webapp.fleet.models import Cluster
from webapp.storage.models import StorageRoot

__all__ = ["home"]
pytestmark = pytest.mark.django_db(transaction=True)

OF_HA_CLUSTER = int("ffffffffad6e0a3c0000000000000000", 16)
"""As Flink 1.20 makes it of the name of a highly available cluster."""
OF_SESSION_JOB = int("ffffffff8a1b2c3d0000000000000002", 16)
"""As the Kubernetes operator makes it of a resource and its generation."""
CHOSEN, DRAWN = 0xCDC01, int("9e107d9d372bb6826bd81d3542a419d6", 16)
"""``$internal.pipeline.job-id``: anything; operators draw one and use it again for each run."""
FIXED = pytest.mark.parametrize(
    "number",
    mostly_long(
        [OF_HA_CLUSTER, DRAWN, OF_SESSION_JOB, CHOSEN],
        ids=["ha", "drawn", "session", "chosen"],
    ),
)
COMES_AGAIN = pytest.mark.parametrize(
    "number",
    mostly_long([OF_HA_CLUSTER, OF_SESSION_JOB, CHOSEN], ids=["ha", "session", "chosen"]),
)
ENDED = {"state": "CANCELED", "terminal": True}


def audit(days_ago: int) -> None:
    run("audit_storage", "--as-of", (NOW - timedelta(days=days_ago)).isoformat())


def write(world: World, number: int, checkpoint: int, at: object = OLD) -> list[Path]:
    """A checkpoint with two files of its own, which are returned."""
    files = [world.file(world.job(number) / "shared", at=at) for _ in range(2)]  # type: ignore[arg-type]
    world.checkpoint(number, checkpoint, files, at=at)  # type: ignore[arg-type]
    return files


def succeed(fleet: Fleet, origin: World, number: int, checkpoint: int) -> None:
    """Job 7 of app-y was restored from that checkpoint and is whole."""
    heir, later = fleet.application("app-y", 7), OLD + timedelta(days=2)
    write(heir, 7, checkpoint + 1, later)
    tell(
        "app-y",
        **restored(origin, checkpoint, OLD + timedelta(days=1), number),
        **completed(heir, checkpoint + 1, later, 7),
    )


@FIXED
def test_what_a_run_left_to_its_heir_goes(home: Path, number: int) -> None:
    fleet = Fleet(home)
    one = fleet.application("app-a", number, **ENDED, start_time=OLD - timedelta(days=1))
    left = write(one, number, 50)
    tell("app-a", **completed(one, 50, OLD, number))
    succeed(fleet, one, number, 50)
    fleet.audit_twice()
    assert fleet.clean_up_all() == {*left, one.job(number) / "chk-50" / "_metadata"}


@FIXED
def test_an_earlier_run_whose_checkpoint_has_a_higher_number_does_not_stand_for_the_last_one(
    home: Path, number: int
) -> None:
    fleet = Fleet(home)
    one, before = fleet.application("app-a", number), OLD - timedelta(days=9)
    write(one, number, 50, before)
    write(one, number, 13)
    tell("app-a", **ENDED, **completed(one, 13, OLD, number), start_time=OLD - timedelta(days=1))
    (one.job(number) / "chk-13").rename(home / "put-elsewhere")
    fleet.audit_twice()
    assert not fleet.clean_up_all()


@COMES_AGAIN
def test_a_second_cluster_that_wrote_to_the_directory_is_not_forgotten_with_its_row(
    home: Path, number: int
) -> None:
    fleet = Fleet(home)
    shared = fleet.application("app-a", number)
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
    write(shared, number, 9)
    write(shared, number, 50)
    tell("app-a", **ENDED, **completed(shared, 50, OLD, number))
    succeed(fleet, shared, number, 50)
    of_other = job(
        "app-b",
        at=timezone.now(),
        job_id=name_of_job(number),
        **ENDED,
        **completed(shared, 9, OLD, number),
    )
    fleet.audit_twice()
    of_other.delete()
    run("audit_storage")
    assert not fleet.clean_up_all()


@pytest.mark.parametrize("forgotten", mostly_long(["job", "cluster"]))
@pytest.mark.parametrize("number", [OF_HA_CLUSTER, DRAWN], ids=["ha", "drawn"])
def test_a_second_writer_of_the_same_time_is_remembered_by_audits(
    home: Path, number: int, forgotten: str
) -> None:
    """Checkpoint 9 is of another cluster, and looks like an earlier one of the run that is known."""
    fleet = Fleet(home)
    shared = fleet.application("app-a", number, start_time=OLD - timedelta(days=5))
    cluster("app-b", at=timezone.now() + timedelta(days=1))
    register = ("add_storage_root", str(shared.root), "--attest", "olga", "--replace")
    run(*register, "--cluster", "app-a", "--cluster", "app-b")
    before = OLD - timedelta(days=1)
    needed = write(shared, number, 9, before)
    write(shared, number, 50)
    tell("app-a", **ENDED, **completed(shared, 50, OLD, number))
    of_other = completed(shared, 9, before, number)
    other = job("app-b", at=timezone.now(), job_id=name_of_job(number), **ENDED, **of_other)
    succeed(fleet, shared, number, 50)
    audit(40)
    other.delete()
    if forgotten == "cluster":
        Cluster.objects.get(name="app-b").delete()
        assert not StorageRoot.objects.get(uri=f"file:{shared.root}").is_attested
        run(*register, "--cluster", "app-a")
    fleet.audit_twice()
    assert not fleet.clean_up_all() & {*needed, shared.job(number) / "chk-9" / "_metadata"}


@FIXED
@pytest.mark.parametrize("days", [-9, 9])
def test_what_a_run_before_or_after_the_one_that_is_known_wrote_stays(
    home: Path, number: int, days: int
) -> None:
    """Another cluster, which nobody remembers, ran a job of that id in this directory: its
    checkpoint 9 has no heir.
    """
    fleet = Fleet(home)
    shared = fleet.application("app-a", number, **ENDED, start_time=OLD - timedelta(days=1))
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
    needed = write(shared, number, 9, OLD + timedelta(days=days))
    write(shared, number, 50)
    tell("app-a", **completed(shared, 50, OLD, number))
    heir, later = fleet.application("app-y", 7), OLD + timedelta(days=20)
    write(heir, 7, 51, later)
    tell(
        "app-y",
        **restored(shared, 50, OLD + timedelta(days=19), number),
        **completed(heir, 51, later, 7),
    )
    fleet.audit_twice()
    assert not fleet.clean_up_all() & {*needed, shared.job(number) / "chk-9" / "_metadata"}


@FIXED
def test_one_id_in_two_roots_of_two_clusters_is_two_jobs(home: Path, number: int) -> None:
    fleet = Fleet(home)
    one, other = fleet.application("app-a", number, **ENDED), fleet.application("app-b", number)
    needed = [*write(one, number, 50), *write(other, number, 50)]
    tell("app-a", **completed(one, 50, OLD, number))
    tell("app-b", **ENDED, **completed(other, 50, OLD, number))
    left = one.file(one.job(number) / "shared", at=OLD)
    succeed(fleet, other, number, 50)
    fleet.audit_twice()
    gone = fleet.clean_up_all()
    assert left in gone and not gone & {*needed[:2], one.job(number) / "chk-50" / "_metadata"}


def write_two_runs(
    fleet: Fleet, number: int, **of_restore: object
) -> tuple[World, list[Path], Path]:
    """The last checkpoint of the first run was put elsewhere before any audit; returns its files,
    and one that the second left.
    """
    one, before = fleet.application("app-a", number), OLD - timedelta(days=9)
    needed = write(one, number, 50, before)
    write(one, number, 13)
    left = one.file(one.job(number) / "shared", at=OLD)
    (one.job(number) / "chk-50").rename(fleet.home / "put-elsewhere")
    tell(
        "app-a",
        **ENDED,
        **completed(one, 13, OLD, number),
        **of_restore,
        start_time=OLD - timedelta(days=1),
    )
    return one, needed, left


@FIXED
@pytest.mark.parametrize("restored_path", mostly_long([None, "savepoint-123456-0123456789ab"]))
def test_files_of_a_run_that_nobody_remembers_stay_beside_those_of_the_one_that_began_afresh(
    home: Path, number: int, restored_path: str | None
) -> None:
    fleet = Fleet(home)
    one, needed, left = write_two_runs(fleet, number)
    if restored_path:
        one.savepoint(restored_path, [one.file(one.root / "x", at=OLD)], at=OLD)
        tell(
            "app-a",
            restored_path=f"file:{one.root}/{restored_path}",
            restored_at=OLD - timedelta(days=1),
        )
    fleet.audit_twice()
    gone = fleet.clean_up_all()
    assert left in gone and not gone & {*needed}


@FIXED
def test_a_job_that_another_jobmanager_took_over_is_the_same_run(home: Path, number: int) -> None:
    fleet = Fleet(home)
    one, left_before, left = write_two_runs(fleet, number)
    tell("app-a", **restored(one, 12, OLD - timedelta(days=1), number))
    fleet.audit_twice()
    assert fleet.clean_up_all() == {left, *left_before}


@FIXED
@pytest.mark.parametrize(
    "clusters", mostly_long([["app-a"], ["app-a", "app-b"]], ids=["one", "two"])
)
def test_what_was_written_after_the_known_run_had_ended_stays(
    home: Path, number: int, clusters: list[str]
) -> None:
    """By a run of which nobody heard, whose last checkpoint was put elsewhere."""
    fleet = Fleet(home)
    of_run = {"start_time": OLD - timedelta(days=1), "end_time": OLD}
    one = fleet.application("app-a", number, **ENDED, **of_run)
    if len(clusters) > 1:
        cluster("app-b", at=timezone.now() + timedelta(days=1))
    named = [word for name in clusters for word in ("--cluster", name)]
    run("add_storage_root", str(one.root), "--attest", "olga", "--replace", *named)
    write(one, number, 50)
    left = one.file(one.job(number) / "shared", at=OLD)
    tell("app-a", **completed(one, 50, OLD, number))
    needed = write(one, number, 9, OLD + timedelta(days=9))
    (one.job(number) / "chk-9").rename(home / "put-elsewhere")
    fleet.audit_twice()
    gone = fleet.clean_up_all()
    assert not gone & {*needed} and (left in gone or (len(clusters) > 1 and number != DRAWN))


@FIXED
def test_that_a_run_began_afresh_is_not_forgotten_when_another_jobmanager_takes_over(
    home: Path, number: int
) -> None:
    fleet = Fleet(home)
    one, needed, left = write_two_runs(fleet, number)
    audit(40)
    start, last = NOW - timedelta(days=35), NOW - timedelta(days=34)
    write(one, number, 14, last)
    tell(
        "app-a",
        **restored(one, 13, start, number),
        **completed(one, 14, last, number),
        start_time=start,
    )
    fleet.audit_twice()
    gone = fleet.clean_up_all()
    assert left in gone and not gone & {*needed}


def test_of_a_directory_of_two_clusters_the_last_checkpoint_alone_is_surely_of_the_job(
    home: Path,
) -> None:
    """Checkpoint 9 is of another one, of which no audit heard, and of the same time."""
    fleet = Fleet(home)
    shared = fleet.application("app-a", DRAWN, start_time=OLD - timedelta(days=5))
    cluster("app-b", at=timezone.now() + timedelta(days=1))
    register = ("add_storage_root", str(shared.root), "--attest", "olga", "--replace")
    run(*register, "--cluster", "app-a", "--cluster", "app-b")
    needed = write(shared, DRAWN, 9, OLD - timedelta(days=1))
    left = write(shared, DRAWN, 50)
    tell("app-a", **ENDED, **completed(shared, 50, OLD, DRAWN))
    succeed(fleet, shared, DRAWN, 50)
    fleet.audit_twice()
    gone = fleet.clean_up_all()
    assert {*left} < gone and not gone & {*needed, shared.job(DRAWN) / "chk-9" / "_metadata"}


@pytest.mark.parametrize("is_seen_before", [False, True])
def test_that_a_run_went_on_is_not_forgotten_when_it_is_restored_again(
    home: Path, is_seen_before: bool
) -> None:
    """Where no audit saw it, it may have begun afresh."""
    fleet = Fleet(home)
    one, left_before, left = write_two_runs(fleet, DRAWN)
    tell("app-a", **restored(one, 12, OLD - timedelta(days=1), DRAWN))
    if is_seen_before:
        audit(40)
    tell("app-a", **restored(one, 13, OLD - timedelta(hours=1), DRAWN))
    fleet.audit_twice()
    assert fleet.clean_up_all() == {left, *(left_before if is_seen_before else ())}


@FIXED
@pytest.mark.parametrize("is_afresh", [True, False])
def test_what_a_run_was_restored_from_is_not_left_behind_by_the_next_one_that_began_afresh(
    home: Path, number: int, is_afresh: bool
) -> None:
    """Its row still says from what the run before it was restored."""
    fleet = Fleet(home)
    origin, heir = fleet.application("app-x", 5), fleet.application("app-b", number)
    left = write(origin, 5, 5)
    tell("app-x", **ENDED, **completed(origin, 5, OLD, 5))
    restored_at, later = OLD + timedelta(days=1), OLD + timedelta(days=4)
    write(heir, number, 9, later)
    began = restored_at + timedelta(days=2 if is_afresh else 0)
    counts = {"at": NOW.isoformat(), "total": 9, "restored": int(not is_afresh)}
    tell("app-b", start_time=began, flink_counts=counts, **restored(origin, 5, restored_at, 5))
    tell("app-b", **completed(heir, 9, later, number))
    fleet.audit_twice()
    gone = fleet.clean_up_all()
    assert not gone if is_afresh else gone > {*left}


@FIXED
def test_files_of_a_run_stay_that_was_restored_from_its_own_before_the_next_one_began_afresh(
    home: Path, number: int
) -> None:
    fleet = Fleet(home)
    one, needed, left = write_two_runs(fleet, number)
    tell("app-a", **restored(one, 12, OLD - timedelta(days=9), number))
    fleet.audit_twice()
    gone = fleet.clean_up_all()
    assert left in gone and not gone & {*needed}
