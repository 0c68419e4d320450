"""Canonical URIs of storage, with the aliases that the environment declares."""

from functools import cache

from django.conf import settings

from ingest import uris
from ingest.uris import BadUri, Spellings

_of = cache(Spellings)


def spellings() -> Spellings:
    """Raises ``BadUri`` if the aliases form a circle."""
    return _of(tuple(settings.WEIR.storage_aliases.items()))


def canonical(uri: str) -> str:
    """:func:`ingest.uris.canonical` with the aliases. Raises ``BadUri``."""
    return uris.canonical(uri, spellings())


def canonical_or_none(uri: str | None) -> str | None:
    """None if there is none, or if it is not valid. Raises ``BadUri`` as :func:`spellings`."""
    aliases = spellings()
    try:
        return uris.canonical(uri, aliases) if uri else None
    except BadUri:
        return None
