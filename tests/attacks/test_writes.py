"""Somebody signed in, or with a token, writes what they may not: by every form, every operation,
from another site, by a mere link.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from rest_framework.test import APIClient

from tests.attacks.inhabited import somebody, token_of
from tests.attacks.places import Place, places
from tests.attacks.scale import FULL, examples
from tests.attacks.unchanged import snapshot, statements, taken_back
from tests.attacks.writes import API, FORMS, OF_SHIPPERS, OWN_DOOR, Write, api_places, form_places
from webapp.accounts.models import ApiToken
from webapp.accounts.roles import Role

ROLES = (None, *Role)
SCOPES = tuple(ApiToken.Scope)
REFUSED = {401, 403, 405}
ANSWERED = {200, 302, 403, 405}
NOTHING_BEHIND = {
    "mcp",
    "/api/v1/%(rest)s",
    "documentation",
    "/docs/%(rest)s",
    "oidc-start",
    "oidc-back",
    "/readyz",
    *OF_SHIPPERS,
}
"""What answers for addresses that nobody made, what opens to no person, and what `make docs` builds
(``tests/webapp/documentation``).
"""
pytestmark = pytest.mark.usefixtures("inhabited")


def signed_in(role: Role | None, *, csrf: bool = False) -> Client:
    client = Client(enforce_csrf_checks=csrf, raise_request_exception=False)
    client.force_login(somebody(role, is_superuser=role is Role.ADMIN))
    return client


def sent(client: Any, place: Place, write: Write, body: dict[str, Any]) -> Any:
    more = {"format": "json"} if isinstance(client, APIClient) else {"query_params": place.asks_for}
    return getattr(client, write.method)(place.filled(known=True), body, **more)


def is_below(role: Role | None, write: Write) -> bool:
    return (role or Role.VIEWER) < write.least


def changes(client: Any, place: Place, method: str) -> bool:
    with statements() as seen, taken_back():
        getattr(client, method)(place.filled(known=True))
    return bool(seen)


@pytest.mark.parametrize("role", ROLES)
def test_no_form_writes_for_who_may_not(role: Role | None) -> None:
    client, before, opened = signed_in(role), None, []
    for place, write in form_places():
        path, body = place.filled(known=True), write.body()
        before = before or snapshot()
        for said in (body, {}):
            if not is_below(role, write):
                continue
            with statements() as seen:
                answer = client.post(path, said, query_params=place.asks_for)
            refused = answer.status_code == 403 or (write.approves and answer.status_code == 302)
            opened += [(place.name, answer.status_code, seen)] if seen or not refused else []
    assert not opened
    assert snapshot() == before


def complaints(answer: Any) -> str:
    form = answer.context["form"] if answer.context and "form" in answer.context else None
    return str(form.errors) if form is not None else answer.headers.get("Location", "")


@pytest.mark.parametrize("role", ROLES)
def test_every_form_writes_for_who_may(role: Role | None) -> None:
    """Or the refusals above would prove nothing."""
    user, client = somebody(role), Client()
    for place, write in form_places():
        if is_below(role, write):
            continue
        client.force_login(user)  # again: with another password everybody is signed out
        with statements() as seen, taken_back():
            answer = client.post(
                place.filled(known=True), write.body(), query_params=place.asks_for
            )
        assert answer.status_code in (200, 302), (place.name, answer.status_code)
        assert bool(seen) or not write.changes, (place.name, complaints(answer))


def authorised() -> Iterator[tuple[str, Role | None, str, APIClient]]:
    """Every role, by its session and by a token of each scope."""
    for role in ROLES:
        user = somebody(role)
        for scope in ("session", *SCOPES):
            client = APIClient(raise_request_exception=False)
            if scope == "session":
                client.force_login(user)
            else:
                client.credentials(HTTP_AUTHORIZATION=f"Bearer {token_of(user, scope)}")
            yield f"{user.username} by {scope}", role, scope, client


def may(role: Role | None, scope: str, write: Write) -> bool:
    scopes = (
        {"session", ApiToken.Scope.APPROVE}
        if write.approves
        else {"session", ApiToken.Scope.WRITE, ApiToken.Scope.APPROVE}
    )
    return not is_below(role, write) and scope in scopes


def test_the_api_writes_for_who_may_and_for_nobody_else() -> None:
    clients, tried, wrong = list(authorised()), 0, []
    before = snapshot()
    for turn, (place, write) in enumerate(api_places()):
        for who, role, scope, client in clients if FULL else clients[turn % 2 :: 2]:
            for body in (write.body(), {})[: examples(1, 2)]:
                with statements() as seen, taken_back():
                    status = sent(client, place, write, body).status_code
                tried += 1
                allowed = may(role, scope, write)
                good = (
                    status < 500 and status not in REFUSED
                    if allowed
                    else status == 403 and not seen
                )
                if not good or (allowed and write.changes and body == write.body() and not seen):
                    wrong.append((place.name, write.method, who, status, seen))
    assert tried >= examples(100, 400)
    assert not wrong
    assert snapshot() == before


def test_every_operation_of_the_document_is_in_the_matrix() -> None:
    paths = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    documented = sum(method != "get" for operations in paths.values() for method in operations)
    assert documented == len(API) + len(OF_SHIPPERS)


def test_what_is_not_declared_to_write_writes_nothing() -> None:
    """A new write has to be declared with who may, and then is attacked by all the others."""
    client, wrong = signed_in(Role.ADMIN), []
    for place in places():
        for method in ("post", "delete", "put", "patch")[: examples(1, 4)]:
            declared = place.name in (*FORMS, *OWN_DOOR) or (place.name, method) in API
            if not declared and changes(client, place, method):
                wrong.append((place.label, method))
    assert not wrong


def test_a_link_writes_nothing_and_behind_each_there_is_something() -> None:
    """GET, HEAD and OPTIONS by somebody who may everything: a picture in a mail must not act.

    Nor is any door of this walk refused only because there is nothing behind it.
    """
    client, before, wrong = signed_in(Role.ADMIN), snapshot(), []
    for place in places():
        for method in ("get", "head", "options")[: examples(1, 3)]:
            with statements() as seen:
                answer = getattr(client, method)(place.filled(known=True), place.asks_for)
            is_answered = answer.status_code in ANSWERED or (
                method == "options" and answer.status_code < 500
            )
            if seen or not (is_answered or place.label in NOTHING_BEHIND):
                wrong.append((place.label, method, answer.status_code, seen))
    assert not wrong
    assert snapshot() == before


@pytest.mark.parametrize(
    "headers",
    [{"HTTP_ORIGIN": "https://evil.example"}, {}, {"HTTP_X_CSRFTOKEN": "a" * 32}][: examples(1, 3)],
)
def test_a_form_of_another_site_writes_nothing(headers: dict[str, str]) -> None:
    client, before = signed_in(Role.ADMIN, csrf=True), snapshot()
    doors = [place for place in places() if place.name in (*FORMS, *OWN_DOOR)]
    for place in doors:
        write = FORMS.get(place.name, Write(Role.VIEWER))
        answer = client.post(
            place.filled(known=True), write.body(), query_params=place.asks_for, **headers
        )
        assert answer.status_code in (403, 405), (place.label, answer.status_code)
    api = APIClient(enforce_csrf_checks=True)
    api.force_login(somebody(Role.ADMIN, "session", is_superuser=True))
    for place, write in api_places():
        assert sent(api, place, write, write.body()).status_code == 403, place.name
    after = snapshot()
    assert {table for table in after if after[table] != before[table]} <= {
        "accounts_user",
        "accounts_user_groups",
    }


def test_people_who_were_blocked_write_and_read_nothing() -> None:
    user = somebody(Role.ADMIN, is_superuser=True)
    client, api = Client(raise_request_exception=False), APIClient()
    client.force_login(user)
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {token_of(user, 'approve')}")
    user.is_active = False
    user.save()
    for place, write in form_places():
        assert sent(client, place, write, write.body()).status_code == 302, place.name
    for place, write in api_places():
        assert sent(api, place, write, write.body()).status_code == 401, place.name
