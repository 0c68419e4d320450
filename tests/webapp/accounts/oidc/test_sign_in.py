"""The whole code flow at a real provider: who gets in, as what, and what is refused."""

import base64
import hashlib
import json
import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.sessions.models import Session
from django.core import signing
from django.test import Client

from tests.webapp.accounts.oidc.running import (
    BACK,
    CLIENT_ID,
    CLIENT_SECRET,
    provider,
    signed_in_there,
)
from tests.webapp.builders import person
from tests.weir_settings import WeirSettings
from webapp.accounts.models import AuditEntry, User
from webapp.accounts.oidc import views
from webapp.accounts.oidc.provider import _discovered
from webapp.accounts.roles import Role, role_of

pytestmark = pytest.mark.django_db
PAYMENTS = [[{"label": "team", "operator": "=", "value": "payments"}]]


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with provider() as running:
        yield running


@pytest.fixture(autouse=True)
def _configured(issuer: str, weir: WeirSettings) -> None:
    weir(
        oidc_issuer=issuer,
        oidc_client_id=CLIENT_ID,
        oidc_client_secret=CLIENT_SECRET,
        oidc_roles={"sre": "operator"},
        oidc_sees={"payments": 'team="payments"'},
        public_url="http://127.0.0.1:8000",
    )
    _discovered.cache_clear()


def begun(client: Client, after: str = "") -> str:
    answer = client.get("/sign-in/oidc/", {"next": after} if after else {})
    assert answer.status_code == 302
    return str(answer["Location"])


def came_back(client: Client, address: str) -> Any:
    parts = urlsplit(address)
    return client.get(f"{parts.path}?{parts.query}")


def signs_in(name: str, after: str = "", client: Client | None = None) -> tuple[Client, Any]:
    client = client or Client()
    return client, came_back(client, signed_in_there(begun(client, after), name))


def said(client: Client) -> str:
    return str(client.get("/sign-in/").content.decode())


def test_somebody_signs_in_with_the_role_and_the_clusters_that_their_claims_give() -> None:
    client, answer = signs_in("ann", "/findings/?state=any")
    assert (answer.status_code, answer["Location"]) == (302, "/findings/?state=any")
    ann = User.objects.get()
    assert (ann.username, role_of(ann), ann.sees, ann.is_superuser) == (
        "ann",
        Role.OPERATOR,
        PAYMENTS,
        False,
    )
    assert client.get("/account/").status_code == 200
    assert not ann.has_usable_password()
    assert list(AuditEntry.objects.values_list("action", "person", "outcome")) == [
        ("sign-in", "ann", "done")
    ]
    client.post("/sign-out/")
    assert client.get("/account/").status_code == 302


def test_roles_and_clusters_follow_the_claims_at_each_sign_in_and_the_person_stays_the_same(
    weir: WeirSettings,
) -> None:
    signs_in("ann")
    weir(oidc_roles={"sre": "viewer", "payments": "admin"}, oidc_sees={"sre": "*"})
    signs_in("ann")
    ann = User.objects.get()
    assert (role_of(ann), ann.sees) == (Role.ADMIN, None)


def test_the_page_of_sign_in_offers_it_only_where_there_is_a_provider(weir: WeirSettings) -> None:
    weir(oidc_label="Example SSO")
    assert "Sign in with Example SSO" in said(Client())
    weir(oidc_issuer="")
    assert "Example SSO" not in said(Client())
    assert (
        Client().get("/sign-in/oidc/").status_code
        == Client().get("/sign-in/oidc/back/").status_code
        == 404
    )


def test_the_request_asks_for_a_code_with_pkce_state_and_nonce_and_tells_no_secret(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    client = Client()
    address = begun(client)
    asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert (asked["response_type"], asked["code_challenge_method"], asked["redirect_uri"]) == (
        "code",
        "S256",
        BACK,
    )
    state, nonce, verifier, _ = signing.loads(client.cookies[views.COOKIE].value, salt=views.SALT)
    digest = (
        base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    )
    assert (asked["state"], asked["nonce"], asked["code_challenge"]) == (state, nonce, digest)
    came_back(client, signed_in_there(address, "ann"))
    assert CLIENT_SECRET not in address + caplog.text and verifier not in address
    cookie = client.cookies[views.COOKIE]
    assert (cookie["httponly"], cookie["samesite"]) in ((True, "Lax"), ("", "Lax"))


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"oidc_roles": {"nobody": "viewer"}}, "has a role here"),
        (
            {"oidc_allowed": ["@elsewhere.org", "bob@example.org"]},
            "not among those that may sign in",
        ),
    ],
)
def test_who_has_no_role_or_is_not_on_the_list_stays_out_and_that_is_noted(
    changed: Any, why: str, weir: WeirSettings
) -> None:
    weir(**changed)
    client, _ = signs_in("ann")
    assert why in said(client)
    assert client.get("/account/").status_code == 302 and not User.objects.exists()
    found = AuditEntry.objects.get()
    assert (found.action, found.person, found.outcome) == ("sign-in", "ann", "refused")


