"""What is due is sent, signed, bounded, and the answer decides what comes next."""

import json
import socket
from datetime import timedelta

import pytest
from django.utils import timezone
from standardwebhooks import Webhook, WebhookVerificationError

from tests.webapp.delivery.builders import LOOPBACK, T0, alert, delivery, endpoint, notice
from tests.webapp.delivery.receiver import Receiver
from tests.weir_settings import WeirSettings
from webapp.config import encryption
from webapp.config.celery import app as celery
from webapp.delivery import network, outbox, signing
from webapp.delivery.models import Attempt, Delivery, Endpoint
from webapp.delivery.sending import send_due

pytestmark = pytest.mark.django_db


def sent(row: Delivery) -> Delivery:
    send_due(LOOPBACK)
    return Delivery.objects.get(pk=row.pk)


def attempt(row: Delivery) -> Attempt:
    return Attempt.objects.get(delivery=row)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "WHOLE_S", 1)
    monkeypatch.setattr(network.Network.__init__, "__defaults__", (1.0, 1.0))


def test_a_delivery_arrives_once_and_the_standard_library_of_the_specification_verifies_it(
    receiver: Receiver,
) -> None:
    to = endpoint(f"{receiver.url}/ok")
    row = sent(delivery(to))
    assert (row.state, row.attempts) == ("delivered", 1)
    (got,) = receiver.got
    assert got.headers["webhook-id"] == row.uid
    (secret,) = to.secrets_at(timezone.now())
    assert (
        Webhook(secret).verify(got.body, got.headers)["data"]["alerts"][0]["title"]
        == "Checkpoints of orders are declined"
    )


@pytest.mark.parametrize("tampered", ["body", "webhook-id", "webhook-timestamp"])
def test_one_byte_changed_fails_verification(receiver: Receiver, tampered: str) -> None:
    to = endpoint(f"{receiver.url}/ok")
    sent(delivery(to))
    got = receiver.got[0]
    body, headers = bytearray(got.body), dict(got.headers)
    if tampered == "body":
        body[20] ^= 1
    else:
        headers[tampered] = headers[tampered][:-1] + ("1" if headers[tampered][-1] != "1" else "2")
    with pytest.raises(WebhookVerificationError):
        Webhook(to.secrets_at(timezone.now())[0]).verify(bytes(body), headers)


def test_both_secrets_verify_while_one_takes_over_from_the_other(receiver: Receiver) -> None:
    old = signing.new_secret()
    later = timezone.now() + timedelta(hours=1)
    to = endpoint(
        f"{receiver.url}/ok",
        previous_secret_encrypted=encryption.encrypt(old),
        previous_secret_until=later,
    )
    sent(delivery(to))
    got = receiver.got[0]
    for secret in (old, to.secrets_at(timezone.now())[0]):
        assert Webhook(secret).verify(got.body, got.headers)
    assert len(to.secrets_at(later + timedelta(seconds=1))) == 1


@pytest.mark.parametrize(
    ("path", "state", "error"),
    [
        ("/200", "delivered", ""),
        ("/204", "delivered", ""),
        ("/299", "delivered", ""),
        ("/301", "pending", "redirect"),
        ("/307", "pending", "redirect"),
        ("/400", "pending", "status_400"),
        ("/401", "pending", "status_401"),
        ("/404", "pending", "status_404"),
        ("/410", "dead", "status_410"),
        ("/429", "pending", "status_429"),
        ("/500", "pending", "status_500"),
        ("/502", "pending", "status_502"),
        ("/504", "pending", "status_504"),
        ("/reset", "pending", "connection_lost"),
        ("/garbage", "pending", "no_http"),
    ],
)
def test_the_status_decides(receiver: Receiver, path: str, state: str, error: str) -> None:
    receiver.headers[path] = {"location": f"{receiver.url}/ok"}
    row = sent(delivery(endpoint(receiver.url + path)))
    assert (row.state, attempt(row).error) == (state, error)
    assert [got.path for got in receiver.got] == [path]


@pytest.mark.parametrize("path", ["/silent", "/drip"])
def test_what_is_too_slow_ends_in_time(receiver: Receiver, impatient: None, path: str) -> None:
    row = sent(delivery(endpoint(receiver.url + path)))
    assert (row.state, attempt(row).error) == ("pending", "timeout")
    assert 900 <= (attempt(row).latency_ms or 0) < 5_000


def test_of_an_endless_answer_little_is_read_and_less_is_kept(receiver: Receiver) -> None:
    row = sent(delivery(endpoint(f"{receiver.url}/endless")))
    assert row.state == "delivered"
    assert len(attempt(row).response) == 4096
    assert receiver.most_sent_bytes < 20 << 20  # what the buffers of both ends hold


