"""A world with one orphan, audited, its plans in a folder of their own."""

from pathlib import Path

import pytest

from tests.webapp.cleanup import stored
from tests.webapp.cleanup.worlds import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "ckpt")


@pytest.fixture
def orphan(world: World) -> Path:
    """Of a job with one checkpoint that needs another file."""
    world.checkpoint(1, 1, [world.file(world.job(1) / "shared")])
    return world.file(world.job(1) / "shared")


@pytest.fixture
def audited(
    db: None, world: World, orphan: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> World:
    stored.register(world)
    stored.audit_of(world, home / "runs")
    stored.audit_by_world(monkeypatch, world, home / "runs")
    return world
