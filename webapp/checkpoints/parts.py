"""What is known of one subtask's part in a checkpoint, and in which order parts are shown."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class SubtaskPart:
    """One subtask's part; ``None`` is unknown. ``acknowledged_at`` ``None`` means that it had not,
    also where its part was ``aborted``.
    """

    vertex_id: str
    vertex_name: str
    subtask: int
    acknowledged_at: datetime | None
    end_to_end_ms: int | None
    start_delay_ms: int | None
    alignment_ms: int | None
    sync_ms: int | None
    async_ms: int | None
    state_bytes: int | None
    checkpointed_bytes: int | None
    unaligned: bool | None
    aborted: bool | None

    @property
    def is_silent(self) -> bool:
        """REST reported that it had not acknowledged."""
        return self.acknowledged_at is None

    @property
    def known_ms(self) -> int:
        """How long it took, as far as that is known."""
        phases = (self.start_delay_ms, self.alignment_ms, self.sync_ms, self.async_ms)
        return (
            self.end_to_end_ms if self.end_to_end_ms is not None else sum(ms or 0 for ms in phases)
        )


def in_order(parts: Iterable[SubtaskPart]) -> list[SubtaskPart]:
    """Those that never acknowledged first, then the slowest."""
    return sorted(
        parts, key=lambda part: (not part.is_silent, -part.known_ms, part.vertex_name, part.subtask)
    )