def test_nobody_listening_and_no_such_name_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def getaddrinfo(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    rows = [
        delivery(endpoint("http://127.0.0.1:9999/")),
        delivery(endpoint("http://weir-test.invalid/")),
    ]
    send_due(LOOPBACK)
    assert [attempt(row).error for row in rows] == ["no_connection", "unknown_name"]


def test_a_pause_that_is_asked_for_is_kept_to_by_all_deliveries_of_the_endpoint(
    receiver: Receiver,
) -> None:
    receiver.headers["/503"] = {"retry-after": "3600"}
    to = endpoint(f"{receiver.url}/503")
    row = sent(delivery(to, notice(alert(family="a"))))
    assert timedelta(minutes=59) < row.next_attempt_at - timezone.now() <= timedelta(hours=1)
    delivery(to, notice(alert(family="b")))
    send_due(LOOPBACK)
    assert len(receiver.got) == 1


def test_a_failed_delivery_comes_again_with_the_same_id_and_body(receiver: Receiver) -> None:
    receiver.statuses["/x"] = [500, 200]
    row = sent(delivery(endpoint(f"{receiver.url}/x")))
    Delivery.objects.filter(pk=row.pk).update(next_attempt_at=T0)
    assert sent(row).state == "delivered"
    first, second = receiver.got
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body
    assert first.headers["x-request-id"] != second.headers["x-request-id"]


def test_the_second_attempt_does_not_wait_for_the_next_tick(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, weir: WeirSettings
) -> None:
    hints: list[float] = []
    weir(redis_url="redis://127.0.0.1:9999/0")
    monkeypatch.setattr(celery, "send_task", lambda *_, countdown, **__: hints.append(countdown))
    sent(delivery(endpoint(f"{receiver.url}/500")))
    (countdown,) = hints
    assert 4 <= countdown <= 6


def test_without_a_broker_what_is_queued_is_queued_all_the_same(
    monkeypatch: pytest.MonkeyPatch, weir: WeirSettings
) -> None:
    weir(redis_url="redis://127.0.0.1:9999/0")
    monkeypatch.setattr(celery.conf, "broker_url", "redis://127.0.0.1:9999/0")
    outbox.hint()


def test_410_disables_the_endpoint_and_what_waits_for_it_is_dead(receiver: Receiver) -> None:
    to = endpoint(f"{receiver.url}/410")
    delivery(to)
    waiting = delivery(to, next_attempt_at=timezone.now() + timedelta(hours=1))
    send_due(LOOPBACK)
    to.refresh_from_db()
    assert not to.enabled
    assert "410" in to.disabled_reason
    assert sent(waiting).state == "dead"


def test_an_endpoint_that_took_nothing_for_five_days_is_disabled_when_a_schedule_is_used_up(
    receiver: Receiver,
) -> None:
    since = timezone.now() - timedelta(days=5, minutes=1)
    to = endpoint(f"{receiver.url}/500", failing_since=since)
    assert sent(delivery(to, tries=9)).state == "dead"
    assert not Endpoint.objects.get(pk=to.pk).enabled


def test_a_schedule_that_is_used_up_sooner_only_ends_the_delivery(receiver: Receiver) -> None:
    to = endpoint(f"{receiver.url}/500", failing_since=timezone.now() - timedelta(days=4))
    assert sent(delivery(to, tries=9)).state == "dead"
    assert Endpoint.objects.get(pk=to.pk).enabled


def test_a_slow_endpoint_does_not_hold_up_another(receiver: Receiver, impatient: None) -> None:
    slow, quick = endpoint(f"{receiver.url}/silent"), endpoint(f"{receiver.url}/ok")
    for number in range(8):
        delivery(slow, notice(alert(family=f"f{number}")))
    rows = [delivery(quick, notice(alert(family=f"f{number}"))) for number in range(8)]
    send_due(LOOPBACK)
    order = [got.path for got in receiver.got]
    assert order.index("/ok") < 5
    assert [Delivery.objects.get(pk=row.pk).state for row in rows] == ["delivered"] * 8


def test_deliveries_of_a_group_arrive_in_their_order(receiver: Receiver) -> None:
    to = endpoint(f"{receiver.url}/ok")
    rows = [delivery(to, notice(made_at=T0 + timedelta(seconds=second))) for second in range(6)]
    send_due(LOOPBACK)
    assert [got.headers["webhook-id"] for got in receiver.got] == [row.uid for row in rows]


def test_a_disabled_endpoint_hears_nothing_but_a_test(receiver: Receiver) -> None:
    to = endpoint(f"{receiver.url}/ok", enabled=False)
    delivery(to)
    delivery(to, notice(kind="test"))
    send_due(LOOPBACK)
    assert [json.loads(got.body)["type"] for got in receiver.got] == ["alerts.test"]


def test_a_bot_that_says_no_with_status_200_has_not_taken_it(receiver: Receiver) -> None:
    receiver.bodies["/bot"] = b'{"errcode": 310000, "errmsg": "sign not match"}'
    row = sent(delivery(endpoint(f"{receiver.url}/bot", format="dingtalk")))
    assert (row.state, row.last_error) == ("pending", "code_310000")


def test_what_a_receiver_echoes_of_our_secrets_is_not_kept(receiver: Receiver) -> None:
    to = endpoint(f"{receiver.url}/500/canary-4711-token")
    (secret,) = to.secrets_at(timezone.now())
    receiver.bodies["/500/canary-4711-token"] = f"no: /500/canary-4711-token {secret}".encode()
    kept = attempt(sent(delivery(to))).response
    assert "canary-4711-token" not in kept
    assert secret not in kept


def test_nothing_is_sent_to_an_address_that_is_not_allowed(receiver: Receiver) -> None:
    row = delivery(endpoint(f"{receiver.url}/ok"))
    send_due()
    assert attempt(row).error == "refused_target"
    assert not receiver.got
