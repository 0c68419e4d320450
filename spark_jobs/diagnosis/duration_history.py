from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from spark_jobs.diagnosis.samples import CheckpointSample
from spark_jobs.diagnosis.statistics import quantile

_STEPS_MS = [
    *(1_000 * seconds for seconds in (1, 2, 3, 5, 10, 15, 20, 30)),
    *(60_000 * minutes for minutes in (1, 2, 3, 5, 10, 15, 20, 30, 45)),
    *(3_600_000 * hours for hours in (1, 2, 3, 6, 12, 24)),
]
"""Round durations, as people write settings."""


@dataclass(frozen=True)
class Durations:
    """In ms, of completed checkpoints and savepoints. ``expired``: until they expired.
    ``expired_savepoints``: their number. ``span_ms``: between the first and the last trigger of
    completed checkpoints.
    """

    checkpoints: tuple[int, ...]
    savepoints: tuple[int, ...]
    expired: tuple[int, ...]
    expired_savepoints: int
    span_ms: int

    @property
    def p99_ms(self) -> float:
        return quantile((*self.checkpoints, *self.expired), 0.99)


def durations_of(history: Iterable[CheckpointSample], timeout_ms: int | None) -> Durations:
    """``timeout_ms``: for expired checkpoints without a duration."""
    durations = defaultdict[tuple[str, bool], list[int]](list)
    triggers_ms = []
    for sample in history:
        duration_ms = sample.end_to_end_ms
        if duration_ms is None and sample.outcome == "expired":
            duration_ms = timeout_ms
        if duration_ms is not None:
            durations[sample.outcome, bool(sample.is_savepoint)].append(duration_ms)
        if sample.outcome == "completed" and not sample.is_savepoint:
            triggers_ms.append(sample.trigger_time_ms)
    return Durations(
        tuple(durations["completed", False]),
        tuple(durations["completed", True]),
        tuple(durations["expired", False]),
        len(durations["expired", True]),
        max(triggers_ms) - min(triggers_ms) if triggers_ms else 0,
    )


def rounded_up_ms(duration_ms: float) -> int:
    """The next round duration; whole days beyond a day."""
    day_ms = _STEPS_MS[-1]
    in_days_ms = int(-(-duration_ms // day_ms) * day_ms)
    return next((step_ms for step_ms in _STEPS_MS if duration_ms <= step_ms), in_days_ms)
