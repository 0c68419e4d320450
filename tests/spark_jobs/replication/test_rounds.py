"""Copies of chains of checkpoints, with processes killed at every change they make: there is always
a whole copy, and the origin stays.
"""

import os
import random
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.replication import copying
from spark_jobs.replication.request import COMPLETE, NOTHING, UP_TO_DATE
from spark_jobs.replication.round import NotCopied, replicate
from tests.attacks.scale import FULL, examples
from tests.spark_jobs.replication.killing import Killed, watched
from tests.spark_jobs.replication.worlds import EARLIER, JOB, World, copies, state_of, tree_digest


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, random.Random(7))


def check(world: World, known: dict[int, list[bytes]], least: int) -> int:
    """All that could be restored from is whole, of files of the copy alone, and as new as it was
    before; returns how new.
    """
    found = copies(world.copy)
    for metadata in found:
        state = state_of(metadata)
        assert [content for _, content in state] == known[int(metadata.parent.name.split("-")[1])]
        assert all(
            path.is_relative_to(world.copy) and "_weir" not in path.parts for path, _ in state
        )
    newest = int(found[-1].parent.name.split("-")[1]) if found else 0
    assert newest >= least
    return newest


@settings(max_examples=examples(12, 300), deadline=None)
@given(
    seed=st.integers(0, 2**32),
    version=st.sampled_from([4, 6]),
    kills=st.lists(st.integers(0, 120), min_size=3, max_size=8),
)
def test_random_chains_with_kills_leave_a_whole_copy_and_never_touch_the_origin(
    seed: int, version: int, kills: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder).resolve(), random.Random(seed), version)
        known: dict[int, list[bytes]] = {}
        newest = 0
        for kill_after in kills:
            for _ in range(world.chance.randint(0, 2)):
                known |= world.made()
            while len(world.retained) > world.chance.randint(1, 3):
                world.subsume()
            before = tree_digest(world.root) if world.root.exists() else ""
            with watched(world.root) as origin, watched(world.folder, kill_after), suppress(Killed):
                replicate(world.request)
            assert not origin.changed and (not before or tree_digest(world.root) == before)
            newest = check(world, known, newest)
        if known:
            result = replicate(world.request)
            assert result.checkpoint_id == world.newest
            assert [str(path) for path in copies(world.copy)] == [
                f"{result.location.removeprefix('file:')}/_metadata"
            ]
            check(world, known, world.newest)
            # Nothing is left of what was given up: the files of the copy are those of its plan.
            kept = {
                path
                for path in world.copy.rglob("*")
                if path.is_file() and "_weir" not in path.parts
            }
            assert kept == {path for path, _ in state_of(copies(world.copy)[0])} | {
                copies(world.copy)[0]
            }
            assert replicate(world.request).state == UP_TO_DATE


@pytest.mark.long
def test_killed_at_each_of_its_changes_a_round_ends_with_the_old_copy_or_the_new_one(
    world: World,
) -> None:
    known = world.made()
    replicate(world.request)
    old, step = world.newest, 0
    known |= world.made()
    seen = set()
    while True:
        with tempfile.TemporaryDirectory(dir=world.folder) as folder:
            request = world.request
            # The copy before, at another place: its _metadata says where its files are, so it is
            # made anew there.
            copy = World(Path(folder), random.Random(0))
            request = type(request)(**{**request.__dict__, "destination": str(copy.copy)})
            hidden = world.root / JOB / f"chk-{world.newest}"
            hidden.rename(world.folder / "hidden")
            replicate(request)
            (world.folder / "hidden").rename(hidden)
            with watched(copy.copy, step) as changes:
                try:
                    replicate(request)
                    seen.add(check(copy, known, world.newest))
                    break
                except Killed:
                    seen.add(check(copy, known, old))
            assert len(changes.changed) >= step
            assert replicate(request).checkpoint_id == world.newest
            assert check(copy, known, world.newest) == world.newest
        # Files are copied at first, each like the other.
        step += 1 if FULL or step > 30 else 5
    assert seen == {old, world.newest} and step > 20


def test_a_second_round_copies_only_the_difference(world: World) -> None:
    for _ in range(3):
        world.checkpoint()
    first = replicate(world.request)
    assert first.state == COMPLETE and first.copied_files == first.files - 1
    before = {path: path.stat().st_ino for path in world.copy.rglob("*") if path.is_file()}
    world.checkpoint()
    second = replicate(world.request)
    there = {
        path: path.stat().st_ino
        for path in world.copy.rglob("*")
        if path.is_file() and "_weir" not in path.parts
    }
    same = [path for path in there if before.get(path) == there[path]]
    assert (
        second.copied_files == len(there) - len(same) - 1
        and 0 < second.copied_files < second.files - 1
    )
    assert replicate(world.request).state == UP_TO_DATE


