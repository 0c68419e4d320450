"""Secrets that people entrust to Weir are nowhere but with whom they are for."""

import io
import logging

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from ingest.log_lines import TextFormatter
from tests.webapp.delivery.builders import LOOPBACK, delivery, endpoint
from tests.webapp.delivery.receiver import Receiver
from tests.weir_settings import WeirSettings
from webapp.accounts.models import User
from webapp.config import encryption
from webapp.delivery import addresses, signing
from webapp.delivery.endpoint_entry import EndpointEntry, enter
from webapp.delivery.models import Delivery, Endpoint
from webapp.delivery.sending import send_due
from webapp.lib.refusals import InputRefused

CANARY = "canary-4711-secret"


@pytest.mark.django_db
def test_a_canary_is_in_no_dump_log_page_admin_or_api(
    receiver: Receiver, weir: WeirSettings
) -> None:
    weir(smtp_url=f"smtp://u:{CANARY}@127.0.0.1:9999")
    logged = io.StringIO()
    handler = logging.StreamHandler(logged)
    handler.setFormatter(TextFormatter())
    logging.getLogger().addHandler(handler)
    logging.getLogger().setLevel(logging.DEBUG)
    secret = signing.new_secret()
    paths = [
        f"/ok/{CANARY}",
        f"/500/{CANARY}",
        f"/reset/{CANARY}",
        f"/garbage/{CANARY}",
        f"/410/{CANARY}",
        f"/301/{CANARY}",
        f"/202/{CANARY}",
        f"/404/{CANARY}",
        f"/400/bot1:{CANARY}/sendMessage?chat_id=1",
        f"/422/{CANARY}",
        f"/429/{CANARY}",
    ]
    names = [
        "weir",
        "slack",
        "pagerduty",
        "dingtalk",
        "feishu",
        "weir",
        "teams",
        "discord",
        "telegram",
        "jsm",
        "incidentio",
    ]
    try:
        for path, name in zip(paths, names, strict=True):
            receiver.bodies[path] = f"{path} {CANARY} {secret}".encode()
            receiver.headers[path] = {"location": f"https://example.org/{CANARY}"}
            to = endpoint(
                receiver.url + path,
                format=name,
                credential_encrypted=encryption.encrypt(CANARY),
                secret_encrypted=encryption.encrypt(secret),
                owner_email="o@example.org",
            )
            delivery(to)
        dead = endpoint(f"http://{CANARY}.invalid/{CANARY}")
        delivery(dead)
        with pytest.raises(InputRefused) as refused:
            enter(
                Endpoint(),
                EndpointEntry("x", url=f"https://10.0.0.1/{CANARY}", credential=CANARY),
                addresses.Policy(),
            )
        send_due(LOOPBACK)
        send_due(LOOPBACK)
    finally:
        logging.getLogger().removeHandler(handler)
        logging.getLogger().setLevel(logging.INFO)
    assert any(CANARY in got.path for got in receiver.got)

    seen = [logged.getvalue(), str(refused.value), repr(refused.value)]
    out = io.StringIO()
    call_command("dumpdata", "delivery", stdout=out)
    seen.append(out.getvalue())
    client = Client()
    User.objects.create_superuser("root", password="correct horse battery")
    client.login(username="root", password="correct horse battery")
    one, row = Endpoint.objects.first(), Delivery.objects.first()
    assert one is not None
    assert row is not None
    for page in (
        *(reverse(name) for name in ("endpoints", "deliveries")),
        *(reverse(name, args=[one.pk]) for name in ("endpoint", "endpoint-edit")),
        *(
            reverse("delivery", args=[uid])
            for uid in Delivery.objects.values_list("uid", flat=True)
        ),
    ):
        answer = client.get(page)
        assert answer.status_code == 200, page
        seen.append(answer.content.decode())
    text = "\n".join(seen)
    assert CANARY not in text
    assert secret not in text


@pytest.mark.django_db
def test_secrets_of_endpoints_come_under_a_new_key_too(weir: WeirSettings) -> None:
    from cryptography.fernet import Fernet

    to = endpoint("https://8.8.8.8/x")
    (secret,) = to.secrets_at(timezone.now())
    new = Fernet.generate_key().decode()
    weir(field_keys=(new, *settings.WEIR.field_keys))
    call_command("reencrypt_secrets", stdout=io.StringIO())
    weir(field_keys=(new,))
    found = Endpoint.objects.get(pk=to.pk)
    assert (found.url, found.secrets_at(timezone.now())) == ("https://8.8.8.8/x", (secret,))
