"""Snapshots that jobs claim, share or leave, by pointers of any spelling, from roots that were
moved: real audits, plans and purges.
"""

import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.ingest.metadata import writing as w
from tests.selections import mostly_long
from tests.webapp.cleanup.test_repeated_job_ids import NOW, OLD, Fleet, completed, restored, tell
from tests.webapp.cleanup.test_unseen_needs import NOTHING_COMPLETED, audit, forked
from tests.webapp.cleanup.test_whole import home, run
from tests.webapp.cleanup.worlds import World, date, name_of_job
from webapp.storage.models import StorageRoot

__all__ = ["home"]
pytestmark = pytest.mark.django_db(transaction=True)

LATER = OLD + timedelta(days=2)
ENDED = {"state": "CANCELED", "terminal": True}
NAME = "savepoint-000005-0123456789ab"


def write_snapshot(
    folder: Path, shared: dict[str, bytes], *, number: int = 5, managed: bytes = b""
) -> None:
    """With handles as they are given."""
    folder.mkdir(parents=True, exist_ok=True)
    state = w.incremental(w.byte_stream("meta", b"meta"), shared, {}, new=True)
    subtask = w.operator(4, [w.subtask(4, 0, keyed=state, managed=managed)])
    (folder / "_metadata").write_bytes(w.metadata(4, [subtask], checkpoint=number))
    date(folder / "_metadata", OLD)


def handles(files: list[Path]) -> dict[str, bytes]:
    return {
        f"{place:06}.sst": w.file(path.stat().st_size, f"file:{path}")
        for place, path in enumerate(files)
    }


def write_origin(fleet: Fleet) -> tuple[World, list[Path], list[Path]]:
    """Job 5 of app-x ended with chk-5; its files, and two more that nothing refers to."""
    one = fleet.application("app-x", 5)
    needed = [one.file(one.job(5) / "shared", at=OLD) for _ in range(2)]
    left = [one.file(one.job(5) / "shared", at=OLD) for _ in range(2)]
    one.checkpoint(5, 5, needed, at=OLD)
    tell("app-x", **ENDED, **completed(one, 5, OLD, 5))
    return one, needed, left


@pytest.mark.parametrize("mode", mostly_long(["claim and gone", "claim", "legacy"]))
def test_what_an_heir_took_over_stays(home: Path, mode: str) -> None:
    fleet = Fleet(home)
    one, needed, left = write_origin(fleet)
    heir = fleet.application("app-c", 7)
    heir.checkpoint(7, 6, [*needed, heir.file(heir.job(7) / "shared", at=LATER)], at=LATER)
    tell("app-c", **restored(one, 5, OLD + timedelta(days=1), 5), **completed(heir, 6, LATER, 7))
    if mode == "claim and gone":
        shutil.rmtree(one.job(5) / "chk-5")
    fleet.audit_twice()
    gone = fleet.clean_up_all()
    assert not gone & {*needed} and gone <= {*left}


def test_what_one_of_two_heirs_that_claimed_it_needs_stays_after_the_other_deleted_it(
    home: Path,
) -> None:
    fleet = Fleet(home)
    one, needed, _ = write_origin(fleet)
    first, second = fleet.application("app-c", 7), fleet.application("app-d", 8)
    first.checkpoint(7, 6, [first.file(first.job(7) / "shared", at=LATER)], at=LATER)
    tell("app-c", **restored(one, 5, OLD + timedelta(days=1), 5), **completed(first, 6, LATER, 7))
    tell("app-d", **restored(one, 5, OLD + timedelta(days=1), 5), **NOTHING_COMPLETED)
    audit(30)
    shutil.rmtree(one.job(5) / "chk-5")
    audit(20)
    run("audit_storage")
    assert not fleet.clean_up_all() & {*needed} and second


POINTERS = {
    "escaped": "file:{root}/{escaped}",
    "trailing slash": "file:{root}/{below}/",
    "of the file": "file:{root}/{below}/_metadata",
    "three slashes": "file:///{rest}/{below}",
    "doubled": "file:{root}//{below}",
    "dots": "file:{root}/./x/../{below}",
    "plain": "{root}/{below}",
    "upper case": "FILE:{root}/{below}",
    "localhost": "file://localhost{root}/{below}",
}


@pytest.mark.parametrize("pointer", mostly_long(POINTERS.values(), ids=list(POINTERS)))
def test_a_second_heir_by_any_spelling_keeps_its_origin(home: Path, pointer: str) -> None:
    fleet = Fleet(home)
    origin = forked(fleet)
    fleet.application("app-b", 8)
    below = f"{name_of_job(5)}/chk-5"
    named = {
        "root": origin.root,
        "below": below,
        "rest": str(origin.root)[1:],
        "escaped": below.replace("chk", "%63hk"),
    }
    of_restore = {
        "restored_path": pointer.format(**named),
        "restored_checkpoint_id": 5,
        "restored_at": OLD + timedelta(days=3),
    }
    tell("app-b", **of_restore, **NOTHING_COMPLETED)
    fleet.audit_twice()
    assert not fleet.clean_up_all()


