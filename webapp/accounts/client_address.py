import ipaddress
import re

from django.conf import settings
from django.http import HttpRequest

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_WITH_PORT = re.compile(
    r"(?P<v4>[0-9.]{7,15}):[0-9]{1,5}|\[(?P<v6>[0-9a-fA-F:.]{2,45})\](:[0-9]{1,5})?"
)
_LONGEST = 60


def address_of(request: HttpRequest) -> str:
    """The client's IPv4 address or IPv6 network of 64 bits, the smallest that a client gets. Behind
    a declared proxy, it is the last one that the proxy names, which a client cannot forge. Clients
    of Unix sockets have no address: they count as one client.
    """
    return _network(_client(request), 32, 64)


def network_of(request: HttpRequest) -> str:
    return _network(_client(request), 24, 48)


def text_of(request: HttpRequest) -> str:
    return str(_client(request) or "")


def _client(request: HttpRequest) -> Address | None:
    peer = _parse(str(request.META.get("REMOTE_ADDR", "")))
    if not settings.WEIR.behind_proxy:
        return peer
    return _parse(request.headers.get("X-Forwarded-For", "").rpartition(",")[2]) or peer


def _parse(text: str) -> Address | None:
    text = text.strip()[:_LONGEST]
    with_port = _WITH_PORT.fullmatch(text)
    try:
        address = ipaddress.ip_address(
            with_port["v4"] or with_port["v6"] if with_port else text.partition("%")[0]
        )
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _network(address: Address | None, bits_v4: int, bits_v6: int) -> str:
    if address is None:
        return "unknown"
    return str(
        ipaddress.ip_network((address, bits_v4 if address.version == 4 else bits_v6), strict=False)
    )
