"""People who look at pages."""

import pytest
from django.test import Client

from tests.webapp.builders import person


@pytest.fixture
def viewer(db: None, client: Client) -> Client:
    client.force_login(person())
    return client


@pytest.fixture
def operator(db: None) -> Client:
    client = Client()
    client.force_login(person("olga", operator=True))
    return client
