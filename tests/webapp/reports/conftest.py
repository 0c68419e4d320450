"""Reports in a folder of their own, and people who ask for them."""

from pathlib import Path

import pytest
from rest_framework.test import APIClient

from tests.webapp.builders import person
from tests.weir_settings import WeirSettings
from webapp.accounts.models import ApiToken


@pytest.fixture(autouse=True)
def reports_root(home: Path) -> Path:
    return home / "reports"


@pytest.fixture
def no_chromium(weir: WeirSettings) -> None:
    """As on a machine without a browser: what is not about the PDF need not wait for one."""
    weir(chromium="no-such-browser")


@pytest.fixture
def writer(db: None) -> APIClient:
    client = APIClient()
    token = ApiToken.objects.issue(person("robot", operator=True), "test", "write")[1]
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return client
