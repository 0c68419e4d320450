"""Each receiver gets what it documents where it documents it, and its answers decide: taken, refused,
or later.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

import jsonschema
import pytest
from django.utils import timezone

from tests.webapp.delivery.builders import LOOPBACK, alert, delivery, endpoint, notice
from tests.webapp.delivery.receiver import Receiver
from tests.webapp.delivery.test_formats import SCHEMAS
from webapp.config import encryption
from webapp.delivery.models import Attempt, Delivery
from webapp.delivery.notices import Notice
from webapp.delivery.sending import send_due

pytestmark = pytest.mark.django_db
KEY = "canary-4711-key"


@dataclass(frozen=True)
class Documented:
    """``entered``: the address as people enter it; ``asked``: the path of the request."""

    entered: str
    asked: str
    taken: tuple[int, str]
    refused: tuple[int, str]
    limited: str = ""
    limited_by: Mapping[str, str] = field(default_factory=dict)
    authorization: str | None = None


WORKFLOW = (
    "/workflows/1/triggers/manual/paths/invoke?api-version=1&sp=%2Ft%2Frun&sig=canary-4711-sig"
)
BOT = "/bot123:canary-4711-token/sendMessage"
RECEIVERS = {
    "teams": Documented(
        WORKFLOW,
        WORKFLOW,
        (202, ""),
        (401, '{"error": {"code": "AuthorizationFailed", "message": "The sig is not valid."}}'),
        limited_by={"retry-after": "120"},
    ),
    "discord": Documented(
        "/api/webhooks/1/canary-4711-token?thread_id=7",
        "/api/v10/webhooks/1/canary-4711-token?thread_id=7&wait=true",
        (200, '{"id": "42", "type": 0, "embeds": []}'),
        (404, '{"message": "Unknown Webhook", "code": 10015}'),
        limited='{"message": "You are being rate limited.", "retry_after": 119.2, "global": false}',
    ),
    "telegram": Documented(
        f"{BOT}?chat_id=-1001&message_thread_id=7",
        BOT,
        (200, '{"ok": true, "result": {"message_id": 42}}'),
        (400, '{"ok": false, "error_code": 400, "description": "Bad Request: chat not found"}'),
        limited=(
            '{"ok": false, "error_code": 429, "description": "Too Many Requests: retry after 120", '
            '"parameters": {"retry_after": 120}}'
        ),
    ),
    "jsm": Documented(
        "/jsm/ops/integration/v2/alerts",
        "/jsm/ops/integration/v2/alerts",
        (202, '{"result": "Request will be processed", "took": 0.1, "requestId": "r-1"}'),
        (422, '{"message": "Request body is not processable.", "took": 0.1, "requestId": "r-1"}'),
        limited='{"message": "You are making too many requests!", "took": 0.1}',
        limited_by={"retry-after": "120"},
        authorization=f"GenieKey {KEY}",
    ),
    "incidentio": Documented(
        "/v2/alert_events/http/01SOURCE",
        "/v2/alert_events/http/01SOURCE",
        (202, '{"status": "success", "message": "Event accepted for processing"}'),
        (401, '{"type": "authentication_error", "status": 401, "errors": []}'),
        limited='{"type": "too_many_requests", "rate_limit": {"retry_after": "2026-01-01T00:00:00Z"}}',
        limited_by={"retry-after": "120"},
        authorization=f"Bearer {KEY}",
    ),
}
each_receiver = pytest.mark.parametrize("name", RECEIVERS)


def sent(receiver: Receiver, name: str, told: Notice, status: int, body: str) -> Delivery:
    found = RECEIVERS[name]
    receiver.statuses[found.asked] = [status]
    receiver.bodies[found.asked] = body.encode()
    to = endpoint(
        receiver.url + found.entered,
        format=name,
        credential_encrypted=encryption.encrypt(KEY),
        secret_encrypted="",
    )
    row = delivery(to, told)
    send_due(LOOPBACK)
    return Delivery.objects.get(pk=row.pk)


@each_receiver
def test_a_notice_arrives_as_documented(receiver: Receiver, name: str) -> None:
    found = RECEIVERS[name]
    assert sent(receiver, name, notice(alert()), *found.taken).state == "delivered"
    (got,) = receiver.got
    assert got.path == found.asked
    assert got.headers.get("authorization") == found.authorization
    jsonschema.validate(json.loads(got.body), SCHEMAS[name])


@each_receiver
def test_a_refusal_is_tried_again_and_kept_without_secrets(receiver: Receiver, name: str) -> None:
    found = RECEIVERS[name]
    status, body = found.refused
    secrets = [KEY, *re.findall(r"canary-4711-\w+", found.entered)]
    echoed = body[:-1] + f', "of": "{found.asked} {" ".join(secrets)}"}}'
    row = sent(receiver, name, notice(alert()), status, echoed)
    attempt = Attempt.objects.get(delivery=row)
    assert (row.state, attempt.status, attempt.error) == ("pending", status, f"status_{status}")
    assert attempt.response[:20] == body[:20]
    assert "canary-4711" not in attempt.response


@each_receiver
def test_a_pause_that_is_asked_for_is_kept_to(receiver: Receiver, name: str) -> None:
    found = RECEIVERS[name]
    receiver.headers[found.asked] = dict(found.limited_by)
    row = sent(receiver, name, notice(alert()), 429, found.limited)
    waits = row.next_attempt_at - timezone.now()
    assert timedelta(seconds=115) < waits <= timedelta(seconds=120)
    assert row.endpoint.paused_until == row.next_attempt_at
    delivery(row.endpoint, notice(alert(family="another")))
    send_due(LOOPBACK)
    assert len(receiver.got) == 1


def test_telegram_may_say_no_with_status_200(receiver: Receiver) -> None:
    row = sent(receiver, "telegram", notice(alert()), 200, RECEIVERS["telegram"].refused[1])
    assert (row.state, row.last_error) == ("pending", "code_400")


def test_telegram_sends_to_the_chat_and_topic_of_the_address(receiver: Receiver) -> None:
    sent(receiver, "telegram", notice(alert()), *RECEIVERS["telegram"].taken)
    told = json.loads(receiver.got[0].body)
    assert (told["chat_id"], told["message_thread_id"]) == ("-1001", 7)


@each_receiver
def test_what_is_resolved_arrives_too(receiver: Receiver, name: str) -> None:
    sent(receiver, name, notice(alert(status="resolved")), *RECEIVERS[name].taken)
    (got,) = receiver.got
    assert got.path.startswith(RECEIVERS[name].asked)
    assert "resolved" in got.body.decode()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"[" * 60_000,
        b'{"retry_after": "soon"}',
        b'{"retry_after": NaN}',
        b'{"retry_after": -1}',
    ],
)
def test_a_pause_that_makes_no_sense_is_none(receiver: Receiver, body: bytes) -> None:
    row = sent(receiver, "discord", notice(alert()), 429, body.decode())
    assert row.endpoint.paused_until is None
    assert row.next_attempt_at - timezone.now() < timedelta(seconds=6)