@pytest.mark.parametrize(
    "how",
    mostly_long(
        ["native", "in another root", "of another job", "renamed", "in a job", "unregistered name"],
        short=2,
    ),
)
def test_what_a_savepoint_refers_to_stays(home: Path, how: str) -> None:
    """An incremental native one refers to files beside itself, or to those that its job shares."""
    fleet = Fleet(home)
    one, _, left = write_origin(fleet)
    other = fleet.application("app-d", 8)
    folders = {
        "native": one.root / NAME,
        "of another job": one.root / "savepoint-abcdef-0123456789ab",
        "renamed": one.root / "keep",
        "in a job": one.job(5) / NAME,
        "in another root": other.root / NAME,
        ("unregistered name"): one.job(5) / "chk-5" / "keep",
    }
    write_snapshot(folders[how], handles(left))
    own = one.file(folders[how], at=OLD)
    fleet.audit_twice()
    assert not fleet.clean_up_all() & {*left, own}


@pytest.mark.parametrize("where", mostly_long(["chk-04", "chk-4", "kept/chk-4", "kept"]))
def test_files_beside_a_checkpoint_that_names_them_relatively_stay(home: Path, where: str) -> None:
    fleet = Fleet(home)
    one, _, _ = write_origin(fleet)
    folder = one.job(5) / where
    beside = [one.file(folder, at=OLD) for _ in range(2)]
    write_snapshot(
        folder, {path.name: w.relative(path.name, path.stat().st_size) for path in beside}, number=4
    )
    fleet.audit_twice()
    assert not fleet.clean_up_all() & {*beside}


@pytest.mark.parametrize("scope", mostly_long([0, 1]))
@pytest.mark.parametrize(
    "folder", ["shared/job_{job}_op_0a_1_2", "taskowned/job_{job}_tm_container_e01_1"]
)
def test_files_of_segments_stay_whatever_of_them_is_used(
    home: Path, folder: str, scope: int
) -> None:
    fleet = Fleet(home)
    one, _, _ = write_origin(fleet)
    heir = fleet.application("app-c", 7)
    merged = one.file(one.job(5) / folder.format(job=name_of_job(5)), at=OLD, size=500)
    unsaid = one.file(merged.parent, at=OLD)
    managed = w.segment_partitionable(
        [], f"file:{merged.parent}", f"file:{merged.parent}", w.EMPTY_SEGMENT, empty=True
    )
    write_snapshot(
        heir.job(7) / "chk-6",
        {"1.sst": w.segment(400, 9, scope, f"file:{merged}", "segment")},
        number=6,
        managed=managed,
    )
    date(heir.job(7) / "chk-6" / "_metadata", LATER)
    tell("app-c", **restored(one, 5, OLD + timedelta(days=1), 5), **completed(heir, 6, LATER, 7))
    fleet.audit_twice()
    assert not fleet.clean_up_all() & {merged, unsaid}


@pytest.mark.parametrize("declared", [False, True])
def test_files_stay_of_a_root_that_was_moved(home: Path, settings, declared: bool) -> None:  # type: ignore[no-untyped-def]
    """Everything in it names the place where it was."""
    fleet = Fleet(home)
    one, needed, left = write_origin(fleet)
    moved = World(home / "moved", one.random)
    one.root.rename(moved.root)
    StorageRoot.objects.all().delete()
    if declared:
        settings.WEIR = replace(
            settings.WEIR, storage_aliases={f"file:{one.root}": f"file:{moved.root}"}
        )
    run("add_storage_root", str(moved.root), "--attest", "olga", "--cluster", "app-x")
    fleet.worlds["app-x"] = moved
    fleet.audit_twice()
    gone = fleet.clean_up_all()
    assert gone == (
        {moved.root / path.relative_to(one.root) for path in left} if declared else set()
    )
    assert all((moved.root / path.relative_to(one.root)).exists() for path in needed)


