"""Addresses to which Weir may send notices: public ones, and private networks that settings allow.
:mod:`ingest.network.clusters` knows forbidden addresses, and those that IPv6 addresses contain.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.conf import settings
from django.utils.translation import gettext

from ingest.network.clusters import Address, Network, is_forbidden, unwrapped

_NOT_PUBLIC = [
    ipaddress.ip_network(text)
    for text in (
        *(
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
        ),
        *("192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
        *("2001::/23", "2001:db8::/32", "3fff::/20"),
    )
]
_PUBLIC_V6 = ipaddress.ip_network("2000::/3")


@dataclass(frozen=True)
class Policy:
    allow_http: bool = False
    networks: Sequence[Network] = field(default=())

    def allows(self, address: Address) -> bool:
        return any(
            address.version == network.version and address in network for network in self.networks
        )


def policy() -> Policy:
    networks = tuple(
        ipaddress.ip_network(text.strip()) for text in settings.WEIR.webhook_allowed_networks
    )
    return Policy(settings.WEIR.webhook_allow_http, networks)


def refusal(text: str, scheme: str, rules: Policy) -> str:
    """Why Weir does not connect to the address ``text`` by ``scheme``; "" if it does."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return gettext("no address")
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id:
        return gettext("an address with a zone")
    for inner in unwrapped(address):
        if is_forbidden(inner):
            return gettext("an address that nothing may be sent to")
        if rules.allows(inner):
            continue
        if not _is_public(inner):
            return gettext(
                "a private address, and alerts are sent to private networks only where "
                "WEIR_WEBHOOK_ALLOWED_NETWORKS names them, such as 127.0.0.0/8 for this machine. "
                "Set it in the environment of Weir and start Weir again"
            )
        if scheme != "https" and not rules.allow_http:
            return gettext("a public address, which needs https")
    return ""


def _is_public(address: Address) -> bool:
    if any(address.version == network.version and address in network for network in _NOT_PUBLIC):
        return False
    return address.version == 4 or address in _PUBLIC_V6
