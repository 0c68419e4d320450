"""Somebody signed in sends whatever comes to mind: crafted queries to each page, crafted forms, and
to the API all that its document knows.

Nothing breaks, whatever the role; the API answers JSON whatever it is asked.
"""

import json
import logging
from typing import Any

import pytest
import schemathesis
from django.test import Client
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import positive_data_acceptance

from tests.attacks.inhabited import somebody, token_of
from tests.attacks.places import Place, places
from tests.attacks.questions import CURSORS, asked, parameters
from tests.attacks.scale import FULL, examples
from tests.attacks.unchanged import taken_back
from tests.attacks.writes import form_places
from webapp.accounts.models import ApiToken
from webapp.accounts.roles import Role
from webapp.config.wsgi import application

ROLES = (Role.VIEWER, Role.OPERATOR, Role.ADMIN)
OPERATIONS = 70
DEEPER = b"[" * 200_000
POSITIONS = ("cursor", "events", "checkpoints", "jobs", "missing", "files", "at", "after", "page")
"""Parameters that say where a list goes on."""
JSON = ("application/json", "application/vnd.oai.openapi+json")
FILES = "/files/"
"""Addresses of the API that hand out files, not JSON."""
pytestmark = pytest.mark.usefixtures("inhabited")


def _ends(answer: Any) -> bool:
    """A download may break when its headers are long gone."""
    try:
        return not answer.streaming or sum(map(len, answer.streaming_content)) >= 0
    except Exception:
        logging.exception("the download broke off")
        return False


def visited(place: Place) -> bool:
    return place.template != "/readyz"


def test_no_page_breaks_whatever_it_is_asked() -> None:
    clients = []
    for role in ROLES:
        client = Client(raise_request_exception=False)
        client.force_login(somebody(role, is_superuser=role is Role.ADMIN))
        clients.append(client)
    tried, broken = 0, []
    for turn, place in enumerate([*filter(visited, places())][:: examples(2, 1)]):
        path = place.filled(known=True)
        also = place.asks_for
        queries = asked(place.label, examples(1, 20), parameters(), also=also)
        for number, query in enumerate(queries):
            answer = clients[(turn + number) % 3].get(path, query)
            tried += 1
            if answer.status_code >= 500 or _is_no_json(place, answer) or not _ends(answer):
                broken.append((path, query, answer.status_code))
    assert tried >= examples(110, 3_000)
    assert not broken, f"{len(broken)} of {tried}: {broken[:20]}"


def test_no_list_breaks_wherever_it_is_to_go_on() -> None:
    """Crafted cursors to each page and each list, and nothing else with them that would be refused
    first: in full each place gets each cursor, under each parameter in turn.
    """
    client = Client(raise_request_exception=False)
    client.force_login(somebody(Role.VIEWER))
    broken = []
    asked_of = list(filter(visited, places()))
    for number, place in enumerate(asked_of[examples(1, 0) :: examples(2, 1)]):
        path = place.filled(known=True)
        for turn in range(number, number + examples(1, len(CURSORS))):
            name, cursor = POSITIONS[turn % len(POSITIONS)], CURSORS[turn % len(CURSORS)]
            status = client.get(path, {**place.asks_for, name: cursor}).status_code
            broken += [(path, name, cursor, status)] if status >= 500 else []
    assert not broken, broken[:20]


def test_a_parameter_that_is_called_like_a_method_is_a_parameter() -> None:
    """Templates look into the query before they look for its methods."""
    client = Client(raise_request_exception=False)
    client.force_login(somebody(Role.ADMIN))
    methods = dict.fromkeys(
        ("items", "keys", "values", "lists", "get", "getlist", "urlencode", "dict", "copy"), "x"
    )
    pages = [place for place in filter(visited, places()) if not place.is_api]
    for place in pages[:: examples(2, 1)]:
        assert (
            client.get(place.filled(known=True), {**place.asks_for, **methods}).status_code < 500
        ), place.label


