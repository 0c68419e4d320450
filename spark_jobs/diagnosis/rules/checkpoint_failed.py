"""Checkpoints that were pending when a task failed count only if the losses are critical."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ingest.messages import message
from spark_jobs.diagnosis.checkpoint_history import COUNTED_REASONS, NO_ID, name_of
from spark_jobs.diagnosis.checkpoint_reasons import LOST_WITH_JOB, words_of
from spark_jobs.diagnosis.failure_causes.table import cause_of, code_of
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits
from spark_jobs.diagnosis.losses import (
    Losses,
    count_text,
    find_losses,
    loss_finding,
    loss_rule,
)
from spark_jobs.diagnosis.samples import CheckpointSample, JobWindow
from spark_jobs.diagnosis.stack_traces import condensed
from spark_jobs.diagnosis.statistics import counts_of

NO_REASON = message("no reason reported")
SAME_MS = 1_000
MESSAGE_CHARS = 500
KINDS = ("trigger_failed", "checkpoint_failed")


@loss_rule(
    "failed",
    message("Checkpoints failed"),
    message("Checkpoints were lost for reasons other than a decline or an expiry."),
    fed_by="incidents/1.20.5/storage-gone",
    reads=KINDS,
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    window = _with_checkpoints_without_id(window)
    losses = find_losses(window, "failed", limits)
    if losses is None:
        return
    if losses.severity != "critical" and all(
        sample.reason in LOST_WITH_JOB for sample in losses.lost
    ):
        return
    reasons = counts_of(sample.reason or NO_REASON for sample in losses.lost)
    reason = next(iter(reasons))
    words = words_of(reason)
    text = losses.newest.reason_text or losses.newest.failure_message
    cause = cause_of(text)
    yield loss_finding(
        losses,
        confidence="medium" if reason == NO_REASON else "high",
        title=message(
            "{counted:text} failed: {reason:name}", counted=count_text(losses.lost), reason=reason
        ),
        cause=words.means,
        next_step=cause.next_step if cause else words.next_step,
        counted_as=message("failed checkpoints"),
        evidence=_evidence(reasons, text, losses),
        data={"reasons": reasons, "cause": code_of(cause)},
    )


def _with_checkpoints_without_id(window: JobWindow) -> JobWindow:
    """If the storage does not answer, Flink gives no id, and only the log has the checkpoint."""
    events = sorted(
        (
            event
            for event in window.events
            if event.kind in KINDS and not event.checkpoint_id and event.reason in COUNTED_REASONS
        ),
        key=lambda event: (event.at_ms, event.kind),
    )
    without_id: list[CheckpointSample] = []
    for event in events:
        # The coordinator and the failure manager both log the failure.
        if not without_id or event.at_ms - without_id[-1].trigger_time_ms > SAME_MS:
            text = event.fields.get("reason_text") or event.detail or event.message
            lost = CheckpointSample(
                NO_ID,
                event.at_ms,
                "failed",
                reason=event.reason,
                end_time_ms=event.at_ms,
                failure_message=text,
            )
            without_id.append(lost)
    return replace(window, checkpoints=(*window.checkpoints, *without_id)) if without_id else window


def _evidence(reasons: Mapping[str, int], text: str | None, losses: Losses) -> Iterator[Evidence]:
    for reason, count in reasons.items():
        yield Evidence(message("failed with {reason:name}", reason=reason), count, "count")
    if text:
        yield Evidence(
            message("failure message"), condensed(text, MESSAGE_CHARS), note=name_of(losses.newest)
        )
