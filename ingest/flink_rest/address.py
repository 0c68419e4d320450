import base64
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import quote, unquote, urlsplit

from ingest.errors import Refused
from ingest.sources import Auth

_TOKENS = {"bearer": "Bearer", "api_key": "ApiKey"}


@dataclass(frozen=True, slots=True)
class Address:
    """``base`` is ``scheme://host[:port][/prefix]``, without user and query: safe to show.
    ``origin`` is ``base`` without the prefix.
    """

    base: str
    origin: str
    authorization: str = field(default="", repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def hide(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def parse_address(url: str, auth: Auth | None) -> Address:
    parts = urlsplit(url.strip())
    try:
        port = parts.port
    except ValueError as error:
        raise Refused("The port in a cluster's URL is not a number between 0 and 65535.") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Refused(
            "A cluster's URL starts with http:// or https:// and names a host, as in "
            "http://jobmanager:8081."
        )
    if auth is None and parts.username is not None:
        auth = Auth("basic", unquote(parts.password or ""), unquote(parts.username))
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    scheme: Literal["http", "https"] = "https" if parts.scheme == "https" else "http"
    origin = f"{scheme}://{host}" + (f":{port}" if port is not None else "")
    return Address(origin + quote(parts.path.rstrip("/"), safe="/%:@,~+"), origin, *_sign_in(auth))


def _sign_in(auth: Auth | None) -> tuple[str, tuple[str, ...]]:
    """The header and the texts to hide."""
    if auth is None or auth.scheme == "kerberos":
        return "", ()
    if token_type := _TOKENS.get(auth.scheme):
        secrets = (auth.secret,) if auth.secret else ()
        return _require_one_line(f"{token_type} {auth.secret}"), secrets
    pair = base64.b64encode(f"{auth.user}:{auth.secret}".encode()).decode()
    return f"Basic {pair}", tuple(
        text for text in (pair, auth.secret, quote(auth.secret, safe="")) if text
    )


def _require_one_line(header: str) -> str:
    if any(character in header for character in "\r\n\0"):
        raise Refused("A cluster's token must be one line without control characters.")
    return header