@pytest.mark.parametrize("is_kept", [True, False])
def test_what_a_regional_checkpoint_keeps_of_an_earlier_one_stays(
    home: Path, is_kept: bool
) -> None:
    """Version 7 writes a path that is relative to the earlier checkpoint, whether that is retained
    or not.
    """
    fleet = Fleet(home)
    one, _, _ = write_origin(fleet)
    earlier, later = (one.file(one.job(5) / f"chk-{number}", at=OLD) for number in (4, 6))

    def subtask(index: int, path: Path, origin: int | None = None) -> bytes:
        handle = w.relative(path.name, path.stat().st_size)
        state = w.incremental(w.byte_stream("meta", b"meta"), {}, {"1.sst": handle}, new=True)
        return w.subtask(7, index, keyed=state, origin=origin)

    def write(number: int, *subtasks: bytes) -> None:
        metadata = one.job(5) / f"chk-{number}" / "_metadata"
        operator = w.operator(7, [*subtasks], name="count")
        metadata.write_bytes(w.metadata(7, [operator], checkpoint=number))
        date(metadata, OLD)

    if is_kept:
        write(4, subtask(0, earlier))
    write(6, subtask(0, earlier, origin=4), subtask(1, later))
    tell("app-x", **completed(one, 6, OLD, 5))
    fleet.audit_twice()
    assert not fleet.clean_up_all() & {earlier, later}


NAMES = (("a b", "a+b", "ä", "A", "a.", "a#b", "a?b", "a=b"), ("a%20b", "a\u0308"))
"""Of roots: in the second part those that some would take for one of the first."""


@pytest.mark.parametrize("names", mostly_long(NAMES))
def test_roots_of_any_name_lose_nothing_that_is_needed(home: Path, names: tuple[str, ...]) -> None:
    fleet, unneeded = Fleet(home), set()
    for number, name in enumerate(names, 5):
        one = fleet.application(name, number)
        needed = [one.file(one.job(number) / "shared", at=OLD) for _ in range(2)]
        one.checkpoint(number, 5, needed, at=OLD)
        unneeded.add(one.file(one.job(number) / "shared", at=OLD))
        tell(name, **ENDED, **completed(one, 5, OLD, number))
    fleet.audit_twice()
    assert fleet.clean_up_all() == unneeded


@pytest.mark.parametrize(
    "names", mostly_long([("x y", "x%20y"), ("Data", "data"), ("\u00e4", "a\u0308")])
)
def test_of_two_directories_whose_names_are_alike_each_keeps_what_it_needs(
    home: Path, names: tuple[str, str]
) -> None:
    """References name the one; the other has the same files, or others."""
    fleet = Fleet(home)
    one = fleet.application("app-a", 5)
    folders = [one.root / name / name_of_job(5) for name in names]
    needed = [one.file(folder / "shared", at=OLD) for folder in folders]
    for folder, path in zip(folders, needed, strict=True):
        one.snapshot(folder / "chk-5", 5, [path], at=OLD)
    path = {
        "last_completed_id": 5,
        "last_completed_at": OLD,
        "last_completed_path": f"file:{folders[0]}/chk-5",
    }
    tell("app-a", **ENDED, **path)
    fleet.audit_twice()
    assert not fleet.clean_up_all() and NOW


def write_whole_heir(fleet: Fleet, origin: World) -> None:
    """Job 7 of app-c was restored from chk-5 and needs it no more."""
    heir = fleet.application("app-c", 7)
    heir.checkpoint(7, 6, [heir.file(heir.job(7) / "shared", at=LATER)], at=LATER)
    tell("app-c", **restored(origin, 5, OLD + timedelta(days=1), 5), **completed(heir, 6, LATER, 7))


@pytest.mark.parametrize("is_read", [False, True])
def test_that_an_heir_is_whole_does_not_say_that_the_last_checkpoint_was_deleted(
    home: Path, is_read: bool
) -> None:
    """It was put elsewhere. Where an audit read it, what it needs is known, and the rest goes."""
    fleet = Fleet(home)
    one, _, left = write_origin(fleet)
    write_whole_heir(fleet, one)
    if is_read:
        audit(40)
    (one.job(5) / "chk-5").rename(home / "put-elsewhere")
    fleet.audit_twice()
    assert fleet.clean_up_all() == ({*left} if is_read else set())


@pytest.mark.parametrize(
    "checkpoints", mostly_long(["put elsewhere", "without a level of jobs", "never read"])
)
def test_what_an_heir_claimed_stays_whose_checkpoint_lies_where_nobody_looks(
    home: Path, checkpoints: str
) -> None:
    fleet = Fleet(home)
    one, needed, _ = write_origin(fleet)
    write_whole_heir(fleet, one)
    second = fleet.application("app-d", 8)
    tell("app-d", **ENDED, **restored(one, 5, OLD + timedelta(days=1), 5))
    shutil.rmtree(one.job(5) / "chk-5")
    if checkpoints == "put elsewhere":
        second.checkpoint(8, 9, needed, at=LATER).rename(home / "put-elsewhere")
        tell("app-d", **completed(second, 9, LATER, 8))
    else:
        second.snapshot(home / "elsewhere" / "chk-9", 9, needed, at=LATER)
    if checkpoints == "without a level of jobs":
        path = f"file:{home}/elsewhere/chk-9"
        tell("app-d", last_completed_id=9, last_completed_at=LATER, last_completed_path=path)
    fleet.audit_twice()
    assert not fleet.clean_up_all() & {*needed}
