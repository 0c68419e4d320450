"""Endpoints and deliveries over the API and the command line."""

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from tests.webapp.builders import person
from tests.webapp.delivery.builders import delivery, endpoint, notice
from webapp.accounts.models import ApiToken
from webapp.config import encryption
from webapp.delivery.formats.weir import SCHEMA
from webapp.delivery.models import Delivery, Endpoint

pytestmark = pytest.mark.django_db
CANARY = "canary-4711"
NEW: dict[str, Any] = {
    "name": "pager",
    "url": f"https://8.8.8.8/{CANARY}",
    "matchers": [{"label": "job", "operator": "=~", "value": "a.*"}],
}


def client(scope: str, *, operator: bool = True) -> APIClient:
    token = ApiToken.objects.issue(
        person(f"robot-{scope}-{operator}", operator=operator), "test", scope
    )[1]
    found = APIClient()
    found.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return found


def test_an_endpoint_is_made_changed_and_removed_and_tells_its_secret_once() -> None:
    api = client("write")
    made = api.post(reverse("api-endpoints-list"), NEW, format="json")
    assert made.status_code == 201
    body = made.json()
    assert body["secret"].startswith("whsec_")
    one = reverse("api-endpoints-detail", args=[body["id"]])
    shown = api.get(one).content.decode() + api.get(reverse("api-endpoints-list")).content.decode()
    assert CANARY not in made.content.decode() + shown
    assert "whsec_" not in shown
    changed = api.put(one, {"name": "pager", "min_severity": "critical"}, format="json").json()
    assert (changed["min_severity"], changed["secret"]) == ("critical", "")
    assert Endpoint.objects.get().url == NEW["url"]
    assert api.delete(one).status_code == 204
    assert not Endpoint.objects.exists()


def test_a_stored_key_does_not_go_with_a_changed_address_over_the_api() -> None:
    found = endpoint(
        "https://8.8.8.8/",
        format="alertmanager",
        credential_encrypted=encryption.encrypt("canary-key"),
        secret_encrypted="",
    )
    one, api = reverse("api-endpoints-detail", args=[found.pk]), client("write")
    changed = {"name": found.name, "format": "alertmanager", "url": "https://8.8.4.4/"}
    answer = api.put(one, changed, format="json")
    assert answer.status_code == 400
    assert "enter the secret again" in answer.content.decode()
    assert Endpoint.objects.get().url == "https://8.8.8.8/"
    assert api.put(one, {**changed, "credential": ""}, format="json").status_code == 200
    assert Endpoint.objects.get().credential == ""


def test_a_private_address_is_refused_by_field() -> None:
    answer = client("write").post(
        reverse("api-endpoints-list"), {**NEW, "url": "https://10.0.0.1/"}, format="json"
    )
    assert answer.status_code == 400
    assert "url" in answer.json()["error"]["fields"]


@pytest.mark.parametrize(
    ("entered", "fields"),
    [
        ({"owner_email": f"{'x' * 250}@a.example"}, {"owner_email": ["Give one mail address."]}),
        ({"matchers": [{"label": "job", "operator": "?"}]},
         {"matchers": [('0.operator: "?" is not a valid '
                       'choice.'), "0.value: This field is required."]}),
        ({"matchers": [{"label": "job", "operator": "=~", "value": "(x"}], "min_severity": "awful"},
         {"matchers": [("'(x' for job is not a regular expression that RE2 "
                       "understands.")], "min_severity": ['"awful" is not a valid choice.']}),
        ({"emails": ["", "a"]}, {"emails": ["0: This field may not be blank."]}),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_words_by_field_and_place(
    entered: dict[str, Any], fields: dict[str, list[str]]
) -> None:
    answer = client("write").post(reverse("api-endpoints-list"), {**NEW, **entered}, format="json")
    assert answer.json()["error"]["fields"] == fields and not Endpoint.objects.exists()


def test_rotation_switch_and_test() -> None:
    api, found = client("write"), endpoint()
    assert (
        api.post(reverse("api-endpoints-rotate", args=[found.pk]))
        .json()["secret"]
        .startswith("whsec_")
    )
    assert api.post(reverse("api-endpoints-disable", args=[found.pk])).json()["enabled"] is False
    assert api.post(reverse("api-endpoints-enable", args=[found.pk])).json()["enabled"] is True
    assert api.post(reverse("api-endpoints-test", args=[found.pk])).status_code == 202
    assert Delivery.objects.get().kind == "test"
    assert (
        api.post(reverse("api-endpoints-rotate", args=[endpoint(format="slack").pk])).status_code
        == 409
    )


def test_deliveries_are_read_and_sent_again() -> None:
    api = client("write")
    row = delivery(endpoint(), notice(made_at=timezone.now()), state="dead")
    assert (
        api.get(reverse("api-deliveries-list"), {"state": "dead"}).json()["results"][0]["uid"]
        == row.uid
    )
    one = api.get(reverse("api-deliveries-detail", args=[row.uid])).json()
    assert one["notice"]["alerts"][0]["title"] == "Checkpoints of orders are declined"
    assert api.post(reverse("api-deliveries-replay", args=[row.uid])).json()["state"] == "pending"
    assert api.post(reverse("api-deliveries-replay", args=[row.uid])).status_code == 409
    Delivery.objects.update(state="dead")
    assert api.post(
        reverse("api-deliveries-replay-range"), {"from": "now-1h"}, format="json"
    ).json() == {"replayed": 1}


def test_the_schema_of_notices_is_served() -> None:
    assert client("read").get(reverse("api-notice-schema")).json() == json.loads(json.dumps(SCHEMA))


def test_the_command_adds_an_endpoint_and_never_takes_an_address_as_an_argument(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WEIR_ENDPOINT_URL", "https://8.8.8.8/hook")
    out = io.StringIO()
    call_command("add_endpoint", "pager", "--match", 'cluster="a"', "--json", stdout=out)
    assert json.loads(out.getvalue())["secret"].startswith("whsec_")
    assert Endpoint.objects.get().created_name == "command line"


def test_the_command_asks_for_the_key_that_a_format_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_ENDPOINT_URL", "https://8.8.8.8/v2/enqueue")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{CANARY}\n"))
    out = io.StringIO()
    call_command("add_endpoint", "pager", "--format", "pagerduty", stdout=out)
    assert Endpoint.objects.get().credential == CANARY
    assert CANARY not in out.getvalue()


def test_the_command_refuses_what_the_page_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_ENDPOINT_URL", "https://127.0.0.1/")
    with pytest.raises(CommandError, match="WEIR_WEBHOOK_ALLOWED_NETWORKS") as refused:
        call_command("add_endpoint", "pager")
    assert refused.value.returncode == 2


def test_the_command_lists_and_replays() -> None:
    row = delivery(endpoint(name="pager"), notice(made_at=timezone.now()), state="dead")
    out = io.StringIO()
    call_command("deliveries", "--json", stdout=out)
    assert json.loads(out.getvalue())["uid"] == row.uid
    call_command("deliveries", "--replay", "--endpoint", "pager", stdout=io.StringIO())
    row.refresh_from_db()
    assert (row.state, row.replayed_by) == ("pending", "command line")
    with pytest.raises(CommandError, match="nothing of that kind"):
        call_command("deliveries", "--replay", stdout=io.StringIO())
