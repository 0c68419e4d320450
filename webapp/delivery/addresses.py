"""Which addresses Weir may be made to connect to: public ones, and the private networks an operator allowed.

Addresses inside addresses (IPv4 in IPv6, NAT64, 6to4, Teredo, ISATAP) count as what they lead to.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.conf import settings

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NEVER = [
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
"""Whatever an operator allows: nobody receives webhooks there, and the metadata of clouds hand out credentials."""

_NOT_PUBLIC = [
    ipaddress.ip_network(text)
    for text in (
        *("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24"),
        *("192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
        *("2001::/23", "2001:db8::/32", "3fff::/20"),
    )
]
_PUBLIC_V6 = ipaddress.ip_network("2000::/3")
_6TO4 = ipaddress.ip_network("2002::/16")
_TEREDO = ipaddress.ip_network("2001::/32")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_NAT64_OF_A_NETWORK = ipaddress.ip_network("64:ff9b:1::/48")
_TRANSLATED = ipaddress.ip_network("::ffff:0:0:0/96")
_COMPATIBLE = ipaddress.ip_network("::/96")


@dataclass(frozen=True)
class Policy:
    """What the operator of this installation allows."""

    allow_http: bool = False
    networks: Sequence[Network] = field(default=())

    def allows(self, address: Address) -> bool:
        return any(address.version == network.version and address in network for network in self.networks)


def policy() -> Policy:
    """As the environment says."""
    networks = tuple(ipaddress.ip_network(text.strip()) for text in settings.WEIR.webhook_allowed_networks)
    return Policy(settings.WEIR.webhook_allow_http, networks)


def refusal(text: str, scheme: str, rules: Policy) -> str:
    """Why Weir does not connect to this address by ``scheme``; "" where it does."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return "no address"
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id:
        return "an address with a zone"
    for inner in unwrapped(address):
        if any(inner.version == network.version and inner in network for network in _NEVER):
            return "an address nobody may be told at"
        if rules.allows(inner):
            continue
        if not _is_public(inner):
            return "a private or reserved address that WEIR_WEBHOOK_ALLOWED_NETWORKS does not allow"
        if scheme != "https" and not rules.allow_http:
            return "a public address, which needs https"
    return ""


def unwrapped(address: Address) -> list[Address]:
    """Where packets to ``address`` may end: itself, or what is written inside it."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    if address.ipv4_mapped:
        return [address.ipv4_mapped]
    if address in _6TO4 and address.sixtofour:
        return [address.sixtofour]
    if address in _TEREDO and address.teredo:
        return [address, *address.teredo]
    low = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _NAT64_OF_A_NETWORK:
        return [address, low]
    if address in _NAT64 or address in _TRANSLATED or (address in _COMPATIBLE and int(address) > 1):
        return [low]
    if (int(address) >> 32) & 0xFCFFFFFF == 0x5EFE:  # ISATAP
        return [address, low]
    return [address]


def _is_public(address: Address) -> bool:
    if any(address.version == network.version and address in network for network in _NOT_PUBLIC):
        return False
    return address.version == 4 or address in _PUBLIC_V6
