"""People who ask for reports."""

import pytest
from rest_framework.test import APIClient

from tests.webapp.builders import person
from webapp.accounts.models import ApiToken


@pytest.fixture
def writer(db: None) -> APIClient:
    client = APIClient()
    token = ApiToken.objects.issue(person("robot", operator=True), "test", "write")[1]
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return client
