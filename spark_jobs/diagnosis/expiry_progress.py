"""How near an expired checkpoint came to its end: some seconds short (by late acknowledgements), or
hung at a subtask that neither acknowledged nor was heard of later, at one checkpoint after the
other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from spark_jobs.diagnosis.samples import CheckpointSample

HUNG_AT_MOST = 4
"""Of more missing subtasks no one is what the others wait for."""
HUNG_TIMES = 2
"""Once, its acknowledgement may have been on its way."""

Subtask = tuple[str, int]
"""Name of the vertex, and index."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Of one expired checkpoint. ``acknowledged_ratio``: 0…1, None where unknown.
    ``short_ms``: the last one was so late, ``complete``: with it all had come. ``hung``: subtasks
    that never came.
    """

    checkpoint: CheckpointSample
    acknowledged_ratio: float | None
    short_ms: int | None = None
    complete: bool = False
    hung: tuple[Subtask, ...] = ()

    @property
    def verdict(self) -> Literal["short", "hung", "unknown"]:
        return "hung" if self.hung else "short" if self.complete else "unknown"


def progress_of(expired: Sequence[CheckpointSample]) -> Progress:
    """``expired``: oldest first, at least one. Of the newest that all subtasks came late of, else
    of the newest: what comes late of that one may still be on its way.
    """
    every = [_late(one) for one in expired]
    newest = next((one for one in reversed(every) if one.complete), every[-1])
    return newest if newest.complete else replace(newest, hung=_hung(expired))


def _late(newest: CheckpointSample) -> Progress:
    ratio = (
        newest.acknowledged / newest.subtasks
        if newest.subtasks and newest.acknowledged is not None
        else None
    )
    late_ms = [int(one["late_ms"]) for one in newest.late_messages if one.get("late_ms")]
    lacking = (newest.subtasks or 0) - (newest.acknowledged or 0)
    complete = bool(late_ms) and 0 < lacking <= (newest.late_message_count or len(late_ms))
    return Progress(newest, ratio, max(late_ms, default=None), complete)


def _hung(expired: Sequence[CheckpointSample]) -> tuple[Subtask, ...]:
    if len(expired) < HUNG_TIMES:
        return ()
    never = set.intersection(*(_never_came(one) for one in expired[-HUNG_TIMES:]))
    return tuple(sorted(never)) if len(never) <= HUNG_AT_MOST else ()


def _never_came(expired: CheckpointSample) -> set[Subtask]:
    late = {(one.get("vertex_name"), one.get("subtask")) for one in expired.late_messages}
    return {
        (str(part.get("vertex_name") or part.get("vertex_id") or ""), index)
        for part in expired.not_acknowledged
        for index in part.get("subtasks") or ()
        if (part.get("vertex_name"), index) not in late
    }