def test_an_address_on_the_list_counts_only_where_the_provider_has_verified_it(
    weir: WeirSettings,
) -> None:
    weir(oidc_allowed=["@example.org"])
    signs_in("eve")
    assert not User.objects.exists()
    signs_in("ann")
    assert User.objects.get().username == "ann"


@pytest.mark.parametrize("name", ["mal", "max"])
def test_an_address_of_one_answer_is_not_verified_by_another_answer(
    name: str, weir: WeirSettings
) -> None:
    weir(oidc_allowed=["@example.org"])
    signs_in(name)
    assert not User.objects.exists()


def test_user_info_of_somebody_else_signs_nobody_in() -> None:
    """OpenID Connect Core 5.3.2: the ID token is of zoe, the user info of ann."""
    signs_in("ann")
    client, _ = signs_in("zoe")
    assert "did not complete the sign-in" in said(client)
    assert client.get("/account/").status_code == 302 and User.objects.count() == 1


def test_whoever_begins_a_sign_in_fills_no_table() -> None:
    for _ in range(3):
        begun(Client())
    assert not Session.objects.exists()


def test_an_address_is_verified_by_the_id_token_alone_where_it_says_both(
    weir: WeirSettings,
) -> None:
    weir(oidc_allowed=["@example.org"])
    signs_in("ida")
    assert User.objects.get().username == "ida"


@pytest.mark.parametrize("name", ["eve", "max"])
def test_an_address_that_is_not_verified_gives_no_role_no_cluster_and_no_name(
    name: str, weir: WeirSettings
) -> None:
    weir(oidc_role_claim="email", oidc_roles={"ann@example.org": "admin"})
    client, _ = signs_in(name)
    assert "has a role here" in said(client) and not User.objects.exists()
    weir(oidc_role_claim="groups", oidc_roles={"sre": "operator"}, oidc_name_claim="email")
    client, _ = signs_in(name)
    assert "verified" in said(client) and not User.objects.exists()
    weir(
        oidc_name_claim="preferred_username",
        oidc_scope_claim="email",
        oidc_sees={"ann@example.org": "*"},
    )
    signs_in(name)
    assert User.objects.get().sees == []


def test_an_address_that_is_verified_gives_role_clusters_and_name_where_settings_say_so(
    weir: WeirSettings,
) -> None:
    mail = "ann@example.org"
    weir(
        oidc_role_claim="email",
        oidc_roles={mail: "admin"},
        oidc_name_claim="email",
        oidc_scope_claim="email",
        oidc_sees={mail: "*"},
    )
    signs_in("ann")
    ann = User.objects.get()
    assert (ann.username, role_of(ann), ann.sees) == (mail, Role.ADMIN, None)


def test_a_closed_account_stays_out() -> None:
    signs_in("ann")
    User.objects.update(is_active=False)
    client, _ = signs_in("ann")
    assert "closed" in said(client) and client.get("/account/").status_code == 302


def test_a_local_account_of_the_same_name_is_not_taken_over() -> None:
    User.objects.create_superuser("ann", password="x")
    client, _ = signs_in("ann")
    assert "another account ann" in said(client)
    assert client.get("/account/").status_code == 302


@pytest.mark.parametrize("name", ["kim", "kit"])
def test_a_name_that_looks_like_that_of_another_account_is_refused(name: str) -> None:
    User.objects.create_superuser("admin", password="x")
    client, _ = signs_in(name)
    assert "looks like that of another account" in said(client)
    assert client.get("/account/").status_code == 302
    assert AuditEntry.objects.get().outcome == "refused" and User.objects.count() == 1


@pytest.mark.parametrize(
    "after",
    [
        "https://evil.example/",
        "//evil.example/x",
        "http:evil.example",
        "javascript:alert(1)",
        "/" + "x" * 2_000,
    ],
)
def test_nobody_is_led_to_another_host(after: str) -> None:
    _, answer = signs_in("ann", after)
    assert (answer.status_code, answer["Location"]) == (302, "/")


