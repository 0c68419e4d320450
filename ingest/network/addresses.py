"""Addresses that Weir never connects to, whatever an operator allows, in every spelling.

Addresses inside addresses (IPv4 in IPv6, NAT64, 6to4, Teredo, ISATAP) count as what they lead to.
"""

import ipaddress

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
"""No JobManager and no receiver of alerts is there, and the metadata of clouds hand out
credentials.
"""

_6TO4 = ipaddress.ip_network("2002::/16")
_TEREDO = ipaddress.ip_network("2001::/32")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_NAT64_OF_A_NETWORK = ipaddress.ip_network("64:ff9b:1::/48")
_TRANSLATED = ipaddress.ip_network("::ffff:0:0:0/96")
_COMPATIBLE = ipaddress.ip_network("::/96")


def is_forbidden(address: Address) -> bool:
    return any(address.version == network.version and address in network for network in _NEVER)


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
