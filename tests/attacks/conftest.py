"""An inhabited installation whose files lie in a folder of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.core.cache import cache

from tests.attacks.inhabited import inhabit
from webapp.fleet.models import JobCurrent

ROOTS = ("plans_root", "reports_root", "runs_root", "lake_root")


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path) -> Iterator[None]:
    """Nothing is left in the home of the tests, and no page comes from the cache."""
    cache.clear()
    before = {name: getattr(settings.WEIR, name) for name in (*ROOTS, "chromium")}
    for name in ROOTS:
        object.__setattr__(settings.WEIR, name, str(tmp_path / name))
    object.__setattr__(settings.WEIR, "chromium", "no-such-browser")
    yield
    for name, value in before.items():
        object.__setattr__(settings.WEIR, name, value)


@pytest.fixture
def inhabited(db: None, tmp_path: Path) -> JobCurrent:
    return inhabit(tmp_path)
