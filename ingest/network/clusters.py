"""Which addresses clusters, History Servers and their logs may have. ``checked_socket`` checks
the address of each connection, whatever names, redirects and spellings led to it.
"""

import errno
import ipaddress
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ingest.errors import Refused
from ingest.messages import message

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_FORBIDDEN = [
    ipaddress.ip_network(text)
    for text in (
        "169.254.0.0/16",  # link-local: the metadata of most clouds
        "fe80::/10",
        "fd00:ec2::/32",  # AWS
        "fd20:ce::/32",  # Google
        "100.100.100.200/32",  # Alibaba
        "168.63.129.16/32",  # Azure, though the address is public
        "192.0.0.192/32",  # Oracle
        "0.0.0.0/8",
        "::/128",
        "224.0.0.0/4",
        "ff00::/8",
        "240.0.0.0/4",
    )
]
"""No JobManager or receiver of notices has these addresses. Metadata services of clouds return
credentials.
"""

_6TO4 = ipaddress.ip_network("2002::/16")
_TEREDO = ipaddress.ip_network("2001::/32")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_LOCAL_NAT64 = ipaddress.ip_network("64:ff9b:1::/48")
_TRANSLATED = ipaddress.ip_network("::ffff:0:0:0/96")
_COMPATIBLE = ipaddress.ip_network("::/96")


def is_forbidden(address: Address) -> bool:
    return any(address in network for network in _FORBIDDEN)


def unwrapped(address: Address) -> list[Address]:
    """The addresses that packets may reach: ``address``, addresses embedded in it, or both."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    if address.ipv4_mapped:
        return [address.ipv4_mapped]
    if address in _6TO4 and address.sixtofour:
        return [address.sixtofour]
    if address in _TEREDO and address.teredo:
        return [address, *address.teredo]
    low = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _LOCAL_NAT64:
        return [address, low]
    if address in _NAT64 or address in _TRANSLATED or (address in _COMPATIBLE and int(address) > 1):
        return [low]
    if (int(address) >> 32) & 0xFCFFFFFF == 0x5EFE:  # ISATAP
        return [address, low]
    return [address]


VARIABLE = "WEIR_CLUSTER_ALLOWED_NETWORKS"
RESOLVE_WITHIN_S = 5


class RefusedAddress(OSError):
    """No connection was made. The message has the host and the reason."""

    def __init__(self, host: str, why: str) -> None:
        super().__init__(errno.EACCES, f"{host} {why}")


def allowed_networks() -> tuple[Network, ...]:
    """An empty tuple means that every network is allowed. Raises ``Refused``."""
    try:
        return tuple(
            ipaddress.ip_network(text.strip())
            for text in os.environ.get(VARIABLE, "").split(",")
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
    """The reason as the end of a sentence; "" if the address is allowed."""
    address = ipaddress.ip_address(text.partition("%")[0])
    networks = allowed_networks()
    for reached in unwrapped(address):
        if is_forbidden(reached):
            return message(
                "is or leads to an address that Weir never asks: link-local, cloud metadata, "
                "multicast or reserved"
            )
        if networks and not any(reached in network for network in networks):
            return message(
                "is or leads to an address outside of the networks that {variable:text} names: "
                "clusters are asked in these alone. Add the network of this address to it, such as "
                "127.0.0.0/8 for this machine, and start Weir again",
                variable=VARIABLE,
            )
    return ""


def check_host(host: str, port: int | None = None) -> None:
    """Raises ``RefusedAddress``. A name that cannot be resolved now is not refused."""
    pool = ThreadPoolExecutor(1)
    try:
        resolved = pool.submit(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM).result(
            RESOLVE_WITHIN_S
        )
    except (OSError, UnicodeError):
        return
    finally:
        pool.shutdown(wait=False)
    for *_, address in resolved:
        if why := refusal(str(address[0])):
            raise RefusedAddress(host, why)


def checked_socket(info: tuple[Any, ...]) -> socket.socket:
    family, kind, protocol, _, address = info
    if why := refusal(str(address[0])):
        raise RefusedAddress(str(address[0]), why)
    return socket.socket(family, kind, protocol)
