"""People who look at pages."""

import pytest
from django.core.cache import cache
from django.test import Client

from tests.webapp.builders import person


@pytest.fixture(autouse=True)
def nothing_cached() -> None:
    """What a test before has cached for some seconds is not of this one's rows."""
    cache.clear()


@pytest.fixture
def viewer(db: None, client: Client) -> Client:
    client.force_login(person())
    return client


@pytest.fixture
def operator(db: None) -> Client:
    client = Client()
    client.force_login(person("olga", operator=True))
    return client