def _is_no_json(place: Place, answer: Any) -> bool:
    if not place.is_api or place.name == "api-reports-file":
        return False
    return not answer.headers["Content-Type"].startswith(JSON)


def test_no_form_breaks_whatever_is_sent() -> None:
    client, tried, broken = Client(raise_request_exception=False), 0, []
    user = somebody(Role.ADMIN)
    for place, write in form_places():
        path, body = place.filled(known=True), write.body()
        for said in asked(place.label, examples(1, 20), (*body, *parameters()), also=body):
            client.force_login(user)
            with taken_back():
                answer = client.post(path, said, query_params=place.asks_for)
            tried += 1
            broken += [(path, said, answer.status_code)] if answer.status_code >= 500 else []
    assert tried >= examples(33, 600)
    assert not broken, f"{len(broken)} of {tried}: {broken[:20]}"


GOOD = {"label": 'team="payments"', "by": "cluster"}


@pytest.mark.parametrize(
    ("role", "scope"), [(Role.VIEWER, "read"), (Role.OPERATOR, "write"), (Role.ADMIN, "approve")]
)
def test_the_api_answers_as_its_document_says_and_always_in_json(role: Role, scope: str) -> None:
    """Schemathesis makes requests from the document, sensible and not, and checks each answer
    against it.
    """
    headers = {"Authorization": f"Bearer {token_of(somebody(role), scope)}"}
    schema = schemathesis.openapi.from_wsgi("/api/v1/schema/", application, headers=headers)
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) >= OPERATIONS
    for operation in operations:
        reads = operation.method == "get"
        if reads == (role is Role.VIEWER) or FULL:
            # That an instant or a name makes sense no schema can say, nor that there is nothing to
            # write twice.
            unsaid = [] if reads else [positive_data_acceptance]

            @settings(
                max_examples=examples(1, 8),
                deadline=None,
                suppress_health_check=list(HealthCheck),
                derandomize=True,
                database=None,
            )
            @given(case=operation.as_strategy())
            def holds(case: Any) -> None:
                # Only a cursor that the API gave is a good one, few texts are matchers, labels are
                # what clusters have, and attempts are of one job: no document can say so. Bad ones
                # are asked for above.
                case.query.pop("cursor", None)
                case.query.update({name: good for name, good in GOOD.items() if name in case.query})
                if not (case.query.get("cluster") and case.query.get("job_id")):
                    case.query.pop("attempts", None)
                with taken_back():
                    # called within its turn of the loop
                    answer = case.call_and_validate(headers=headers, excluded_checks=unsaid)  # noqa: B023
                is_file = FILES in case.operation.path and answer.status_code == 200
                assert (
                    is_file
                    or not answer.content
                    or answer.headers["content-type"][0].startswith(JSON)
                )

            holds()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[",
        b"[]" * 9,
        b"null",
        b"{}",
        b'{"a":' * 90 + b"1" + b"}" * 90,
        b"\xff\xfe",
        b'"\\ud800"',
        b"1e999",
        b"a=b",
        DEEPER,
        b"{" * 200_000,
    ],
)
def test_a_body_that_is_none_is_refused_in_json(body: bytes) -> None:
    client = Client(raise_request_exception=False)
    token = token_of(somebody(Role.ADMIN), ApiToken.Scope.APPROVE)
    for place in [place for place in places() if place.is_api and place.name][:: examples(4, 1)]:
        for kind in ("application/json", "text/plain", "multipart/form-data")[: examples(1, 3)]:
            with taken_back():
                answer = client.post(
                    place.filled(known=True),
                    body,
                    content_type=kind,
                    headers={"Authorization": f"Bearer {token}"},
                )
            assert answer.status_code < 500, (place.name, kind)
            assert not answer.content or isinstance(json.loads(answer.content), dict), (
                place.name,
                kind,
            )
