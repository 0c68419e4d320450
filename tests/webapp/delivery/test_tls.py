"""A receiver whose certificate is not right gets nothing, and people read why."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tests.ingest.flink_rest.certificates import server_side
from tests.webapp.delivery.builders import LOOPBACK, delivery, endpoint
from tests.webapp.delivery.receiver import receiving
from webapp.config import encryption
from webapp.delivery.badges import meaning
from webapp.delivery.choices import DeliveryState
from webapp.delivery.models import Attempt, Delivery
from webapp.delivery.sending import send_due

pytestmark = pytest.mark.django_db
WRONG: dict[str, dict[str, Any]] = {
    "expired": {"expired": True},
    "of another host": {"host": "127.0.0.9"},
    "of nobody": {"self_signed": True},
}


@pytest.mark.parametrize("name", ["weir", "dingtalk"])
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_a_receiver_whose_certificate_is_wrong_gets_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    viewer: Client,
    wrong: dict[str, Any],
    name: str,
) -> None:
    authority, tls = server_side(tmp_path, **wrong)
    monkeypatch.setenv("SSL_CERT_FILE", authority)
    with receiving(tls) as receiver:
        row = delivery(
            endpoint(
                f"{receiver.url}/ok",
                format=name,
                credential_encrypted=encryption.encrypt("canary-token"),
            )
        )
        send_due(LOOPBACK)
        assert not receiver.got
    attempt = Attempt.objects.get(delivery=row)
    assert (attempt.error, attempt.status, attempt.response) == ("tls", None, "")
    row = Delivery.objects.get(pk=row.pk)
    assert (row.state, row.last_error) == (
        DeliveryState.PENDING,
        "tls",
    )  # it may be renewed; the next attempt comes by itself
    page = viewer.get(reverse("delivery", args=[row.uid])).content.decode()
    assert meaning("tls") in page
    assert "canary" not in page


def test_an_authority_that_nobody_here_trusts_is_as_good_as_none(tmp_path: Path) -> None:
    _, tls = server_side(tmp_path)
    with receiving(tls) as receiver:
        row = delivery(endpoint(f"{receiver.url}/ok"))
        send_due(LOOPBACK)
        assert not receiver.got
    assert Attempt.objects.get(delivery=row).error == "tls"


def test_a_right_certificate_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority, tls = server_side(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", authority)
    with receiving(tls) as receiver:
        row = delivery(endpoint(f"{receiver.url}/ok"))
        send_due(LOOPBACK)
        assert [got.path for got in receiver.got] == ["/ok"]
    assert Delivery.objects.get(pk=row.pk).state == DeliveryState.DELIVERED
