"""Mail through a real SMTP server, and telling the owner of an endpoint that was given up."""

import socket
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from django.utils import timezone

from tests.webapp.delivery.builders import LOOPBACK, alert, delivery, endpoint, notice
from tests.webapp.delivery.receiver import Receiver
from tests.weir_settings import WeirSettings
from webapp.delivery.models import Attempt, Delivery, Endpoint
from webapp.delivery.sending import send_due

pytestmark = pytest.mark.django_db


class Letters:
    """Keeps what it takes; refuses whoever is called nobody."""

    def __init__(self) -> None:
        self.kept: list[tuple[list[str], EmailMessage]] = []

    async def handle_RCPT(
        self, server: Any, session: Any, envelope: Any, address: str, options: Any
    ) -> str:
        if address.startswith("nobody"):
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self.kept.append(
            (envelope.rcpt_tos, message_from_bytes(envelope.content, policy=policy.default))
        )  # type: ignore[arg-type]
        return "250 OK"


@pytest.fixture
def letters(weir: WeirSettings) -> Iterator[Letters]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    found = Letters()
    controller = Controller(found, hostname="127.0.0.1", port=port)
    controller.start()
    weir(smtp_url=f"smtp://127.0.0.1:{port}", mail_from="weir@example.org")
    yield found
    controller.stop()


def mails(*addresses: str) -> Endpoint:
    return endpoint("", format="email", emails=list(addresses))


def test_a_mail_arrives_as_text_with_an_id_that_stays(letters: Letters) -> None:
    row = delivery(
        mails("a@example.org", "b@example.org"), notice(alert(job_name="orders <script>"))
    )
    send_due(LOOPBACK)
    ((recipients, letter),) = letters.kept
    assert recipients == ["a@example.org", "b@example.org"]
    assert letter["Subject"] == "[firing 1] prod-eu: Checkpoints of orders are declined"
    assert row.uid in letter["Message-ID"]
    assert letter.get_content_type() == "text/plain"
    assert Delivery.objects.get(pk=row.pk).state == "delivered"


def test_a_recipient_that_is_refused_is_a_failure(letters: Letters) -> None:
    row = delivery(mails("nobody@example.org"))
    send_due(LOOPBACK)
    attempt = Attempt.objects.get(delivery=row)
    assert (attempt.error, attempt.status) == ("mail", 550)
    assert Delivery.objects.get(pk=row.pk).state == "pending"


def test_without_a_mail_server_the_log_says_what_is_missing() -> None:
    row = delivery(mails("a@example.org"))
    send_due(LOOPBACK)
    assert "WEIR_SMTP_URL" in Attempt.objects.get(delivery=row).detail


def test_the_owner_hears_by_mail_that_an_endpoint_was_given_up(
    letters: Letters, receiver: Receiver
) -> None:
    to = endpoint(f"{receiver.url}/410", name="pager", owner_email="owner@example.org")
    delivery(to)
    send_due(LOOPBACK)
    send_due(LOOPBACK)
    ((recipients, letter),) = letters.kept
    assert recipients == ["owner@example.org"]
    assert "pager" in letter["Subject"]
    assert "410 Gone" in letter.get_body(("plain",)).get_content()  # type: ignore[union-attr]
    assert "token" not in letter.as_string()


def test_a_mail_server_that_is_away_does_not_hurt_the_endpoint_the_mail_is_about(
    receiver: Receiver, weir: WeirSettings
) -> None:
    weir(smtp_url="smtp://127.0.0.1:9999")
    to = endpoint(f"{receiver.url}/410", owner_email="owner@example.org")
    delivery(to)
    send_due(LOOPBACK)
    send_due(LOOPBACK)
    told = Delivery.objects.get(kind="endpoint_disabled")
    assert (told.state, told.attempts) == ("pending", 1)
    assert Endpoint.objects.get(pk=to.pk).failures == 1
    assert told.next_attempt_at > timezone.now()
