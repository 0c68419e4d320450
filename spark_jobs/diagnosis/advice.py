"""From a job's last checkpoints to the advised interval and time-out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ingest.messages import message
from spark_jobs.diagnosis.duration_history import (
    CHECKPOINTS_AT_LEAST,
    Durations,
    Took,
    durations_of,
)
from spark_jobs.diagnosis.interval_advice import Advised, InForce, interval_advice, pause_advice
from spark_jobs.diagnosis.samples import CheckpointSample
from spark_jobs.diagnosis.timeout_advice import timeout_advice


@dataclass(frozen=True, slots=True)
class SettingsAdvice:
    """``missing`` says what history lacks, in words for people; the advice on it is then None."""

    took: Durations
    interval: Advised | None = None
    min_pause: Advised | None = None
    timeout: Advised | None = None
    missing: tuple[str, ...] = ()


def settings_advice(
    checkpoints: Iterable[CheckpointSample],
    now: InForce | None = None,
    at_least: int = CHECKPOINTS_AT_LEAST,
) -> SettingsAdvice:
    now = now or InForce()
    took = durations_of(_took(checkpoints, now.timeout_ms), at_least)
    if took.p99_ms is None:
        seen = message(
            "{checkpoints:count} of at least {at_least:number} completed checkpoints were seen",
            checkpoints=len(took.checkpoints),
            at_least=at_least,
        )
        return SettingsAdvice(
            took,
            missing=(
                message(
                    "Not enough history for an interval and a time-out: {seen:message}.", seen=seen
                ),
            ),
        )
    interval = interval_advice(took, now)
    return SettingsAdvice(took, interval, pause_advice(interval, now), timeout_advice(took, now))


def _took(checkpoints: Iterable[CheckpointSample], timeout_ms: int | None) -> Iterator[Took]:
    for checkpoint in checkpoints:
        lasted_ms = (
            checkpoint.end_to_end_ms
            if checkpoint.outcome == "completed" or checkpoint.end_to_end_ms is not None
            else timeout_ms
        )
        if checkpoint.outcome in ("completed", "expired") and lasted_ms is not None:
            yield Took(
                checkpoint.trigger_time_ms,
                lasted_ms,
                bool(checkpoint.is_savepoint),
                checkpoint.outcome == "expired",
            )
