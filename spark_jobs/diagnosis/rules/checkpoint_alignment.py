"""Barriers of different channels arrive far apart: tasks wait between the first and the last one."""

from collections.abc import Iterator

from ingest.messages import brief, message
from spark_jobs.diagnosis.findings import Evidence, Finding
from spark_jobs.diagnosis.phases import HOLD_S, cost_of, holder_of, phase_finding, phase_thresholds
from spark_jobs.diagnosis.rule import rule
from spark_jobs.diagnosis.samples import CheckpointSample, JobWindow
from spark_jobs.diagnosis.thresholds import Limits

RULE = "checkpoint.alignment"


@rule(
    RULE,
    message("Slow alignment"),
    message(
        "The time between the first and the last barrier of a task dominates the checkpoints' "
        "duration."
    ),
    fed_by="windows/1.20.5-C2",
    hold_s=HOLD_S,
    thresholds=phase_thresholds(
        RULE,
        "alignment",
        5_000,
        message(
            "During alignment, a task reads no records from channels whose barrier has "
            "arrived. Seconds of that show as latency downstream."
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    cost = cost_of(window, RULE, "alignment", limits)
    if not cost:
        return
    holder = holder_of(cost)
    slowest = cost.slow[-1]
    at = brief(slowest.slowest_vertex_name or message("the slowest task"))
    why = message(
        "Some channels carry more than others or come from slower tasks, so their barriers reach "
        "{at:name} late; channels whose barrier has arrived are blocked until then.",
        at=at,
    )
    pressed = (
        message(" Back-pressure from {brief:name} stretches the gap.", brief=holder.brief)
        if holder
        else ""
    )
    unaligned = message(
        " The checkpoints are unaligned: the wait costs no latency, but the records in flight "
        "become part of them."
    )
    yield phase_finding(
        cost,
        why + pressed + (unaligned if slowest.unaligned else ""),
        message(
            "Compare the input channels and the upstream subtasks of {at:name}: skewed "
            "keys, one slow host, one source partition with a backlog. "
            "execution.checkpointing.aligned-checkpoint-timeout lets barriers overtake "
            "records when alignment takes too long.",
            at=at,
        ),
        _processed(slowest),
    )


def _processed(checkpoint: CheckpointSample) -> Iterator[Evidence]:
    if checkpoint.processed_bytes:
        note = message(
            "checkpoint {checkpoint_id:number}, all subtasks together: channels that carry more "
            "than others are a sign of skew",
            checkpoint_id=checkpoint.checkpoint_id,
        )
        yield Evidence(
            message("processed during alignment"),
            checkpoint.processed_bytes,
            "bytes",
            at_ms=checkpoint.ended_ms,
            note=note,
        )
