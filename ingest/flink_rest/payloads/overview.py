"""``/config`` and ``/overview``: which Flink this is."""

from typing import Any

from ingest.flink_rest.payloads.fields import Fields, clean_text
from ingest.flink_rest.versions import MAX_VERSION_CHARS


def flink_version(body: Any) -> str | None:
    """``1.20.5``; ``None`` where the payload has none. Raises ``Skipped`` on a bad shape."""
    version = Fields(body).text("flink-version")
    return clean_text(version, MAX_VERSION_CHARS) if version and not version.startswith("<") else None
