import binascii
from base64 import b64decode
from collections.abc import Mapping
from functools import cached_property
from typing import Any, cast

from webapp.config import encryption
from webapp.delivery import addresses
from webapp.delivery.choices import FormatName
from webapp.delivery.endpoint_entry import ENTERED, EndpointEntry, enter
from webapp.delivery.models import Endpoint
from webapp.delivery.signing import KEY_BYTES, PREFIX
from webapp.findings.choices import Severity
from webapp.lib.matchers import as_entered
from webapp.lib.refusals import InputRefused
from webapp.site.declared import secrets
from webapp.site.declared.kind import (
    MATCHERS,
    NAME,
    Entry,
    Kind,
    matcher_texts,
    parsed_matchers,
    property_of,
)


class Endpoints(Kind):
    """Who is notified of what: the matchers and the least severity are the route to an endpoint."""

    name = "endpoints"
    # An address is a secret, too: that of a chat bot has a password in it.
    secret_columns = {
        "url": "url_encrypted",
        "credential": "credential_encrypted",
        "signing_secret": "secret_encrypted",
    }
    generated_secrets = frozenset({"signing_secret"})
    columns = frozenset({*ENTERED, *secret_columns.values()})
    required = ("name",)

    @cached_property
    def properties(self) -> dict[str, dict[str, Any]]:
        emails = property_of(Endpoint._meta.get_field("emails"))
        owner = property_of(Endpoint._meta.get_field("owner_email"))
        return {
            "name": NAME,
            "format": {"enum": [*FormatName.values], "default": FormatName.WEIR.value},
            **dict.fromkeys(self.secret_columns, secrets.SCHEMA),
            "emails": emails,
            "matchers": {**MATCHERS, "default": []},
            "min_severity": {"enum": [*Severity.values], "default": Severity.WARNING.value},
            "owner_email": owner,
        }

    def rows(self) -> Any:
        return Endpoint.objects.order_by("name")

    def normalised(self, entry: Entry) -> Entry:
        return entry | {"matchers": matcher_texts(parsed_matchers(entry))}

    def entry(self, row: Endpoint) -> Entry:
        names = ("name", "format", "emails", "min_severity", "owner_email")
        matchers = matcher_texts(as_entered(row.matchers))
        return self.without_defaults(
            {**{name: getattr(row, name) for name in names}, "matchers": matchers}
        )

    def write(self, row: Any | None, entry: Entry, secrets: Mapping[str, str]) -> list[str]:
        endpoint = cast("Endpoint", row or Endpoint())
        # Those of a file replace what is stored, whatever address it was for.
        endpoint.url_encrypted = endpoint.credential_encrypted = ""
        new_secret = enter(
            endpoint,
            EndpointEntry(
                name=entry["name"],
                format=entry.get("format", FormatName.WEIR),
                url=secrets.get("url"),
                credential=secrets.get("credential"),
                emails=tuple(entry.get("emails", ())),
                matchers=parsed_matchers(entry),
                min_severity=entry.get("min_severity", Severity.WARNING),
                owner_email=entry.get("owner_email", ""),
            ),
            addresses.policy(),
        )
        if signing_secret := secrets.get("signing_secret"):
            endpoint.secret_encrypted = encryption.encrypt(_checked(signing_secret))
            endpoint.save(update_fields=["secret_encrypted"])
            return []
        if not new_secret:
            return []
        return [f"Signing secret of {endpoint.name}, shown only once: {new_secret}"]


def _checked(secret: str) -> str:
    """Raises :class:`InputRefused`."""
    try:
        key = b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        key = b""
    if not secret.startswith(PREFIX) or len(key) != KEY_BYTES:
        raise InputRefused(
            f"signing_secret must be {PREFIX} and {KEY_BYTES} bytes in base 64, as Weir makes it."
        )
    return secret
