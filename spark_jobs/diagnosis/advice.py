"""From a job's last checkpoints to the what-ifs: regional checkpoints, interval and time-out."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ingest.messages import message
from spark_jobs.diagnosis.checkpoint_history import FAILED_OUTCOMES, by_time
from spark_jobs.diagnosis.duration_history import (
    CHECKPOINTS_AT_LEAST,
    Durations,
    Took,
    durations_of,
)
from spark_jobs.diagnosis.interval_advice import Advised, InForce, interval_advice, pause_advice
from spark_jobs.diagnosis.regional_advice import (
    Attempt,
    Part,
    RegionalWhatIf,
    Subtask,
    parts_of,
    regions_of,
    replay,
)
from spark_jobs.diagnosis.samples import CheckpointSample, Edge, Vertex
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


def regional_what_if(
    checkpoints: Iterable[CheckpointSample],
    vertices: Iterable[Vertex],
    edges: Iterable[Edge],
    *,
    max_failed_share: float,
    max_consecutive_reuse: int,
) -> RegionalWhatIf:
    """Replay the periodic checkpoints of one job; parts are its pipelined regions.

    A checkpoint that failed in the JobManager or its storage (outcome ``failed``) cannot be
    rescued: nobody's part is missing.
    """
    known = list(vertices)
    regions = regions_of(known, edges)
    judged = sorted(
        (
            checkpoint
            for checkpoint in checkpoints
            if not checkpoint.is_savepoint and _is_final(checkpoint)
        ),
        key=by_time,
    )
    history = (_attempt(sample, regions) for sample in judged)
    return replay(history, len(set(regions.values())), max_failed_share, max_consecutive_reuse)


def _is_final(checkpoint: CheckpointSample) -> bool:
    return checkpoint.outcome == "completed" or checkpoint.outcome in FAILED_OUTCOMES


def _attempt(checkpoint: CheckpointSample, regions: Mapping[Subtask, Part]) -> Attempt:
    if checkpoint.outcome == "completed":
        return Attempt(checkpoint.checkpoint_id, True)
    # After a decline the JobManager aborts the checkpoint at once: who had not acknowledged by then
    # was not late.
    reported = {"declined": checkpoint.declines, "expired": checkpoint.not_acknowledged}.get(
        checkpoint.outcome, ()
    )
    return Attempt(checkpoint.checkpoint_id, False, parts_of(reported, regions))
