"""Checks the URLs to which notices are sent: when they are entered, and at every connection by
:class:`CheckedResolver`, since a name may resolve differently later.
"""

import asyncio
import ipaddress
import re
import socket
from concurrent.futures import Executor, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from dataclasses import dataclass
from urllib.parse import urlsplit

import idna
from aiohttp.abc import AbstractResolver, ResolveResult
from django.utils.translation import gettext

from webapp.delivery.addresses import Policy, refusal

LONGEST_URL = 2_000
RESOLVE_WITHIN_S = 5
PORTS = {"http": 80, "https": 443}
_SENDABLE = re.compile(r"[!$&-;=?-Z_a-z~%\[\]]+")
"""Path and query without characters that must be percent-encoded."""
_NAME = re.compile(
    r"(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*"
)
_REFUSED_NAMES = ("metadata.google.internal", "metadata.goog", "metadata", "instance-data")


class RefusedTarget(ValueError):
    """The message names only the host: the rest of the URL may be a password."""


@dataclass(frozen=True)
class Target:
    """``host``: an A-label, or the shortest form of an IP address; ``url`` is built from the parts."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def is_address(self) -> bool:
        return ":" in self.host or self.host.replace(".", "").isdigit()

    @property
    def origin(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + (
            "" if self.port == PORTS[self.scheme] else f":{self.port}"
        )

    @property
    def url(self) -> str:
        return self.origin + self.path


def parse_target(url: str, rules: Policy) -> Target:
    """All checks except DNS. Raises :class:`RefusedTarget`."""
    if len(url) > LONGEST_URL or any(
        ord(letter) <= 0x20 or letter in '\\"<>^`{|}' or ord(letter) == 0x7F for letter in url
    ):
        raise RefusedTarget(
            gettext(
                "The address is longer than %(longest_url)s characters, or contains spaces or "
                "characters that are not allowed in an address."
            )
            % {"longest_url": LONGEST_URL}
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise RefusedTarget(
            gettext("The address cannot be read; write it as https://host/path.")
        ) from None
    if parts.scheme not in PORTS or not parts.netloc:
        raise RefusedTarget(gettext("The address has to begin with https://."))
    if "@" in parts.netloc:
        raise RefusedTarget(gettext("Leave user and password out of the address."))
    if parts.fragment or url.endswith("#"):
        raise RefusedTarget(
            gettext("Leave the part behind # out of the address; it is never sent.")
        )
    host = _host(parts.netloc)
    chosen = PORTS[parts.scheme] if port is None else port
    if chosen not in (80, 443) and not 1024 <= chosen <= 65535:
        raise RefusedTarget(
            gettext("Port %(chosen)s is not for webhooks; use 80, 443 or one from 1024 on.")
            % {"chosen": chosen}
        )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not _SENDABLE.fullmatch(path):
        raise RefusedTarget(gettext("The path contains characters that must be percent-encoded."))
    target = Target(parts.scheme, host, chosen, path)
    if target.scheme == "http" and not (rules.allow_http or rules.networks):
        raise RefusedTarget(
            gettext(
                "The address has to begin with https://. Alerts are sent by http only to networks "
                "that WEIR_WEBHOOK_ALLOWED_NETWORKS names, such as 127.0.0.0/8 for this machine. "
                "Set it in the environment of Weir and start Weir again."
            )
        )
    if target.is_address:
        _refuse(host, host, target.scheme, rules)
    return target


def check_target(url: str, rules: Policy) -> Target:
    """As :func:`parse_target`, and with a DNS look-up."""
    target = parse_target(url, rules)
    if target.is_address:
        return target
    pool = ThreadPoolExecutor(1)
    try:
        resolved = pool.submit(
            socket.getaddrinfo, target.host, target.port, type=socket.SOCK_STREAM
        ).result(RESOLVE_WITHIN_S)
    except (OSError, UnicodeError, Late):
        raise RefusedTarget(
            gettext("The name %(host)s is not known to the name server of this machine.")
            % {"host": target.host}
        ) from None
    finally:
        pool.shutdown(wait=False)
    for *_, address in resolved:
        _refuse(target.host, str(address[0]), target.scheme, rules)
    return target


class CheckedResolver(AbstractResolver):
    """For connections of one scheme; refuses a name if one of its addresses is forbidden."""

    def __init__(self, scheme: str, rules: Policy, pool: Executor) -> None:
        self.scheme, self.rules, self.pool = scheme, rules, pool

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Raises :class:`RefusedTarget`, or ``OSError`` if there is no such name."""
        loop = asyncio.get_running_loop()
        resolved = await loop.run_in_executor(
            self.pool, lambda: socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)
        )
        answers: list[ResolveResult] = []
        for kind, _, protocol, _, address in resolved:
            _refuse(host, str(address[0]), self.scheme, self.rules)
            answers.append(
                {
                    "hostname": host,
                    "host": str(address[0]),
                    "port": port,
                    "family": kind,
                    "proto": protocol,
                    "flags": socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
                }
            )
        return answers

    async def close(self) -> None:
        """The pool belongs to the caller."""


def _host(netloc: str) -> str:
    if netloc.startswith("["):
        text = netloc[1:].partition("]")[0]
        try:
            return str(ipaddress.IPv6Address(text))
        except ValueError:
            raise RefusedTarget(
                gettext("The text between [ and ] is not an IPv6 address.")
            ) from None
    name = netloc.partition(":")[0]
    try:
        ascii_name = (
            idna.encode(name.removesuffix("."), uts46=True).decode()
            if not name.isascii()
            else name.removesuffix(".").lower()
        )
    except (idna.IDNAError, UnicodeError):
        raise RefusedTarget(gettext("The host is not a name that can be resolved.")) from None
    if _ends_in_number(ascii_name):
        try:
            return str(ipaddress.IPv4Address(ascii_name))
        except ValueError:
            raise RefusedTarget(
                gettext("Write an address as four decimal numbers, such as 192.0.2.1.")
            ) from None
    if not _NAME.fullmatch(ascii_name) or ascii_name in _REFUSED_NAMES:
        raise RefusedTarget(gettext("Alerts may not be sent to this host."))
    return ascii_name


def _ends_in_number(name: str) -> bool:
    """Some libraries read such names as addresses: 2130706433, 0x7f.1, 0177.0.0.1, 127.1."""
    last = name.rpartition(".")[2]
    return last.isdigit() or bool(re.fullmatch(r"0x[0-9a-f]*", last))


def _refuse(host: str, address: str, scheme: str, rules: Policy) -> None:
    why = refusal(address, scheme, rules)
    if why and host == address:
        raise RefusedTarget(gettext("%(host)s is %(why)s.") % {"host": host, "why": why})
    if why:
        raise RefusedTarget(gettext("%(host)s leads to %(why)s.") % {"host": host, "why": why})