def test_a_link_with_the_code_of_somebody_else_signs_nobody_in() -> None:
    """Sign-in forged across sites: the attacker's own code, sent to a victim who began none, or
    another one.
    """
    attacker = Client()
    address = signed_in_there(begun(attacker), "ann")
    victim, other = Client(), Client()
    begun(other)
    for client in (victim, other):
        came_back(client, address)
        assert client.get("/account/").status_code == 302
    assert not User.objects.exists() and not AuditEntry.objects.exists()


def test_a_code_works_once() -> None:
    client = Client()
    began = begun(client)
    kept, address = client.cookies[views.COOKIE].value, signed_in_there(began, "ann")
    came_back(client, address)
    again = Client()
    again.cookies[views.COOKIE] = kept
    came_back(again, address)
    assert again.get("/account/").status_code == 302
    assert "did not complete the sign-in" in said(again)


@pytest.mark.parametrize(("place", "value"), [(1, "another nonce"), (2, "x" * 48)])
def test_another_nonce_or_verifier_than_was_sent_is_refused(place: int, value: str) -> None:
    client = Client()
    address = signed_in_there(begun(client), "ann")
    kept = signing.loads(client.cookies[views.COOKIE].value, salt=views.SALT)
    kept[place] = value
    client.cookies[views.COOKIE] = signing.dumps(kept, salt=views.SALT)
    came_back(client, address)
    assert "did not complete the sign-in" in said(client) and not User.objects.exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"oidc_client_secret": "another"},
        {"oidc_issuer": "http://127.0.0.1:9"},
        {"oidc_client_id": "nobody"},
    ],
)
def test_what_the_provider_refuses_or_does_not_answer_is_said_and_local_accounts_still_sign_in(
    wrong: Any, weir: WeirSettings
) -> None:
    client = Client()
    address = signed_in_there(begun(client), "ann")
    weir(**wrong)
    came_back(client, address)
    assert "did not complete the sign-in" in said(client) and not User.objects.exists()
    person("vera")
    assert (
        client.post(
            "/sign-in/", {"username": "vera", "password": "correct horse battery"}
        ).status_code
        == 302
    )


def test_a_discovery_document_of_another_issuer_is_not_believed(
    issuer: str, weir: WeirSettings, caplog: pytest.LogCaptureFixture
) -> None:
    weir(oidc_issuer=issuer.replace("127.0.0.1", "localhost"))
    client = Client()
    assert begun(client) == "/sign-in/" and "did not complete the sign-in" in said(client)
    assert f"is of the issuer '{issuer}'" in caplog.text


def test_a_token_signed_by_somebody_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of another provider, as a stolen address of keys would serve them: same claims, another
    signature.
    """
    from joserfc.jwk import KeySet, RSAKey

    client = Client()
    address = signed_in_there(begun(client), "ann")
    strange = RSAKey.generate_key(2048, {"kid": "keystore-CHANGE-ME", "use": "sig", "alg": "RS256"})
    app = next(iter([_discovered(*_arguments())]))
    app.server_metadata["jwks"] = KeySet([strange]).as_dict(private=False)
    monkeypatch.setattr(app, "fetch_jwk_set", lambda force=False: app.server_metadata["jwks"])
    came_back(client, address)
    assert "did not complete the sign-in" in said(client) and not User.objects.exists()


def _arguments() -> tuple[Any, ...]:
    import time

    from django.conf import settings

    weir = settings.WEIR
    return (
        weir.oidc_issuer,
        weir.oidc_client_id,
        weir.oidc_client_secret,
        weir.oidc_scopes,
        int(time.time() // 3600),
    )


def test_settings_are_checked_at_start_and_the_secret_is_not_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from webapp.config.environment import Environment
    from webapp.config.readers import RefusedSetting

    for name, value in (
        ("WEIR_OIDC_ISSUER", "http://sso.example.org"),
        ("WEIR_OIDC_ROLES", json.dumps({"sre": "king"})),
        ("WEIR_OIDC_ALLOWED", "example.org"),
        ("WEIR_OIDC_SCOPES", "profile"),
    ):
        with monkeypatch.context() as patched, pytest.raises(RefusedSetting, match=name):
            patched.setenv(name, value)
            Environment()
    monkeypatch.setenv("WEIR_OIDC_CLIENT_SECRET", CLIENT_SECRET)
    assert CLIENT_SECRET not in repr(Environment())
