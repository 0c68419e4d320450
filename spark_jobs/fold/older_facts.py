"""A summary of checkpoints whose facts are no longer kept one by one."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter

from spark_jobs.fold.rows import HOUR_MS, Row, RowList, Rows, first_known, largest, least
from spark_jobs.fold.triggers import CheckpointKey, key_of

POINTS_KEPT = 300
HOURLY_POINTS_MS = 7 * 24 * HOUR_MS
SAVEPOINTS_KEPT = 50

Point = tuple[int, int, int, int]
"""End (epoch ms), id, full state in bytes and trigger (epoch ms) of a completed checkpoint."""

trigger_order = itemgetter("trigger_time", "checkpoint_id")


@dataclass(frozen=True)
class OlderFacts:
    """``points``: sizes of completed checkpoints; ``completed_as_of``: their newest ``as_of``."""

    first_trigger: int | None = None
    as_of: int | None = None
    completed_as_of: int | None = None
    last_completed: Row | None = None
    points: Sequence[Sequence[int]] = field(default_factory=list)
    savepoints: RowList = field(default_factory=list)

    def without(self, keys: Collection[CheckpointKey]) -> "OlderFacts":
        if not keys:
            return self
        last = self.last_completed
        return replace(
            self,
            last_completed=None if last is None or key_of(last) in keys else last,
            points=[point for point in self.points if (point[1], point[3]) not in keys],
            savepoints=[fact for fact in self.savepoints if key_of(fact) not in keys],
        )

    def joined_by(self, facts: RowList) -> "OlderFacts":
        if not facts:
            return self
        completed = [fact for fact in facts if is_completed_checkpoint(fact)]
        candidates = [*completed, self.last_completed] if self.last_completed else completed
        savepoints = [*self.savepoints, *(fact for fact in facts if fact["is_savepoint"])]
        return OlderFacts(
            least(self.first_trigger, *(fact["trigger_time"] for fact in facts)),
            largest(self.as_of, *(fact["as_of"] for fact in facts)),
            largest(self.completed_as_of, *(fact["as_of"] for fact in completed)),
            max(candidates, key=trigger_order, default=None),
            _thin([*self.points, *points(completed)]),
            sorted(savepoints, key=trigger_order)[-SAVEPOINTS_KEPT:],
        )


def is_completed_checkpoint(fact: Row) -> bool:
    return fact["outcome"] == "completed" and not fact["is_savepoint"]


def points(completed: Rows) -> list[Point]:
    # A log has only one size of a checkpoint, which among REST's sizes would look like a jump.
    return [
        (
            first_known(fact["end_time"], fact["trigger_time"]),
            fact["checkpoint_id"],
            fact["state_bytes"],
            fact["trigger_time"],
        )
        for fact in completed
        if fact["state_bytes"] is not None and fact["checkpointed_bytes"] is not None
    ]


def _thin(points: Iterable[Sequence[int]]) -> list[list[int]]:
    in_order = sorted(map(list, points))
    early, late = in_order[:-POINTS_KEPT], in_order[-POINTS_KEPT:]
    since = late[-1][0] - HOURLY_POINTS_MS if late else 0
    last_of_hour = {point[0] // HOUR_MS: point for point in early if point[0] >= since}
    return [*last_of_hour.values(), *late]
