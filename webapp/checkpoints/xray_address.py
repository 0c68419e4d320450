"""Where the X-ray of a checkpoint is found: by the path that Flink reported, without a query."""

from django.conf import settings

from ingest.metadata.files import NAME
from ingest.uris import BadUri, Spellings, canonical


def address_of(path: str | None) -> str:
    """Canonical path of the ``_metadata`` for a link; "" where Flink reported none (state in memory
    only, or not completed).
    """
    if not path or path.startswith("<"):
        return ""
    try:
        return f"{canonical(path, Spellings(tuple(settings.WEIR.storage_aliases.items())))}/{NAME}"
    except BadUri:
        return ""
