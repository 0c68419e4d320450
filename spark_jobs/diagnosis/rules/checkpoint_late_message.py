"""Acknowledgements that came after their checkpoint had expired: the work was done and thrown away.

How far was the time-out missed?
"""

from collections.abc import Iterator

from ingest.messages import message, plural, subtask_text
from spark_jobs.diagnosis.checkpoint_history import anything_known, name_of, outcomes_of, recent
from spark_jobs.diagnosis.findings import Evidence, Finding
from spark_jobs.diagnosis.losses import HOLD_S
from spark_jobs.diagnosis.rule import rule
from spark_jobs.diagnosis.samples import CheckpointSample, JobWindow
from spark_jobs.diagnosis.statistics import median
from spark_jobs.diagnosis.subjects import job_finding
from spark_jobs.diagnosis.thresholds import Limits, Threshold

RULE = "checkpoint.late_message"


@rule(
    RULE,
    message("Late acknowledgements"),
    message("Tasks acknowledged a checkpoint after it had expired."),
    fed_by="windows/1.20.5-F",
    hold_s=HOLD_S,
    thresholds=(
        Threshold(
            f"{RULE}.look_back_s",
            600,
            "s",
            60,
            86_400,
            message(
                "Ten minutes hold several checkpoints at the usual intervals, and are what an "
                "on-call reader means by 'now'."
            ),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    if anything_known(window) and "expired" not in outcomes_of(window.checkpoints):
        return
    late = [
        sample
        for sample in recent(window, limits[f"{RULE}.look_back_s"])
        if sample.outcome == "expired" and sample.late_message_count
    ]
    if not late:
        return
    newest = late[-1]
    misses = sorted(
        reported["late_ms"]
        for sample in late
        for reported in sample.late_messages
        if reported.get("late_ms") is not None
    )
    count = sum(sample.late_message_count or 0 for sample in late)
    known = bool(misses)
    yield job_finding(
        window,
        RULE,
        "info",
        "high" if known else "medium",
        title=message(
            "{count:message} after expiry{words:message}",
            count=plural(count, "{count:count} acknowledgement", "{count:count} acknowledgements"),
            words=message(", up to {misses:duration} too late", misses=misses[-1]) if known else "",
        ),
        cause=message(
            "The tasks finished their part of the checkpoint after it had expired. What they "
            "wrote is discarded, and may stay behind as files that nothing refers to."
        ),
        next_step=_next_step(window, misses),
        seen_at_ms=newest.ended_ms
        + max((reported.get("late_ms") or 0 for reported in newest.late_messages), default=0),
        evidence=_evidence(window, newest, count, misses),
        data={
            "checkpoints": [sample.checkpoint_id for sample in late],
            "late_messages": [dict(reported) for reported in newest.late_messages],
            "enough_timeout_ms": _enough_ms(window, misses),
        },
    )


def _enough_ms(window: JobWindow, misses: list[int]) -> int | None:
    return window.config.timeout_ms + misses[-1] if misses and window.config.timeout_ms else None


def _next_step(window: JobWindow, misses: list[int]) -> str:
    enough = _enough_ms(window, misses)
    first = message(
        "Remove what makes the checkpoint slow first (see the finding about expired checkpoints)."
    )
    if enough is None:
        return first
    return message(
        "{first:message} A time-out of {enough:duration} would have been enough for every "
        "acknowledgement that came.",
        first=first,
        enough=enough,
    )


def _evidence(
    window: JobWindow, newest: CheckpointSample, count: int, misses: list[int]
) -> Iterator[Evidence]:
    at_ms = newest.ended_ms
    if misses:
        yield Evidence(message("time-out missed by at most"), misses[-1], "ms", 0, ">", at_ms=at_ms)
        yield Evidence(message("time-out missed by, median"), median(misses), "ms", at_ms=at_ms)
    yield Evidence(message("acknowledgements after expiry"), count, "count", 1, ">=", at_ms=at_ms)
    if window.config.timeout_ms:
        yield Evidence(message("checkpoint time-out"), window.config.timeout_ms, "ms", at_ms=at_ms)
    latest = max(
        newest.late_messages,
        key=lambda reported: (reported.get("late_ms") or 0, str(reported)),
        default=None,
    )
    if latest:
        task = subtask_text(
            latest.get("vertex_name") or latest.get("vertex_id"), latest.get("subtask")
        )
        host = (
            message(", on {latest:name}", latest=str(latest["host"])) if latest.get("host") else ""
        )
        yield Evidence(
            message("latest"),
            task,
            at_ms=at_ms,
            note=message("{name_of:text}{host:message}", name_of=name_of(newest), host=host),
        )
