"""People who look at pages."""

import pytest
from django.core.cache import cache
from django.test import Client

from tests.webapp.builders import person


@pytest.fixture(autouse=True)
def _empty_cache():
    cache.clear()


@pytest.fixture
def viewer(db, client: Client) -> Client:
    client.force_login(person())
    return client


@pytest.fixture
def operator(db) -> Client:
    client = Client()
    client.force_login(person("olga", operator=True))
    return client
