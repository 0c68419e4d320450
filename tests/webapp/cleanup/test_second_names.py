"""A plan of a directory under a second name, made by an audit that did not see it: no checkpoint
loses what it needs.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.utils import timezone

from ingest.storage.tree import Stat
from tests.mounts import mounts
from tests.webapp.cleanup import stored
from tests.webapp.cleanup.carrying import (
    Carried,
    FreshFromDisk,
    effects_equal_the_journal,
    kill_at_step,
    plan,
)
from tests.webapp.cleanup.test_orders import approved
from tests.webapp.cleanup.worlds import NOW, World
from webapp.cleanup import execution, orders
from webapp.cleanup.choices import PlanState
from webapp.cleanup.errors import Halted, PutBack
from webapp.cleanup.places import TreeFiles
from webapp.cleanup.recheck import FreshAudit

__all__ = ["mounts"]

Named = Callable[[World], World]


class _Then:
    """Something happens as soon as the audit is done."""

    def __init__(self, carried: Carried, then: Callable[[], object]) -> None:
        self._fresh, self._then = FreshFromDisk(carried.world, carried.folder / "audits"), then

    def fresh(self) -> FreshAudit:
        found = self._fresh.fresh()
        self._then()
        return found


class _Late(TreeFiles):
    """Something happens as soon as a file was moved."""

    def __init__(self, then: Callable[[], object]) -> None:
        super().__init__()
        self._then: Callable[[], object] | None = then

    def move(self, source: str, target: str, expected: Stat) -> None:
        super().move(source, target, expected)
        then, self._then = self._then, None
        if then:
            then()


@pytest.fixture(params=["link", "mount", "read_at"])
def named(request: pytest.FixtureRequest, tmp_path: Path) -> Named:
    """The world by its second name. All that it needs looks like orphans to its audits."""

    def by_second_name(world: World) -> World:
        other = tmp_path / "other"
        if request.param == "read_at":
            return world.by_another_name(world.root, "s3://bucket/flink")
        if request.param == "mount":
            request.getfixturevalue("mounts")(world.root, other)
        else:
            other.symlink_to(world.root)
        return world.by_another_name(other)

    return by_second_name


def test_what_a_checkpoint_needs_by_its_first_name_is_not_moved_by_the_second(
    world: World, orphan: Path, named: Named, tmp_path: Path
) -> None:
    carried = plan(named(world), tmp_path)
    assert carried.reader.manifest.total_files == 2
    carried.apply()
    assert sorted(carried.outcomes("apply").values()) == ["quarantined", "referred"]
    assert not orphan.exists() and not world.unresolved()
    carried.purge()
    assert carried.outcomes("purge") == {orphan.name: "purged"}
    effects_equal_the_journal(carried)


def test_what_a_new_checkpoint_refers_to_by_the_first_name_stays(
    world: World, orphan: Path, named: Named, tmp_path: Path
) -> None:
    carried = plan(named(world), tmp_path)
    carried.recheck = lambda: _Then(carried, lambda: world.checkpoint(2, 5, [orphan], at=NOW))  # type: ignore[method-assign,assignment,return-value]
    carried.apply()
    assert carried.outcomes("apply")[orphan.name] == "referred" and not world.unresolved()


def test_everything_is_put_back_when_a_checkpoint_newly_misses_a_file(
    world: World, orphan: Path, named: Named, tmp_path: Path
) -> None:
    second = world.file(world.job(1) / "shared")
    carried = plan(named(world), tmp_path)
    carried.files = _Late(completing(world, [orphan, second]))
    with pytest.raises(PutBack, match="newly miss"):
        carried.apply()
    assert orphan.exists() and second.exists() and not world.unresolved()
    assert set(carried.outcomes("undo").values()) == {"restored"}
    effects_equal_the_journal(carried)


def test_putting_back_goes_on_where_it_was_killed(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    for _ in range(4):
        world.file(world.job(1) / "shared")
    link = tmp_path / "link"
    link.symlink_to(world.root)
    carried = plan(world.by_another_name(link), tmp_path)
    complete = completing(
        world, [world.root / path.relative_to(link) for path in _planned(carried)]
    )
    carried.apply()
    complete()
    step = 0
    while kill_at_step(carried, Carried.apply, step):
        step += 3
        assert step < 60
        if carried.run().journal("undo").open_chunks():
            break
    with pytest.raises(PutBack):
        carried.apply()
    assert not world.unresolved()
    effects_equal_the_journal(carried)


def test_nothing_is_purged_that_a_checkpoint_misses_by_the_first_name(
    world: World, orphan: Path, named: Named, tmp_path: Path
) -> None:
    carried, complete = plan(named(world), tmp_path), completing(world, [orphan])
    carried.apply()
    complete()
    with pytest.raises(Halted, match="undo the plan"):
        carried.purge()
    assert not carried.rows("purge")
    carried.undo()
    assert not world.unresolved()


def test_a_copy_that_somebody_keeps_elsewhere_does_not_hold_up_a_purge(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    kept = world.root / "kept-by-olga" / orphan.name
    kept.parent.mkdir()
    kept.write_bytes(orphan.read_bytes())
    carried = plan(world, tmp_path)
    carried.apply()
    world.snapshot(kept.parent, 5, [kept], at=NOW)
    carried.purge()
    assert carried.outcomes("purge") == {orphan.name: "purged"} and not world.unresolved()


def test_other_upper_and_lower_case_is_no_other_file(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    """As a file system that takes both for one may have it in a reference."""
    carried = plan(world, tmp_path)
    shouted = orphan.parent / orphan.name.upper()
    shouted.write_bytes(orphan.read_bytes())
    carried.recheck = lambda: _Then(carried, lambda: world.checkpoint(2, 5, [shouted], at=NOW))  # type: ignore[method-assign,assignment,return-value]
    carried.apply()
    assert carried.outcomes("apply")[orphan.name] == "referred" and orphan.exists()


def test_a_plan_that_was_put_back_is_over_and_says_why(
    audited: World, orphan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = approved(audited)
    orders.start_apply(made, "olga", timezone.now())
    late = _Late(completing(audited, [orphan]))
    monkeypatch.setattr(execution.TreeFiles, "of", lambda _: late)
    with pytest.raises(PutBack):
        stored.done(made)
    made.refresh_from_db()
    assert (made.state, made.purge_at, orphan.exists()) == (PlanState.UNDONE, None, True)
    assert "newly miss" in made.trouble and made.counts("undo")["restored"] == 1


def completing(world: World, files: list[Path]) -> Callable[[], object]:
    """What makes a checkpoint appear that refers to them, wherever they are by then."""
    folder = world.checkpoint(2, 5, files, at=NOW)
    hidden = folder.rename(world.root.parent / "in-flight")
    return lambda: hidden.rename(folder)


def _planned(carried: Carried) -> list[Path]:
    return [
        Path(path) for part in carried.reader.parts() for path in part["listed_path"].to_pylist()
    ]