def test_files_of_the_job_it_was_started_from_are_in_the_copy(world: World) -> None:
    world.chance.seed(3)
    while not any(EARLIER in path.parts for path in world.shared):
        world.checkpoint()
    replicate(world.request)
    assert any(EARLIER in path.parts for path, _ in state_of(copies(world.copy)[0]))


def test_where_the_origin_is_gone_the_copy_is_restored_from(world: World) -> None:
    world.checkpoint()
    expected = world.state()
    replicate(world.request)
    world.root.rename(world.folder / "destroyed")
    assert [content for _, content in state_of(copies(world.copy)[0])] == expected


def test_a_newer_checkpoint_overtakes_one_whose_files_went(world: World) -> None:
    first = world.checkpoint()

    def copy_all(request: object, round_: int, batches: object) -> object:
        if world.newest == first:
            world.checkpoint()
            world.subsume()
            (world.folder / "gone").mkdir()
        return copying.in_threads(request, round_, batches)  # type: ignore[arg-type]

    result = replicate(world.request, copy_all)  # type: ignore[arg-type]
    assert (
        result.state == COMPLETE
        and result.checkpoint_id == world.newest
        and list(result.overtaken) == [first]
    )


def test_a_file_that_is_missing_in_the_origin_leaves_the_copy_before(world: World) -> None:
    old = world.checkpoint()
    known = {old: world.state()}
    replicate(world.request)
    world.checkpoint()
    next((world.root / JOB / f"chk-{world.newest}").glob("*-*")).unlink()
    with pytest.raises(NotCopied, match="There is no file"):
        replicate(world.request)
    assert check(world, known, old) == old


def test_a_file_of_another_size_than_its_metadata_says_is_not_copied(world: World) -> None:
    world.checkpoint()
    file = next((world.root / JOB / f"chk-{world.newest}").glob("*-*"))
    file.write_bytes(file.read_bytes() + b"x")
    with pytest.raises(NotCopied, match="by its _metadata"):
        replicate(world.request)
    assert copies(world.copy) == []


def test_what_was_damaged_in_the_copy_is_copied_again(world: World) -> None:
    known = world.made()
    replicate(world.request)
    known |= world.made()
    for path in [path for path in world.copy.rglob("shared/*") if path.is_file()]:
        path.write_bytes(b"")
        path.parent.joinpath("of somebody else").write_text("stays")
    replicate(world.request)
    check(world, known, world.newest)


def test_a_checkpoint_in_progress_is_not_the_newest(world: World) -> None:
    assert replicate(world.request).state == NOTHING
    done = world.checkpoint()
    for name, content in (("chk-90", None), ("chk-91", b"\x49\x60\x67\x2d\0\0\0\4")):
        (world.root / JOB / name).mkdir()
        if content:
            (world.root / JOB / name / "_metadata").write_bytes(content)
    assert replicate(world.request).checkpoint_id == done


def test_files_of_others_in_the_copy_are_never_deleted(world: World) -> None:
    world.checkpoint()
    replicate(world.request)
    other = copies(world.copy)[0].parent / "notes.txt"
    other.write_text("mine")
    world.checkpoint()
    replicate(world.request)
    assert other.read_text() == "mine"


def test_rounds_that_never_end_leave_the_records_of_the_last_alone(world: World) -> None:
    world.checkpoint()
    first = replicate(world.request)
    for _ in range(4):
        world.checkpoint()
        next((world.root / JOB / f"chk-{world.newest}").glob("*-*")).unlink()
        with pytest.raises(NotCopied):
            replicate(world.request)
    assert sorted(path.name for path in world.copy.glob("_weir/rounds/*")) == [
        f"{number:08}" for number in (first.round, 5)
    ]
    known = world.made()
    result = replicate(world.request)
    check(world, known, world.newest)
    assert len(list(world.copy.rglob("chk-*"))) == 1 and result.round == 6


def test_whoever_may_read_around_a_copy_may_read_it(world: World) -> None:
    world.checkpoint()
    world.copy.parent.mkdir()
    world.copy.parent.chmod(0o755)
    before = os.umask(0o077)
    try:
        replicate(world.request)
    finally:
        os.umask(before)
    made = [path for path in world.copy.rglob("*") if "_weir" not in path.parts]
    assert {path.stat().st_mode & 0o777 for path in made if path.is_file()} == {0o644}
    assert {path.stat().st_mode & 0o777 for path in [world.copy, *made] if path.is_dir()} == {0o755}
