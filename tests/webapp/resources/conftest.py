"""Resources are worked out afresh: no test finds what another left in the cache."""

import pytest
from django.core.cache import cache


@pytest.fixture(autouse=True)
def _empty_cache():
    cache.clear()
