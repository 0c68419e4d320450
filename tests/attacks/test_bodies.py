"""Bodies of forms and of the API's writes: each field by itself holds what nobody honest sends, and
all columns of all tables are sent along.
"""

import json
import re
from random import Random
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, models
from django.test import Client
from rest_framework.test import APIClient

from tests.attacks.inhabited import somebody, token_of
from tests.attacks.places import Place
from tests.attacks.questions import VALUES
from tests.attacks.scale import examples
from tests.attacks.unchanged import OF_SIGN_INS, taken_back
from tests.attacks.writes import BUTTONS, Write, api_places, form_places
from webapp.accounts.audit.entered_fields import SHOWN
from webapp.accounts.models import AuditEntry, User
from webapp.accounts.roles import Role

pytestmark = pytest.mark.usefixtures("inhabited")
MARK = "mass-assigned-mark"
TEXTS = (models.CharField, models.TextField, models.JSONField)
HOSTILE = ("9" * 5_000, *VALUES, "-" + "9" * 5_000, "\U0001f600" * 300, "on\non", "a\r\nb: c")
IN_JSON: tuple[Any, ...] = (
    *(None, True, [], {}, [[]], 0, -1, 1.5, 10**30, 10**400, [None], "\x00", "\ud800"),
    *({"a": {"b": []}}, ["x"] * 2_000, "a" * 100_000, [{"label": 1}], {"$gt": ""}),
)
ELSEWHERE = (
    *("//evil.example", "https://evil.example/", "/\\evil.example", "/%09//evil.example"),
    *("javascript:alert(1)", "\x00//evil.example", "///evil.example"),
)
ASKED = {
    "incident-silence": ("reason",),
    "api-incidents-silence": ("reason",),
    "storage-statement": ("cluster",),
}
"""Fields of forms that a good body leaves out, where a column is called alike."""
LEADS_AWAY = re.compile(r"(?:https?:)?[/\\]{2,}|java")


def values_of(place: Place, name: str, values: tuple[Any, ...], short: int, full: int) -> list[Any]:
    return Random(f"{place.label} {name}").sample(values, min(examples(short, full), len(values)))


def test_no_field_breaks_a_form_or_leads_to_another_site() -> None:
    client, admin = Client(raise_request_exception=False), somebody(Role.ADMIN)
    tried, wrong = 0, []
    for place, write in form_places()[:: examples(3, 1)]:
        body = write.body()
        bodies = [
            {**body, name: value}
            for name in body
            for value in values_of(place, name, HOSTILE, 1, 25)
        ]
        bodies += [{**body, "next": away} for away in ELSEWHERE[: examples(1, 7)]]
        for filled in bodies:
            client.force_login(admin)  # again: with another password everybody is signed out
            with taken_back():
                answer = client.post(
                    place.filled(known=True),
                    filled,
                    query_params={**place.asks_for, "next": filled.get("next", "")},
                    headers={"referer": "http://evil.example/"},
                )
            tried += 1
            location = answer.headers.get("Location", "").strip("\x00\t ")
            if answer.status_code >= 500 or LEADS_AWAY.match(location):
                wrong.append((place.name, str(filled)[:300], answer.status_code, location))
    assert tried >= examples(30, 2_000)
    assert not wrong, wrong[:20]


def test_a_number_of_5000_digits_is_no_endpoint() -> None:
    client = Client()
    client.force_login(somebody(Role.ADMIN))
    [place] = [place for place, _ in form_places() if place.name == "deliveries-replay"]
    for number in ("9" * 5_000, "9" * 19, "²", "-1", ""):
        assert client.post(place.filled(known=True), {"endpoint": number}).status_code == 404


def test_no_field_breaks_a_write_of_the_api() -> None:
    api, tried, wrong = APIClient(raise_request_exception=False), 0, []
    token = token_of(somebody(Role.ADMIN), "approve")
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    for place, write in api_places():
        body = write.body()
        for name in body:
            for value in values_of(place, name, (*IN_JSON, *HOSTILE), 4, 90):
                text = json.dumps({**body, name: value})
                with taken_back():
                    answer = getattr(api, write.method)(
                        place.filled(known=True), text, content_type="application/json"
                    )
                tried += 1
                wrong += [(place.name, text[:300])] if answer.status_code >= 500 else []
    assert tried >= examples(40, 900)
    assert not wrong, wrong[:20]


def test_nothing_that_is_filled_hides_from_the_audit_log_what_was_done() -> None:
    boss, client = somebody(Role.ADMIN), Client()
    client.force_login(boss)
    along = {f"pressure.threshold_{number}": "1" for number in range(500)}
    along |= dict.fromkeys(sorted(SHOWN - {"username", "role", "sees", "sees_only"}), "alice")
    made = {"username": "mallory", "role": "admin", "sees": "everything"}
    assert "mallory" in client.post("/access/users/add/", {**along, **made}).content.decode()
    entry = AuditEntry.objects.first()
    assert entry is not None
    assert made.items() <= entry.details.items()


def columns() -> set[str]:
    fields = [field for model in apps.get_models() for field in model._meta.get_fields()]
    return {field.name for field in fields} | {getattr(field, "attname", "pk") for field in fields}


def marked() -> list[str]:
    found = []
    for model in apps.get_models(include_auto_created=True):
        table = model._meta.db_table
        for field in model._meta.concrete_fields:
            if isinstance(field, TEXTS) and table not in OF_SIGN_INS:
                with connection.cursor() as cursor:
                    cursor.execute(
                        f'SELECT COUNT(*) FROM "{table}" '
                        f'WHERE CAST("{field.column}" AS text) LIKE %s',
                        [f"%{MARK}%"],
                    )
                    found += [f"{table}.{field.column}"] if cursor.fetchone()[0] else []
    return found


def sent(user: User, place: Place, write: Write, body: dict[str, Any]) -> Any:
    if place.is_api:
        api = APIClient(raise_request_exception=False)
        api.force_authenticate(user)
        return getattr(api, write.method)(place.filled(known=True), body, format="json")
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client.post(place.filled(known=True), body, query_params=place.asks_for)


def test_no_column_is_written_that_is_not_asked_for() -> None:
    wrong, buttons = [], {button for _, button in BUTTONS}
    people = {role: somebody(role, f"{role.group}-who-writes") for role in Role}
    writes = [*form_places(), *api_places()]
    for place, write in writes[:: examples(6, 1)]:
        body = write.body()
        asked_for = {*body, *ASKED.get(place.name, ()), *buttons}
        extra = dict.fromkeys(columns() - asked_for, MARK) | {"is_superuser": "1", "is_staff": "1"}
        with taken_back():
            powers = list(User.objects.values_list("pk", "is_superuser", "is_staff"))
            user = people[Role.ADMIN if write.approves else write.least]
            answer = sent(user, place, write, {**extra, **body})
            found = ["500"] if answer.status_code >= 500 else marked()
            new = set(User.objects.values_list("pk", "is_superuser", "is_staff")) - {*powers}
            powerful = [row for row in new if row[1] or row[2]]
        wrong += [(place.name, found, powerful)] if found or powerful else []
    assert not wrong
