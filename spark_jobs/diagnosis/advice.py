"""From a job's last checkpoints to the what-ifs: regional checkpoints, interval and time-outs."""

from collections.abc import Iterable, Mapping

from spark_jobs.diagnosis.checkpoint_history import FAILED_OUTCOMES, by_time
from spark_jobs.diagnosis.interval_advice import IntervalAdvice, Took, advise
from spark_jobs.diagnosis.regional_advice import Attempt, Part, RegionalWhatIf, Subtask, parts_of, regions_of, replay
from spark_jobs.diagnosis.samples import CheckpointSample, Edge, Vertex


def interval_advice(checkpoints: Iterable[CheckpointSample]) -> IntervalAdvice:
    """See :mod:`interval_advice` for the formulas."""
    done = (one for one in checkpoints if one.outcome == "completed" and one.end_to_end_ms is not None)
    return advise(Took(one.trigger_time_ms, one.end_to_end_ms or 0, bool(one.is_savepoint)) for one in done)


def regional_what_if(
    checkpoints: Iterable[CheckpointSample],
    vertices: Iterable[Vertex],
    edges: Iterable[Edge],
    *,
    max_failed_share: float,
    max_consecutive_reuse: int,
    by_subtask: bool = False,
) -> RegionalWhatIf:
    """Replay the periodic checkpoints of one job; parts are its pipelined regions, or its subtasks with ``by_subtask``.

    A checkpoint that failed in the JobManager or its storage (outcome ``failed``) cannot be rescued: nobody's part is missing.
    """
    known = list(vertices)
    regions = regions_of(known, edges)
    parts = len(regions) if by_subtask else len(set(regions.values()))
    judged = sorted((one for one in checkpoints if not one.is_savepoint and _is_final(one)), key=by_time)
    history = (_attempt(one, None if by_subtask else regions) for one in judged)
    return replay(history, parts, max_failed_share, max_consecutive_reuse)


def _is_final(checkpoint: CheckpointSample) -> bool:
    return checkpoint.outcome == "completed" or checkpoint.outcome in FAILED_OUTCOMES


def _attempt(checkpoint: CheckpointSample, regions: Mapping[Subtask, Part] | None) -> Attempt:
    if checkpoint.outcome == "completed":
        return Attempt(checkpoint.checkpoint_id, True)
    # After a decline the JobManager aborts the checkpoint at once: who had not acknowledged by then was not late.
    told = {"declined": checkpoint.declines, "expired": checkpoint.not_acknowledged}.get(checkpoint.outcome, ())
    return Attempt(checkpoint.checkpoint_id, False, parts_of(told, regions))
