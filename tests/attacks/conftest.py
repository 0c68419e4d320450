"""An inhabited installation whose files lie in a folder of their own."""

from pathlib import Path

import pytest
from django.core.cache import cache

from tests.attacks.inhabited import inhabit
from tests.weir_settings import WeirSettings
from webapp.fleet.models import JobCurrent


@pytest.fixture(autouse=True)
def _folders(home: Path, weir: WeirSettings) -> None:
    """Nothing is left in the home of the tests, and no page comes from the cache."""
    cache.clear()
    weir(chromium="no-such-browser")


@pytest.fixture
def inhabited(db: None, tmp_path: Path) -> JobCurrent:
    return inhabit(tmp_path)
