from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class LogEvent:
    """``execution_id``: 32 hex digits up to 1.15, from 1.16 on
    ``{graph}_{vertex}_{subtask}_{attempt}``. ``subtask`` is 0-based, although the ``i`` of
    ``(i/p)`` in logs is 1-based. ``path``: of a checkpoint or savepoint, or of the object for which
    a store failed. ``count``: number of tasks or attempts.
    """

    kind: str
    process: str
    ts: datetime
    level: str
    record_hash: str
    ordinal: int
    file: str
    offset: int
    job_id: str | None = None
    job_name: str | None = None
    checkpoint_id: int | None = None
    checkpoint_type: str | None = None
    is_savepoint: bool | None = None
    trigger_time: datetime | None = None
    execution_id: str | None = None
    vertex_id: str | None = None
    task: str | None = None
    subtask: int | None = None
    parallelism: int | None = None
    attempt: int | None = None
    container: str | None = None
    host: str | None = None
    from_state: str | None = None
    to_state: str | None = None
    reason: str | None = None
    reason_text: str | None = None
    state_bytes: int | None = None
    checkpointed_bytes: int | None = None
    duration_ms: int | None = None
    timeout_ms: int | None = None
    alignment_ms: int | None = None
    path: str | None = None
    count: int | None = None
    message: str | None = None
    detail: str | None = None
