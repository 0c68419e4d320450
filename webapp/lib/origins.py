"""Origins of addresses (scheme, host, port): a stored password is only sent to the origin for which
it was entered.
"""

from collections.abc import Iterable
from urllib.parse import urlsplit

from webapp.lib.translations import gettext_lazy as _

Origin = tuple[str, str, int | None]
_PORTS = {"http": 80, "https": 443}

ENTER_AGAIN = _(
    "The address has a different host, port or scheme than before: enter the secret again, so "
    "that it is not sent to a server that it was not meant for."
)


def origin(url: str) -> Origin | None:
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        return None
    if not parts.hostname:
        return None
    return (
        parts.scheme,
        parts.hostname.rstrip("."),
        _PORTS.get(parts.scheme) if port is None else port,
    )


def leads_elsewhere(before: Iterable[str], after: Iterable[str]) -> bool:
    """Whether any of ``after`` has an origin that none of ``before`` has."""
    origins = {origin(url) for url in before if url}
    return any(origin(url) not in origins for url in after if url)
