"""Storage pages: what they show, and what they say where there is nothing yet."""

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


def test_storage_without_any_root_says_what_to_do(viewer: Client) -> None:
    page = viewer.get("/storage/").content.decode()
    assert "add_storage_root" in page
