"""The OpenAPI document; ``tests/attacks/test_fuzz.py`` holds the API against it."""

import pytest
from django.core.management import call_command
from django.urls import reverse

from tests.webapp.api.test_lists import LISTS

BESIDE = 9
"""Single clusters, findings, jobs; files and X-rays of storage; plans, one plan, its files and its
journal.
"""


def test_the_document_is_valid_and_complete(tmp_path, db):
    path = tmp_path / "schema.yml"
    call_command("spectacular", "--file", str(path), "--validate", "--fail-on-warn")
    text = path.read_text()
    assert all(reverse(f"api-{name}-list") in text for name in LISTS)


@pytest.mark.django_db
def test_the_document_is_for_people_who_are_signed_in(client, api):
    assert client.get(reverse("api-schema")).status_code == 401
    assert api.get(reverse("api-schema")).json()["openapi"].startswith("3.")
