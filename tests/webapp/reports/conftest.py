"""Reports in a folder of their own, and people who ask for them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.core.cache import cache
from rest_framework.test import APIClient

from tests.webapp.builders import person
from webapp.accounts.models import ApiToken


@pytest.fixture(autouse=True)
def reports_root(tmp_path: Path) -> Iterator[Path]:
    cache.clear()
    before = settings.WEIR.reports_root
    object.__setattr__(settings.WEIR, "reports_root", str(tmp_path / "reports"))
    yield tmp_path / "reports"
    object.__setattr__(settings.WEIR, "reports_root", before)


@pytest.fixture
def no_chromium() -> Iterator[None]:
    """As on a machine without a browser: what is not about the PDF need not wait for one."""
    object.__setattr__(settings.WEIR, "chromium", "no-such-browser")
    yield
    object.__setattr__(settings.WEIR, "chromium", "")


@pytest.fixture
def writer(db: None) -> APIClient:
    client = APIClient()
    token = ApiToken.objects.issue(person("robot", operator=True), "test", "write")[1]
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return client
