"""Where clusters, History Servers and their logs may be: checked when an address is entered, and at
every connection. The check that counts is :func:`checked_socket`, after names, redirects and
spellings have become one address.
"""

import errno
import ipaddress
import os
import socket
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from typing import Any

from ingest.errors import Refused
from ingest.messages import message
from ingest.network.addresses import Network, is_forbidden, unwrapped

VARIABLE = "WEIR_CLUSTER_ALLOWED_NETWORKS"
RESOLVE_WITHIN_S = 5


class RefusedAddress(OSError):
    """No connection was made. The message names no more than the host."""

    def __init__(self, host: str, why: str) -> None:
        super().__init__(errno.EACCES, f"{host} {why}")


def allowed_networks(environment: Mapping[str, str] = os.environ) -> tuple[Network, ...]:
    """As the environment says; none means everywhere.

    Raises ``Refused`` where that makes no sense.
    """
    try:
        return tuple(
            ipaddress.ip_network(text.strip())
            for text in environment.get(VARIABLE, "").split(",")
            if text.strip()
        )
    except ValueError as error:
        raise Refused(
            message(
                "{variable:text} must be networks such as 10.0.0.0/8, separated by commas.",
                variable=VARIABLE,
            )
        ) from error


def refusal(text: str) -> str:
    """The end of a sentence; "" where it may be."""
    address = ipaddress.ip_address(text.partition("%")[0])
    networks = allowed_networks()
    for inner in unwrapped(address):
        if is_forbidden(inner):
            return message(
                "is or leads to an address that Weir never asks: link-local, cloud metadata, "
                "multicast or reserved"
            )
        if networks and not any(
            inner.version == network.version and inner in network for network in networks
        ):
            return message(
                "is or leads to an address outside of the networks that {variable:text} names: "
                "clusters are asked in these alone. Add the network of this address to it, such as "
                "127.0.0.0/8 for this machine, and start Weir again",
                variable=VARIABLE,
            )
    return ""


def check_host(host: str, port: int | None = None) -> None:
    """Raises :class:`RefusedAddress`; a name that does not resolve now is not refused."""
    pool = ThreadPoolExecutor(1)
    try:
        resolving = pool.submit(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM).result(
            RESOLVE_WITHIN_S
        )
    except (OSError, UnicodeError, Late):
        return
    finally:
        pool.shutdown(wait=False)
    for *_, address in resolving:
        if why := refusal(str(address[0])):
            raise RefusedAddress(host, why)


def checked_socket(info: tuple[Any, ...]) -> socket.socket:
    """For aiohttp's connectors: the socket of one connection, or :class:`RefusedAddress`."""
    family, kind, protocol, _, address = info
    if why := refusal(str(address[0])):
        raise RefusedAddress(str(address[0]), why)
    return socket.socket(family, kind, protocol)
