"""A finding for machines: which names in which order."""

import json
from datetime import UTC, datetime
from typing import Any

NAMES = (
    "rule", "severity", "confidence", "state", "cluster", "job_id", "job_name", "subject", "title", "evidence", "next_step",
    "first_seen", "last_seen", "closed_at", "cause", "subject_kind", "subject_id", "related", "data", "as_of", "id",
)  # fmt: skip


def as_json_line(values: tuple[Any, ...]) -> str:
    """One object on one line; ``values`` in the order of :data:`NAMES`, instants as ISO 8601 in UTC."""
    return json.dumps(dict(zip(NAMES, values, strict=True)), default=_instant, ensure_ascii=False, separators=(", ", ": "))


def _instant(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    raise TypeError(type(value).__name__)
