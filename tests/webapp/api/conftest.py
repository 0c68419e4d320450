"""Clients of the API."""

import pytest
from rest_framework.test import APIClient

from tests.webapp.builders import person
from webapp.accounts.models import ApiToken


@pytest.fixture
def token(db) -> str:
    return ApiToken.objects.issue(person("robot"), "test")[1]


@pytest.fixture
def api(token: str) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return client
