"""An approved plan carried out on a real disk: what goes, what stays and why, and that no
checkpoint misses anything.
"""

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.attacks.scale import examples
from tests.webapp.cleanup import carrying
from tests.webapp.cleanup.carrying import Carried, die_during, effects_equal_the_journal, plan
from tests.webapp.cleanup.worlds import NOW, OLD, World, date, random_world
from webapp.cleanup import manifest, plan_builder, plan_reader
from webapp.cleanup.errors import Halted, PlanDamaged, PlanRefused
from webapp.cleanup.manifest import PlannedRoot, SearchedAudit


def test_orphans_go_to_quarantine_and_everything_else_stays(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    before = set(world.all_files())
    carried = plan(world, tmp_path)
    carried.apply()
    assert before - set(world.all_files()) == {orphan}
    assert carried.outcomes("apply") == {orphan.name: "quarantined"}
    effects_equal_the_journal(carried)


def test_what_was_moved_is_put_back_byte_for_byte(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    content, modified = orphan.read_bytes(), orphan.stat().st_mtime_ns
    carried = plan(world, tmp_path)
    carried.apply()
    carried.undo()
    assert (orphan.read_bytes(), orphan.stat().st_mtime_ns) == (content, modified)
    assert not world.quarantine.exists() or not any(world.quarantine.rglob("*"))


def test_a_place_that_was_taken_meanwhile_is_left_to_who_took_it(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    carried = plan(world, tmp_path)
    carried.apply()
    orphan.write_bytes(b"newer")
    carried.undo()
    assert orphan.read_bytes() == b"newer"
    assert carried.outcomes("undo") == {orphan.name: "occupied"}
    effects_equal_the_journal(carried)


def test_a_file_that_changed_since_the_plan_is_skipped_and_said(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    carried = plan(world, tmp_path)
    orphan.write_bytes(orphan.read_bytes() + b"x")
    date(orphan, OLD)
    carried.apply()
    assert orphan.exists()
    (row,) = carried.rows("apply")
    assert row.outcome == "changed" and f" has {orphan.stat().st_size} B of " in (row.detail or "")


def test_a_file_that_is_gone_is_said_to_be_gone(world: World, orphan: Path, tmp_path: Path) -> None:
    carried = plan(world, tmp_path)
    fresh = carried.recheck().fresh()
    orphan.unlink()
    carrying.Applying(carried.run(), _Told(fresh), carried.watch())()
    assert carried.outcomes("apply") == {orphan.name: "gone"}


def test_a_file_that_the_audit_right_before_judges_otherwise_stays(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    carried = plan(world, tmp_path)
    world.checkpoint(2, 5, [orphan], at=NOW)
    carried.apply()
    assert orphan.exists() and not world.unresolved()
    assert carried.outcomes("apply") == {orphan.name: "judged_again"}


def test_a_file_that_a_checkpoint_refers_to_since_the_last_audit_stays(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    carried = plan(world, tmp_path)
    watch = carried.watch()

    class Meanwhile:
        def fresh(self) -> carrying.FreshAudit:
            audit = carried.recheck().fresh()
            world.checkpoint(2, 5, [orphan], at=NOW)
            return audit

    carrying.Applying(carried.run(), Meanwhile(), watch)()
    assert orphan.exists()
    (row,) = carried.rows("apply")
    assert row.outcome == "referred" and row.detail and row.detail.endswith("chk-5/_metadata")


def test_a_new_checkpoint_that_cannot_be_read_stops_everything(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    carried = plan(world, tmp_path)

    class Meanwhile:
        def fresh(self) -> carrying.FreshAudit:
            audit = carried.recheck().fresh()
            folder = world.checkpoint(2, 5, [orphan])
            (folder / "_metadata").write_bytes((folder / "_metadata").read_bytes()[:-7])
            return audit

    with pytest.raises(Halted, match="cannot be read"):
        carrying.Applying(carried.run(), Meanwhile(), carried.watch())()
    assert orphan.exists() and not carried.rows("apply")


def test_doubts_of_the_audit_right_before_stop_it_before_a_file_is_touched(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    carried = plan(world, tmp_path)
    world.reasons = ["in_doubt"]
    with pytest.raises(Halted, match="in_doubt"):
        carried.apply()
    assert orphan.exists() and not carried.rows("apply")


def test_a_plan_that_expires_on_the_way_is_not_carried_on(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    carried = plan(world, tmp_path)
    carried.now = NOW + timedelta(days=8)
    with pytest.raises(Halted, match="expired"):
        carried.apply()
    assert orphan.exists()


def test_a_plan_that_rests_on_an_audit_of_the_future_is_not_carried_out(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    carried = plan(world, tmp_path, audits=[SearchedAudit("made-up", "2030-01-01T00:00:00.000Z")])
    with pytest.raises(Halted, match="yet to come"):
        carried.apply()
    assert orphan.exists()


def test_links_are_neither_moved_nor_followed(world: World, orphan: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    carried = plan(world, tmp_path)
    fresh = carried.recheck().fresh()
    (world.job(1) / "shared").rename(other)
    (world.job(1) / "shared").symlink_to(other)
    carrying.Applying(carried.run(), _Told(fresh), carried.watch())()
    assert (other / orphan.name).exists()
    assert carried.outcomes("apply") == {orphan.name: "linked"}


@pytest.mark.parametrize("where", ["ckpt", "ckpt/quarantine", "."])
def test_a_quarantine_where_the_next_audit_would_look_is_refused(
    world: World, orphan: Path, tmp_path: Path, where: str
) -> None:
    root = PlannedRoot(world.uri, str(world.root), str(tmp_path / where))
    with pytest.raises(PlanRefused, match="quarantine"):
        plan(world, tmp_path, roots=[root])


def test_a_quarantine_behind_a_link_into_the_root_is_refused(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(world.root)
    with pytest.raises(PlanRefused, match="quarantine"):
        plan(
            world,
            tmp_path,
            roots=[PlannedRoot(world.uri, str(world.root), str(tmp_path / "link" / "q"))],
        )


def test_the_same_plan_applied_twice_changes_nothing_more(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    carried = plan(world, tmp_path)
    carried.apply()
    rows = carried.rows("apply")
    carried.apply()
    assert carried.rows("apply") == rows


def test_a_purge_deletes_what_waited_in_quarantine(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    carried = plan(world, tmp_path)
    carried.apply()
    carried.purge()
    assert carried.outcomes("purge") == {orphan.name: "purged"}
    effects_equal_the_journal(carried)


def test_no_purge_on_a_changed_journal(
    world: World, orphan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (plan_builder, plan_reader, manifest):
        monkeypatch.setattr(module, "CHUNK_ROWS", 1)
    other = world.file(world.job(1) / "shared")
    carried = plan(world, tmp_path)
    carried.apply()
    first = Path(carried.reader.folder.uri) / "journal" / "apply" / "00000000.effect.jsonl"
    first.write_text(first.read_text().replace("quarantined", "failed"))
    with pytest.raises(PlanDamaged, match="changed after it was written"):
        carried.purge()
    assert (
        len([path for path in world.quarantine.rglob("*") if path.is_file()]) == 2
        and not other.exists()
    )


def test_nothing_is_purged_while_a_checkpoint_refers_to_any_of_it(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    carried = plan(world, tmp_path)
    carried.apply()
    world.checkpoint(2, 5, [world.job(1) / "chk-1" / "_metadata"])  # something that is there
    folder = world.job(2) / "chk-6"
    orphan.write_bytes(b"placeholder")
    world.checkpoint(2, 6, [orphan])
    orphan.unlink()
    with pytest.raises(Halted, match="undo"):
        carried.purge()
    carried.undo()
    assert orphan.exists() and folder.exists()


def test_a_checkpoint_that_is_waste_goes_before_its_files(world: World, tmp_path: Path) -> None:
    files = [world.file(world.job(1) / "shared") for _ in range(3)]
    folder = world.checkpoint(1, 1, files, waste=True)
    carried = plan(world, tmp_path, waste=True)
    first, *rest = carried.reader.chunks()
    assert first.is_metadata and first.rows["path"].to_pylist() == [f"file:{folder}/_metadata"]
    carried.apply()
    assert (
        not any(path.exists() for path in files)
        and not (folder / "_metadata").exists()
        and len(rest) == 1
    )


def test_a_checkpoint_that_stays_keeps_its_files(world: World, tmp_path: Path) -> None:
    files = [world.file(world.job(1) / "shared") for _ in range(3)]
    folder = world.checkpoint(1, 1, files, waste=True)
    carried = plan(world, tmp_path, waste=True)
    date(folder / "_metadata", NOW)
    carried.apply()
    assert all(path.exists() for path in files) and not world.unresolved()


def test_waste_is_left_alone_unless_asked_for(world: World, tmp_path: Path) -> None:
    world.checkpoint(1, 1, [world.file(world.job(1) / "shared")], waste=True)
    assert plan(world, tmp_path).reader.manifest.total_files == 0


def test_storage_that_refuses_everything_is_not_asked_forever(world: World, tmp_path: Path) -> None:
    for _ in range(40):
        world.file(world.job(1) / "shared")
    carried = plan(world, tmp_path)

    class Refusing(carrying.TreeFiles):
        def move(self, source: str, target: str, expected: carrying.Stat) -> None:
            raise PermissionError(13, "Permission denied")

    carried.files = Refusing()
    with pytest.raises(Halted, match="refused 20 files"):
        carried.apply()
    outcomes = list(carried.outcomes("apply").values())
    assert (outcomes.count("failed"), outcomes.count("not_reached")) == (20, 20)


def test_a_move_that_was_cut_off_is_taken_back_where_the_file_is_needed_by_then(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    carried = plan(world, tmp_path)
    assert die_during(carried, Carried.apply, 0, in_between=True)
    world.checkpoint(2, 5, [orphan], at=NOW)
    carried.apply()
    assert orphan.exists() and carried.outcomes("apply") == {orphan.name: "judged_again"}
    effects_equal_the_journal(carried)


def test_a_move_that_was_cut_off_is_taken_back_where_the_file_changed_since(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    carried = plan(world, tmp_path)
    assert die_during(carried, Carried.apply, 0, in_between=True)
    date(orphan, NOW)
    carried.apply()
    assert orphan.exists() and carried.outcomes("apply") == {orphan.name: "judged_again"}
    effects_equal_the_journal(carried)


def test_a_move_that_was_cut_off_is_ended_where_the_file_may_still_go(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    carried = plan(world, tmp_path)
    assert die_during(carried, Carried.apply, 0, in_between=True)
    carried.apply()
    assert not orphan.exists() and carried.outcomes("apply") == {orphan.name: "quarantined"}
    effects_equal_the_journal(carried)


def test_a_checkpoint_comes_back_after_its_files(world: World, tmp_path: Path) -> None:
    files = [world.file(world.job(1) / "shared") for _ in range(3)]
    folder = world.checkpoint(1, 1, files, waste=True)
    carried = plan(world, tmp_path, waste=True)
    carried.apply()
    for after in range(4):
        die_during(carried, Carried.undo, after and 1)
        assert not world.unresolved() and (
            (folder / "_metadata").exists() <= all(path.exists() for path in files)
        )
    carried.undo()
    assert (folder / "_metadata").exists() and not world.unresolved()


class _Told:
    """An audit that was made before."""

    def __init__(self, audit: carrying.FreshAudit) -> None:
        self._audit = audit

    def fresh(self) -> carrying.FreshAudit:
        return self._audit


NAMES = st.sampled_from(["own", "own", "link", "read_at"])
SLOW = settings(
    max_examples=examples(6, 40), deadline=None, suppress_health_check=list(HealthCheck)
)


@SLOW
@given(seed=st.integers(0, 2**32), waste=st.booleans(), name=NAMES)
def test_after_any_plan_every_checkpoint_resolves_all_its_references(
    tmp_path_factory: pytest.TempPathFactory, seed: int, waste: bool, name: str
) -> None:
    folder = tmp_path_factory.mktemp("world")
    world = _named(random_world(folder / "ckpt", seed), name)
    needed = world.referred(needed_only=True)
    carried = plan(world, folder, waste=waste)
    carried.apply()
    assert not world.unresolved()
    carried.purge()
    assert not world.unresolved()
    assert all(Path(path.removeprefix("file:")).exists() for path in needed)
    effects_equal_the_journal(carried)


@SLOW
@given(
    seed=st.integers(0, 2**32),
    waste=st.booleans(),
    late=st.booleans(),
    in_between=st.booleans(),
    deaths=st.lists(st.integers(0, 8), min_size=1, max_size=3),
    change=st.sampled_from(["nothing", "refer", "touch", "remove"]),
    verb=st.sampled_from(["apply", "undo", "purge"]),
    name=NAMES,
)
@example(
    seed=1,
    waste=True,
    late=False,
    in_between=False,
    deaths=[1],
    change="remove",
    verb="undo",
    name="own",
)
@example(
    seed=1,
    waste=True,
    late=False,
    in_between=False,
    deaths=[1],
    change="remove",
    verb="undo",
    name="link",
)
def test_killed_anywhere_with_the_tree_changing_effects_equal_the_journal(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    waste: bool,
    late: bool,
    in_between: bool,
    deaths: list[int],
    change: str,
    verb: str,
    name: str,
) -> None:
    folder = tmp_path_factory.mktemp("world")
    world = _named(random_world(folder / "ckpt", seed), name)
    carried = plan(world, folder, waste=waste)
    for after in deaths:
        die_during(carried, Carried.apply, after, late=late, in_between=in_between)
        _change(world, change)
        assert not world.unresolved()
    carried.apply()
    effects_equal_the_journal(carried)
    assert sorted(row.path for row in carried.rows("apply")) == sorted(
        path for part in carried.reader.parts() for path in part["path"].to_pylist()
    )
    if verb != "apply":
        act = Carried.undo if verb == "undo" else Carried.purge
        die_during(carried, act, deaths[0], late=late, in_between=in_between)
        assert not world.unresolved()
        act(carried)
        effects_equal_the_journal(carried)
    assert not world.unresolved()


def _named(world: World, name: str) -> World:
    """As an audit sees it that knows the directory by another name only, and takes all of it for
    unreferenced.
    """
    if name == "link":
        (world.root.parent / "link").symlink_to(world.root)
        return world.by_another_name(world.root.parent / "link")
    return world.by_another_name(world.root, "s3://bucket/flink") if name == "read_at" else world


def _is_needed(world: World, path: str) -> bool:
    return any(Path(uri.removeprefix("file:")).name == Path(path).name for uri in world.referred())


def _change(world: World, change: str) -> None:
    """Something that lives in the tree does something to a file that may be in the plan."""
    orphans = [
        row["listed_path"]
        for row in world.verdicts()
        if row["verdict"] == "orphan" and not _is_needed(world, row["listed_path"])
    ]
    if not orphans:
        return
    path = Path(world.random.choice(orphans))
    if change == "refer":
        world.checkpoint(9, world.random.randrange(100, 999), [path], at=NOW)
    elif change == "touch":
        date(path, NOW)
    elif change == "remove":
        world.removed_by_others.add(path.resolve())
        path.unlink()
