"""Tests of one recorded job each have a lake of their own; what was worked out of another's is not
theirs.
"""

from collections.abc import Iterator

import pytest
from django.core.cache import cache


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()
