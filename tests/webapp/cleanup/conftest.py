"""A world with one orphan, audited, its plans in a folder of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

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
def audited(db: None, world: World, orphan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    before = settings.WEIR.plans_root
    object.__setattr__(settings.WEIR, "plans_root", str(tmp_path / "plans"))
    stored.register(world)
    stored.audit_of(world, tmp_path / "runs")
    stored.audit_by_world(monkeypatch, world, tmp_path / "runs")
    yield world
    object.__setattr__(settings.WEIR, "plans_root", before)
