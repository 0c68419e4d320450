"""Two people write at once: before each statement of a write that is in no transaction, somebody
else removes what it is about, or sends the same.
"""

from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any

import pytest
from django.db import connection, models
from django.test import Client
from rest_framework.test import APIClient

from tests.attacks.inhabited import somebody, token_of
from tests.attacks.places import OWNER, Place
from tests.attacks.scale import examples
from tests.attacks.unchanged import taken_back
from tests.attacks.writes import Write, api_places, form_places
from webapp.accounts.models import User
from webapp.accounts.roles import Role
from webapp.lib import scopes

AFTER_SIGN_IN = 4
"""Earlier statements read the session or token, and whose it is."""
MOST_STATEMENTS = 60


class Meanwhile:
    """Does something once, before a statement outside of transactions."""

    def __init__(self, number: int, do: Callable[[], Any]) -> None:
        self.left, self.do, self.is_done = number, do, False
        self.depth = len(connection.savepoint_ids)

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not self.is_done and len(connection.savepoint_ids) <= self.depth:
            self.left -= not sql.startswith(("RELEASE", "ROLLBACK"))
            if self.left <= 0:
                self.is_done = True
                self.do()
        return execute(sql, params, many, context)


def subject_of(place: Place) -> models.QuerySet[Any]:
    """The row that its address names; none if it names a job, a host or nothing."""
    before = place.template.partition("%(")[0].strip("/").split("/")
    if "users" in before and place.parameters:
        return User.objects.filter(username="robot")
    if not place.parameters or before[-1] not in OWNER:
        return User.objects.none()
    rows = OWNER[before[-1]]._base_manager
    return rows.filter(pk=rows.latest("pk").pk)


def remove(rows: models.QuerySet[Any]) -> None:
    with scopes.everything(), suppress(models.ProtectedError):
        for row in rows.all():
            row.delete()


@pytest.mark.usefixtures("inhabited")
@pytest.mark.parametrize("is_removed", [True, False])
def test_a_write_that_somebody_overtakes_breaks_nothing(
    is_removed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The transaction of a test is none of a request.
    monkeypatch.setattr(
        "django.db.transaction.mark_for_rollback_on_error", lambda using: nullcontext()
    )
    admin, tried, broken = somebody(Role.ADMIN), 0, []
    token = token_of(admin, "approve")

    def send(place: Place, write: Write, path: str, body: Any, more: Any) -> None:
        client: Any = (APIClient if place.is_api else Client)(raise_request_exception=False)
        if place.is_api:
            client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
        else:
            client.force_login(admin)
        kept = scopes._current.set(None)
        answer = getattr(client, write.method)(path, body, **more)
        scopes._current.reset(kept)
        broken.extend([(place.name, answer.status_code)] if answer.status_code >= 500 else [])

    for place, write in [*form_places(), *api_places()][:: examples(12, 1)]:
        rows = subject_of(place)
        if is_removed and not rows.exists():
            continue
        for number in range(AFTER_SIGN_IN, MOST_STATEMENTS):
            more = {"format": "json"} if place.is_api else {"query_params": place.asks_for}
            again = partial(send, place, write, place.filled(known=True), write.body(), more)
            with taken_back():
                meanwhile = Meanwhile(number, partial(remove, rows) if is_removed else again)
                with connection.execute_wrapper(meanwhile):
                    again()
            tried += 1
            if not meanwhile.is_done:
                break
    assert tried >= examples(15, 250)
    assert not broken
