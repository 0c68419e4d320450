"""Signing out at a real provider as well: what it is asked, where it leads to, and that here it
always ends.
"""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from django.test import Client

from tests.webapp.accounts.oidc.running import (
    CLIENT_ID,
    CLIENT_SECRET,
    SIGNED_OUT,
    is_known_there,
    provider,
    signed_in_there,
    signed_out_there,
)
from tests.webapp.accounts.oidc.test_sign_in import begun, came_back
from tests.weir_settings import WeirSettings
from webapp.accounts.models import AuditEntry
from webapp.accounts.oidc.provider import _discovered

pytestmark = pytest.mark.django_db


def signed_in(weir: WeirSettings, issuer: str, browser: requests.Session | None = None) -> Client:
    weir(
        oidc_issuer=issuer, oidc_client_id=CLIENT_ID, oidc_client_secret=CLIENT_SECRET,
        oidc_roles={"sre": "admin"}, oidc_label="Example SSO", public_url="http://127.0.0.1:8000",
    )  # fmt: skip
    _discovered.cache_clear()
    client = Client()
    came_back(client, signed_in_there(begun(client), "ann", browser))
    assert client.get("/account/").status_code == 200
    return client


def led_to(answer: Any) -> str:
    """A page, not a redirect: no browser would follow one from a form to another host."""
    assert answer.status_code == 200 and "form-action 'self'" in answer["Content-Security-Policy"]
    return str(answer["Refresh"].removeprefix("0; url="))


def test_who_signs_out_is_led_to_the_provider_and_from_there_to_the_page_of_sign_in(
    weir: WeirSettings,
) -> None:
    browser = requests.Session()
    with provider() as issuer:
        client = signed_in(weir, issuer, browser)
        assert is_known_there(begun(Client()), browser)
        answer = client.post("/sign-out/")
        assert client.get("/account/").status_code == 302  # here at once
        page, there = answer.content.decode(), led_to(answer)
        assert "You are signed out of Weir" in page and "Sign out of Example SSO" in page
        asked = parse_qs(urlsplit(there).query)
        assert there.startswith(f"{issuer}/session/end?") and CLIENT_SECRET not in there
        assert (asked["client_id"], asked["post_logout_redirect_uri"]) == (
            [CLIENT_ID],
            [SIGNED_OUT],
        )
        assert asked["id_token_hint"][0].count(".") == 2
        assert signed_out_there(there, browser) == SIGNED_OUT
        assert not is_known_there(begun(Client()), browser)
    assert list(AuditEntry.objects.order_by("id").values_list("action", "outcome")) == [
        ("sign-in", "done"),
        ("sign-out", "done"),
    ]


def test_it_ends_here_while_the_provider_is_away_and_asks_it_nothing(weir: WeirSettings) -> None:
    with provider() as issuer:
        client = signed_in(weir, issuer)
    _discovered.cache_clear()
    assert led_to(client.post("/sign-out/")).startswith(issuer)
    assert client.get("/account/").status_code == 302
    assert "Refresh" not in client.post("/sign-out/")


def test_a_provider_that_does_not_say_how_is_not_asked(weir: WeirSettings) -> None:
    with provider(rpInitiatedLogout=False) as issuer:
        client = signed_in(weir, issuer)
    answer = client.post("/sign-out/")
    assert (answer.status_code, answer["Location"]) == (
        302,
        "/sign-in/",
    ) and "Refresh" not in answer
    assert client.get("/account/").status_code == 302


def test_an_id_token_that_is_too_long_for_an_address_is_left_out(
    weir: WeirSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.accounts.oidc.provider._LONGEST_ID_TOKEN", 100)
    with provider() as issuer:
        client = signed_in(weir, issuer)
    asked = parse_qs(urlsplit(led_to(client.post("/sign-out/"))).query)
    assert "id_token_hint" not in asked and asked["client_id"] == [CLIENT_ID]
