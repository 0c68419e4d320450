"""Requests to the identity provider. A discovery document of another issuer is refused, and so are
http addresses of an https issuer.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode, urlsplit

from authlib.common.errors import AuthlibBaseError
from authlib.integrations.django_client import DjangoIntegration, DjangoOAuth2App
from authlib.integrations.requests_client import OAuth2Session
from django.conf import settings
from joserfc.errors import JoseError
from requests import RequestException

from ingest.network.deadlines import TimedAdapter
from webapp.accounts.oidc.configured import ProviderFails

DISCOVERY_LIFETIME_S = 3600
"""Authlib looks up an unknown key earlier."""

STEP_TIMEOUT_S, REQUEST_TIMEOUT_S = 5, 15
MOST_BYTES = 4 * 1024 * 1024
CLOCKS_DIFFER_S = 60
SIGNATURES = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
)
"""Asymmetric only: HS256 would accept the client's secret as a key."""

ENDPOINTS = (
    "authorization_endpoint",
    "token_endpoint",
    "jwks_uri",
    "userinfo_endpoint",
    "end_session_endpoint",
)
_LONGEST_ID_TOKEN = 4_000
"""Longer tokens do not fit into the URL of a sign-out: the provider may ask who signs out."""

_PROTOCOL_ERRORS = (
    AuthlibBaseError,
    JoseError,
    RequestException,
    RuntimeError,
    ValueError,
    KeyError,
    TypeError,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Identity:
    """``email``: only a verified one. ``sign_out``: the URL that ends the session at the provider,
    or "".
    """

    claims: dict[str, Any]
    sign_out: str


def start() -> Mapping[str, str]:
    """Returns ``url``, to which the browser is sent, its ``state``, and ``nonce`` and
    ``code_verifier`` for :func:`finish`.
    """
    try:
        parameters: Mapping[str, str] = _app().create_authorization_url(_redirect_uri())
        return parameters
    except _PROTOCOL_ERRORS as error:
        raise _failure(error) from error


def finish(code: str, nonce: str, code_verifier: str) -> Identity:
    try:
        app = _app()
        token = app.fetch_access_token(
            code=code, redirect_uri=_redirect_uri(), code_verifier=code_verifier
        )
        answers = [dict(app.parse_id_token(token, nonce=nonce, leeway=CLOCKS_DIFFER_S) or {})]
        if not answers[0].get("sub"):
            raise ValueError("no ID token")
        if app.server_metadata.get("userinfo_endpoint"):
            answers.append(dict(app.userinfo(token=token)))
            if answers[1].get("sub") != answers[0]["sub"]:
                raise ValueError("the user info is of somebody else")  # OpenID Connect Core 5.3.2
        return Identity(_claims(answers), _sign_out(app, str(token["id_token"])))
    except _PROTOCOL_ERRORS as error:
        raise _failure(error) from error


def _claims(answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """``answers``: ID token, user info. The first wins. ``email`` needs ``email_verified`` of the
    same answer (OpenID Connect Core 5.1).
    """
    names = ("email", "email_verified")
    email_answer = next((answer for answer in answers if all(name in answer for name in names)), {})
    claims = {
        name: value
        for answer in reversed(answers)
        for name, value in answer.items()
        if name not in names
    }
    if email_answer.get("email_verified") is True:
        claims["email"] = email_answer["email"]
    return claims


def _sign_out(app: Any, id_token: str) -> str:
    """The URL by OpenID Connect RP-Initiated Logout 1.0, section 2."""
    endpoint = str(app.server_metadata.get("end_session_endpoint") or "")
    if not endpoint:
        return ""
    parameters = {
        "client_id": app.client_id,
        "post_logout_redirect_uri": f"{settings.WEIR.public_url}/sign-in/",
    }
    if len(id_token) <= _LONGEST_ID_TOKEN:
        parameters["id_token_hint"] = id_token
    return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(parameters)}"


def _redirect_uri() -> str:
    """Uses the public address, not the host of the request, which a client chooses."""
    return f"{settings.WEIR.public_url}/sign-in/oidc/back/"


def _app() -> Any:
    weir = settings.WEIR
    return _discovered(
        weir.oidc_issuer,
        weir.oidc_client_id,
        weir.oidc_client_secret,
        weir.oidc_scopes,
        int(time.time() // DISCOVERY_LIFETIME_S),
    )


class _Session(OAuth2Session):  # type: ignore[misc]  # Authlib has no types
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for scheme in ("http://", "https://"):
            self.mount(
                scheme,
                TimedAdapter(REQUEST_TIMEOUT_S, (STEP_TIMEOUT_S, STEP_TIMEOUT_S), MOST_BYTES),
            )


class _App(DjangoOAuth2App):  # type: ignore[misc]  # Authlib has no types
    client_cls = _Session


@lru_cache(maxsize=1)
def _discovered(issuer: str, client_id: str, client_secret: str, scopes: str, hour: int) -> Any:
    """``hour`` limits the lifetime of the cached answer. Errors are not cached."""
    app = _App(
        DjangoIntegration("oidc"),
        name="oidc",
        client_id=client_id,
        client_secret=client_secret,
        server_metadata_url=f"{issuer.rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={"scope": scopes, "code_challenge_method": "S256"},
    )
    metadata = app.load_server_metadata()
    if str(metadata.get("issuer", "")) != issuer:
        raise ValueError(
            f"the discovery document is of the issuer {str(metadata.get('issuer'))[:200]!r}"
        )
    for name in ENDPOINTS:
        address = urlsplit(str(metadata.get(name, "")))
        if name in metadata and (
            address.scheme not in ("https", urlsplit(issuer).scheme) or not address.hostname
        ):
            raise ValueError(f"its {name} is not at https")
    algorithms = metadata.get("id_token_signing_alg_values_supported") or ["RS256"]
    app.server_metadata["id_token_signing_alg_values_supported"] = [
        name for name in algorithms if name in SIGNATURES
    ]
    return app


def _failure(error: Exception) -> ProviderFails:
    """Logs error types, OAuth's codes and this module's texts: libraries' texts may have secrets."""
    reason = getattr(error, "error", "") or (str(error) if type(error) is ValueError else "")
    logger.warning(
        "sign-in by OpenID Connect failed: %s %s", type(error).__name__, str(reason)[:200]
    )
    return ProviderFails(
        "The identity provider did not complete the sign-in. Try again, or use a local account; "
        "the log has the cause."
    )
