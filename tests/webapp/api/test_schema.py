"""The OpenAPI document, and the API held against it."""

import pytest
import schemathesis
from django.core.management import call_command
from django.urls import reverse
from hypothesis import HealthCheck, given, settings

from tests.webapp.api.test_lists import LISTS, everything
from webapp.config.wsgi import application

BESIDE = 9
"""Single clusters, findings, jobs; files and X-rays of storage; plans, one plan, its files and its journal."""


def test_the_document_is_valid_and_complete(tmp_path, db):
    path = tmp_path / "schema.yml"
    call_command("spectacular", "--file", str(path), "--validate", "--fail-on-warn")
    text = path.read_text()
    assert all(reverse(f"api-{name}-list") in text for name in LISTS)


@pytest.mark.django_db
def test_the_document_is_for_people_who_are_signed_in(client, api):
    assert client.get(reverse("api-schema")).status_code == 401
    assert api.get(reverse("api-schema")).json()["openapi"].startswith("3.")


@pytest.mark.django_db
def test_the_page_of_the_api_lists_every_operation(client, api):
    from tests.webapp.builders import person

    paths = api.get(reverse("api-schema")).json()["paths"]
    client.force_login(person())
    page = client.get(reverse("api-docs")).content.decode()
    assert page.count("<h2><code>GET /api/v1/") == sum("get" in operations for operations in paths.values()) > len(LISTS) + BESIDE
    assert "not_acknowledged" in page


@pytest.mark.django_db
def test_answers_are_those_of_the_document(token):
    """Schemathesis makes requests from the document, sensible and not, and checks each answer against it."""
    everything()
    headers = {"Authorization": f"Bearer {token}"}
    schema = schemathesis.openapi.from_wsgi("/api/v1/schema/", application, headers=headers)
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) >= len(LISTS) + BESIDE
    for operation in operations:

        @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
        @given(case=operation.as_strategy())
        def holds(case):
            # Only a cursor that the API gave is a good one, which no document can say.
            case.query.pop("cursor", None)
            case.call_and_validate(headers=headers)

        holds()
