"""Tasks still work on checkpoints that were given up while later ones are written: more at once
than max-concurrent-checkpoints lets. Flink bounds the checkpoints that its JobManager waits for;
what tasks of an expired one snapshot and upload goes on until they are notified.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ingest.messages import message, plural
from spark_jobs.diagnosis.checkpoint_history import anything_known, by_time, name_of
from spark_jobs.diagnosis.findings import Evidence, Finding
from spark_jobs.diagnosis.losses import HOLD_S
from spark_jobs.diagnosis.rule import rule
from spark_jobs.diagnosis.samples import CheckpointSample, JobWindow
from spark_jobs.diagnosis.subjects import job_finding
from spark_jobs.diagnosis.thresholds import Limits, Threshold

RULE = "checkpoint.uploads_after_end"
LOOK_BACK, TOGETHER = f"{RULE}.look_back_s", f"{RULE}.together_ms"
FLINK_MAX_CONCURRENT = 1
"""Flink's default of ``execution.checkpointing.max-concurrent-checkpoints``."""


class _Work(NamedTuple):
    """A checkpoint and until when its tasks are known to have worked on it."""

    checkpoint: CheckpointSample
    until_ms: int


@rule(
    RULE,
    message("Uploads after the end"),
    message(
        "Tasks still worked on checkpoints that had expired or failed while later ones were "
        "written."
    ),
    fed_by="windows/1.20.5-F",
    hold_s=HOLD_S,
    thresholds=(
        Threshold(
            LOOK_BACK,
            600,
            "s",
            60,
            86_400,
            message("Ten minutes hold several checkpoints at the usual intervals."),
        ),
        Threshold(
            TOGETHER,
            1_000,
            "ms",
            1,
            3_600_000,
            message(
                "How long more checkpoints are written at once than is allowed; a shorter "
                "time does no harm."
            ),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    if not anything_known(window) or not any(
        checkpoint.late_messages for checkpoint in window.checkpoints
    ):
        return
    since_ms = window.at_ms - limits[LOOK_BACK] * 1000
    works = [
        work
        for checkpoint in window.checkpoints
        if (work := _Work(checkpoint, _worked_until(window, checkpoint))).until_ms >= since_ms
    ]
    if not any(map(_after_its_end, works)):
        return
    works.sort(key=lambda work: by_time(work.checkpoint))
    allowed = window.config.max_concurrent or FLINK_MAX_CONCURRENT
    together, most, over_ms = _most_together(works, allowed)
    given_up = [work for work in together if _after_its_end(work)]
    if not given_up or over_ms < limits[TOGETHER]:
        return
    newest = max(given_up, key=lambda work: work.until_ms)
    beside = next(work for work in reversed(together) if work is not newest)
    yield job_finding(
        window,
        RULE,
        "warning",
        "high",
        title=message(
            "{most:message} uploaded at the same time, more than the limit of {allowed:number}: "
            "tasks still worked on checkpoints that had ended",
            most=plural(most, "{count:count} checkpoint", "{count:count} checkpoints"),
            allowed=allowed,
        ),
        cause=message(
            "Tasks worked on {name_of:text} for {until_ms:duration} after it had ended "
            "({outcome:name}), beside {name_of2:text}. Flink counts only those that the "
            "JobManager waits for; processors, network and storage serve all of them, "
            "which makes the next one late too.",
            name_of=name_of(newest.checkpoint),
            until_ms=newest.until_ms - newest.checkpoint.ended_ms,
            outcome=newest.checkpoint.outcome,
            name_of2=name_of(beside.checkpoint),
        ),
        next_step=message(
            "Relieve the storage: set execution.checkpointing.min-pause so that uploads of "
            "the previous checkpoint can end, and a time-out above what checkpoints take now. "
            "Files that were uploaded for ended checkpoints stay in the storage until an "
            "audit finds them."
        ),
        seen_at_ms=newest.until_ms,
        evidence=(
            limits.compared(
                message("more at once than allowed, for"),
                over_ms,
                "ms",
                ">=",
                TOGETHER,
                newest.until_ms,
            ),
            Evidence(
                message("checkpoints written at once"),
                most,
                "count",
                allowed,
                ">",
                at_ms=newest.until_ms,
            ),
            Evidence(
                message("worked on after its end, at least"),
                newest.until_ms - newest.checkpoint.ended_ms,
                "ms",
                at_ms=newest.until_ms,
                note=name_of(newest.checkpoint),
            ),
        ),
        data={
            "together": [work.checkpoint.checkpoint_id for work in together],
            "given_up": [work.checkpoint.checkpoint_id for work in given_up],
            "allowed": allowed,
            "over_ms": over_ms,
        },
    )


def _worked_until(window: JobWindow, sample: CheckpointSample) -> int:
    if sample.outcome == "in_progress":
        return window.at_ms
    if not sample.late_messages:
        return sample.ended_ms
    late_ms = [
        reported["late_ms"]
        for reported in sample.late_messages
        if reported.get("late_ms") is not None
    ]
    return sample.ended_ms + max(late_ms, default=0)


def _after_its_end(work: _Work) -> bool:
    return work.until_ms > work.checkpoint.ended_ms and work.checkpoint.outcome != "in_progress"


def _most_together(works: Sequence[_Work], allowed: int) -> tuple[list[_Work], int, int]:
    """Those at work where most were, how many, and how long more than ``allowed`` were in all."""
    instants = sorted(
        {at for work in works for at in (work.checkpoint.trigger_time_ms, work.until_ms)}
    )
    best: list[_Work] = []
    over_ms = 0
    for start, end in pairwise(instants):
        at_work = [
            work
            for work in works
            if work.checkpoint.trigger_time_ms <= start and work.until_ms >= end
        ]
        over_ms += end - start if len(at_work) > allowed else 0
        best = at_work if len(at_work) > len(best) else best
    return best, len(best), over_ms
