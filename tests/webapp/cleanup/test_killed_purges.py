"""A purge that is killed with -9 right before each of its steps in turn: nothing live is lost, it
goes on, the journal is right.
"""

import shutil
from pathlib import Path
from random import Random

import pytest

from tests.selections import mostly_long
from tests.webapp.cleanup.carrying import Carried, effects_equal_the_journal, kill_at_step, plan
from tests.webapp.cleanup.worlds import World
from webapp.cleanup import manifest, plan_builder, plan_reader
from webapp.cleanup.places import Planned

MOST_STEPS = 200


@pytest.mark.parametrize("waste", mostly_long([False, True]))
def test_killed_before_any_step_it_goes_on_and_tells_the_truth(
    tmp_path: Path, waste: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (plan_builder, plan_reader, manifest):
        monkeypatch.setattr(module, "CHUNK_ROWS", 2)
    world = World(tmp_path / "ckpt", Random(7))
    needed = [world.file(world.job(1) / "shared") for _ in range(2)]
    world.checkpoint(1, 1, needed)
    if waste:
        world.checkpoint(2, 1, [world.file(world.job(2) / "shared") for _ in range(2)], waste=True)
    for _ in range(3):
        world.file(world.job(1) / "shared")
    carried = plan(world, tmp_path, waste=waste)
    carried.apply()
    applied = shutil.copytree(tmp_path, tmp_path.with_name(f"{tmp_path.name}-applied"))
    going = sum(row.outcome == "quarantined" for row in carried.rows("apply"))

    for step in range(MOST_STEPS):
        came_that_far = kill_at_step(carried, Carried.purge, step)
        if not came_that_far:
            break
        assert all(file.exists() for file in needed) and not world.unresolved()
        told = {row.path for row in carried.rows("purge") if row.outcome == "purged"}
        assert not any(
            Path(file.target).exists() for file in _planned(carried) if file.path in told
        )
        carried.purge()
        assert list(carried.outcomes("purge").values()) == ["purged"] * going
        effects_equal_the_journal(carried)
        assert all(file.exists() for file in needed) and not world.unresolved()
        _as_it_was_applied(tmp_path, applied)
    assert step > 3 * going, "each file is looked at, and deleted; each chunk is written twice"
    assert list(carried.outcomes("purge").values()) == ["purged"] * going


def _planned(carried: Carried) -> list[Planned]:
    return [file for chunk in carried.reader.chunks() for file in carried.run().planned(chunk)]


def _as_it_was_applied(folder: Path, applied: Path) -> None:
    shutil.rmtree(folder)
    shutil.copytree(applied, folder)
