from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class CheckpointPoint:
    """A checkpoint in charts. None is unknown; phases are those of the slowest subtask."""

    checkpoint_id: int
    trigger_time: datetime
    outcome: str
    is_savepoint: bool = False
    end_to_end_ms: float | None = None
    end_time: datetime | None = None
    start_delay_ms: float | None = None
    alignment_ms: float | None = None
    sync_ms: float | None = None
    async_ms: float | None = None
    unaligned: bool | None = None
    reason: str | None = None
    slowest: str | None = None
    state_bytes: int | None = None
    checkpointed_bytes: int | None = None
