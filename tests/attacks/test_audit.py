"""Somebody denies what they did, fills the log, or reads in it: each write leaves one entry, and
what is no write leaves none.
"""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from tests.attacks.inhabited import somebody, token_of
from tests.attacks.places import Place, places
from tests.attacks.unchanged import taken_back
from tests.attacks.writes import (
    API,
    BUTTONS,
    FORMS,
    NEW_PASSWORD,
    OWN_DOOR,
    PASSWORD,
    Write,
    api_places,
    form_places,
)
from webapp.accounts.audit.actions import UNDECLARED, action_of
from webapp.accounts.models import AuditEntry
from webapp.accounts.roles import Role

pytestmark = pytest.mark.usefixtures("inhabited")
SECRETS = (PASSWORD, NEW_PASSWORD, "8.8.8.8/hook", "csrf")


def entries_of(write: Callable[[], Any]) -> list[AuditEntry]:
    """What is done is taken back, so that each write finds what it needs."""
    with taken_back():
        AuditEntry.objects.all()._raw_delete("default")
        write()
        return list(AuditEntry.objects.all())


def asked_by_form(place: Place, write: Write, role: Role) -> list[AuditEntry]:
    client = Client(raise_request_exception=False)
    client.force_login(somebody(role, f"{role.group}-{place.name}"))
    return entries_of(
        lambda: client.post(place.filled(known=True), write.body(), query_params=place.asks_for)
    )


def test_every_form_leaves_one_entry_that_says_who_did_what() -> None:
    wrong = []
    for place, write in form_places():
        found = asked_by_form(place, write, Role.ADMIN)
        said = [
            (one.action, one.outcome, one.person, one.from_address, len(one.request_id))
            for one in found
        ]
        outcomes = {"done"} if write.changes else {"done", "refused"}
        good = (
            len(said) == 1
            and said[0][0] != UNDECLARED
            and said[0][1] in outcomes
            and said[0][2:]
            == (
                f"admin-{place.name}",
                "127.0.0.1",
                16,
            )
        )
        told = repr([(one.subject, one.details) for one in found])
        if not good or any(secret in told for secret in SECRETS):
            wrong.append((place.name, said, told))
    assert not wrong


def test_every_form_that_was_refused_leaves_one_entry_that_says_so() -> None:
    wrong = []
    for place, write in form_places():
        if write.least > Role.VIEWER:
            found = asked_by_form(place, write, Role.VIEWER)
            if [one.outcome for one in found] != ["refused"]:
                wrong.append((place.name, [(one.action, one.outcome, one.status) for one in found]))
    assert not wrong


@pytest.mark.parametrize(("role", "outcome"), [(Role.ADMIN, "done"), (Role.VIEWER, "refused")])
def test_every_button_of_a_form_is_called_what_it_does(role: Role, outcome: str) -> None:
    client, wrong = Client(raise_request_exception=False), []
    client.force_login(somebody(role))
    by_name = {place.name: place for place in places()}
    for (name, button), action in BUTTONS.items():
        path, body = by_name[name].filled(known=True), FORMS[name].body() | {button: "1"}
        found = entries_of(lambda path=path, body=body: client.post(path, body))  # type: ignore[misc]
        said = [(one.action, one.outcome, bool(one.subject)) for one in found]
        wrong += [(name, button, said)] if said != [(action, outcome, True)] else []
    assert not wrong


def test_a_test_of_a_connection_that_was_entered_wrong_is_refused() -> None:
    client = Client()
    client.force_login(somebody(Role.OPERATOR))
    path = next(place for place in places() if place.name == "cluster-add").filled(known=True)
    found = entries_of(lambda: client.post(path, {"name": "new", "url": "no address", "test": "1"}))
    assert [(one.action, one.outcome) for one in found] == [("cluster.test", "refused")]


@pytest.mark.parametrize("role", [Role.ADMIN, Role.VIEWER])
def test_every_operation_of_the_api_leaves_one_entry_with_its_token(role: Role) -> None:
    client, wrong = APIClient(raise_request_exception=False), []
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token_of(somebody(role), 'approve')}")
    for place, write in api_places():
        body = write.body()
        found = entries_of(
            lambda place=place, write=write, body=body: getattr(client, write.method)(  # type: ignore[misc]
                place.filled(known=True), body, format="json"
            )
        )
        said = [(one.action, one.outcome, one.door, one.token.partition(" (")[0]) for one in found]
        outcome = "done" if role >= write.least else "refused"
        good = len(said) == 1 and said[0][0] != UNDECLARED and said[0][2:] == ("api", "of approve")
        if (
            not good
            or (write.changes and said[0][1] != outcome)
            or any(secret in repr(found[0].details) for secret in SECRETS)
        ):
            wrong.append((place.name, write.method, said))
    assert not wrong


def test_every_declared_write_has_a_name_in_the_log() -> None:
    names = [*FORMS, *OWN_DOOR, *(name for name, _method in API)]
    assert [name for name in names if action_of(name) == UNDECLARED] == []


def test_looking_at_every_page_leaves_no_entry() -> None:
    client = Client(raise_request_exception=False)
    client.force_login(somebody(Role.VIEWER))
    AuditEntry.objects.all()._raw_delete("default")
    for place in places()[::4]:
        client.get(place.filled(known=True), place.asks_for)
    assert not AuditEntry.objects.exists()


def test_whoever_is_not_signed_in_fills_no_table() -> None:
    AuditEntry.objects.all()._raw_delete("default")
    client = Client(raise_request_exception=False)
    for place, write in form_places():
        client.post(place.filled(known=True), write.body())
    for place, write in api_places():
        getattr(client, write.method)(
            place.filled(known=True), headers={"Authorization": "Bearer weir_nobodys"}
        )
    assert not AuditEntry.objects.exists()
