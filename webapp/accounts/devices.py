"""Signed cookies of browsers that signed in before (OWASP device cookies): with one, a person can
still sign in while somebody guesses their password. The cookie itself signs nobody in.
"""

import secrets
from dataclasses import dataclass
from typing import Any

from django.core import signing
from django.http import HttpRequest, HttpResponseBase
from django.utils.crypto import salted_hmac

from webapp.accounts import kept_choices

COOKIE = "weir_device"
LIFETIME_S = 180 * 86_400
MOST_PEOPLE = 5
_SALT = "weir.accounts.devices"
_LONGEST = 1_000


@dataclass(frozen=True)
class Device:
    """``people``: keyed digests of user names, the latest first."""

    nonce: str
    people: tuple[str, ...]

    def knows(self, user_name: str) -> bool:
        return _digest(user_name) in self.people


def device_of(request: HttpRequest) -> Device | None:
    """None without a valid cookie."""
    text = request.COOKIES.get(COOKIE, "")
    if not 0 < len(text) <= _LONGEST:
        return None
    try:
        signed: Any = signing.loads(text, salt=_SALT, max_age=LIFETIME_S)
        return Device(str(signed["nonce"]), tuple(map(str, signed["people"])))
    except (signing.BadSignature, ValueError, KeyError, TypeError):
        return None


def remember(request: HttpRequest, response: HttpResponseBase) -> None:
    """Sets a new nonce for the user who just signed in: failures with the old one no longer count."""
    previous = device_of(request)
    digest = _digest(request.user.get_username())
    earlier = [person for person in (previous.people if previous else ()) if person != digest]
    people = (digest, *earlier)[:MOST_PEOPLE]
    text = signing.dumps({"nonce": secrets.token_urlsafe(12), "people": people}, salt=_SALT)
    kept_choices.set_cookie(response, COOKIE, text, LIFETIME_S)


def _digest(user_name: str) -> str:
    return salted_hmac(_SALT, user_name.casefold(), algorithm="sha256").hexdigest()[:32]
