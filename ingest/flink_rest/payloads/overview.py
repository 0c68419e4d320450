"""``/config`` and ``/overview``: which Flink this is."""

from typing import Any

from ingest.flink_rest.payloads.fields import Fields


def flink_version(body: Any) -> str | None:
    """``1.20.5``; ``None`` where the payload does not tell. Raises ``Skipped`` on a bad shape."""
    version = Fields(body).text("flink-version")
    return version if version and not version.startswith("<") else None
