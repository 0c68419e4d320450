"""A checkpoint fact for machines: which names in which order."""

import json
from datetime import UTC, datetime
from typing import Any

from spark_jobs.serving import CHECKPOINT_FACT

FIRST = (
    "cluster", "job_id", "checkpoint_id", "is_savepoint", "outcome", "reason", "trigger_time", "end_to_end_ms",
    "state_bytes", "checkpointed_bytes", "subtasks", "acknowledged",
)  # fmt: skip
NAMES = (*FIRST, *(name for name in CHECKPOINT_FACT.column_names if name not in FIRST))


def as_json_line(values: tuple[Any, ...]) -> str:
    """One object on one line; ``values`` in the order of :data:`NAMES`, instants as ISO 8601 in UTC."""
    return json.dumps(dict(zip(NAMES, values, strict=True)), default=_instant, ensure_ascii=False, separators=(", ", ": "))


def _instant(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    raise TypeError(type(value).__name__)
