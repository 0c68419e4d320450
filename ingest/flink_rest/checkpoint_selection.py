import statistics
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ingest.flink_rest.cursor import DETAILED, DISCARDED, STORED, JobCursor
from ingest.flink_rest.limits import RequestLimits
from ingest.json_members import member
from ingest.records import Checkpoint

LONG_RUNNING_S = 10

MIN_SIBLINGS = 5
SLOW_AGAINST_MEDIAN = 2
NEVER_SLOW_BELOW_MS = 5_000


def key_of(checkpoint: Checkpoint) -> tuple[int, int]:
    """(id, trigger ms). Ids repeat if a job with a fixed id restarts."""
    return checkpoint.checkpoint_id, round(checkpoint.trigger_time.timestamp() * 1000)


def is_of_another_job(details: Any, keys: Collection[tuple[int, int]], checkpoint_id: int) -> bool:
    """Whether ``keys`` has ``checkpoint_id`` only with trigger times other than the details'."""
    triggered_ms = member(details, "trigger_timestamp")
    times = {at_ms for number, at_ms in keys if number == checkpoint_id}
    return isinstance(triggered_ms, int) and bool(times) and triggered_ms not in times


def is_final(checkpoint: Checkpoint) -> bool:
    return checkpoint.status in ("COMPLETED", "FAILED")


@dataclass(frozen=True, slots=True)
class CheckpointSelection:
    """Selects what to request of the ``listed`` checkpoints. ``lean``: in a large cluster, only a
    sample of completed checkpoints gets details.
    """

    listed: Sequence[Checkpoint]
    cursor: JobCursor
    limits: RequestLimits
    lean: bool

    def is_new(self, checkpoint: Checkpoint) -> bool:
        stored_flags = self.cursor.checkpoints.get(key_of(checkpoint), 0) & ~DETAILED
        return not is_final(checkpoint) or stored_flags != _flags(checkpoint)

    def to_detail(self, now_s: float) -> list[Checkpoint]:
        selected = [
            checkpoint for checkpoint in self.listed if self._needs_details(checkpoint, now_s)
        ]
        return sorted(
            selected,
            key=lambda checkpoint: (
                checkpoint.status != "FAILED",
                is_final(checkpoint),
                -checkpoint.trigger_time.timestamp(),
            ),
        )

    def needs_subtasks(self, checkpoint: Checkpoint) -> bool:
        if checkpoint.status != "COMPLETED" or checkpoint.is_savepoint or self._is_slow(checkpoint):
            return True
        if (checkpoint.subtasks or 0) <= self.limits.small_job_subtasks and not self.lean:
            return True
        return checkpoint.checkpoint_id % self.limits.sample_every == 0

    def remember(self, detailed: Iterable[tuple[int, int]]) -> None:
        detail_flags = {key: flags & DETAILED for key, flags in self.cursor.checkpoints.items()}
        detail_flags |= dict.fromkeys(detailed, DETAILED)
        self.cursor.checkpoints = {
            key_of(checkpoint): _flags(checkpoint) | detail_flags.get(key_of(checkpoint), 0)
            for checkpoint in self.listed
            if is_final(checkpoint)
        }

    def _needs_details(self, checkpoint: Checkpoint, now_s: float) -> bool:
        if not is_final(checkpoint):
            return now_s - checkpoint.trigger_time.timestamp() >= LONG_RUNNING_S
        was_detailed = self.cursor.checkpoints.get(key_of(checkpoint), 0) & DETAILED
        return not was_detailed and (not self.lean or self.needs_subtasks(checkpoint))

    def _is_slow(self, checkpoint: Checkpoint) -> bool:
        end_to_end_ms = checkpoint.end_to_end_ms or 0
        if end_to_end_ms >= self.limits.slow_ms:
            return True
        durations_ms = [
            other.end_to_end_ms or 0
            for other in self.listed
            if other.status == "COMPLETED" and not other.is_savepoint
        ]
        if len(durations_ms) < MIN_SIBLINGS or end_to_end_ms < NEVER_SLOW_BELOW_MS:
            return False
        return end_to_end_ms >= SLOW_AGAINST_MEDIAN * statistics.median(durations_ms)


def _flags(checkpoint: Checkpoint) -> int:
    return STORED | (DISCARDED if checkpoint.discarded else 0)
