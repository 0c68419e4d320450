"""A job was started without state, or without that of some operators, although it had completed
checkpoints: nothing fails, and what it knew is gone.

Flink counts checkpoints on from the restored one. Ids that begin anew, without a restore before
them, say that there was none: a JobManager that was replaced without high availability, or a job
that was submitted again without a snapshot. Where non-restored state is allowed, Flink logs which
operators of the snapshot it leaves out, as that of any restore.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from ingest.messages import list_text, message, plural
from spark_jobs.diagnosis.checkpoint_history import by_time
from spark_jobs.diagnosis.findings import Evidence, Finding, Related
from spark_jobs.diagnosis.rule import rule
from spark_jobs.diagnosis.samples import CheckpointSample, JobWindow
from spark_jobs.diagnosis.subjects import job_finding
from spark_jobs.diagnosis.thresholds import Limits, Threshold

RULE = "restore.without_state"
WINDOW = f"{RULE}.window_s"
SKIPPED = "state_skipped"
MOST_NAMED = 10
RESTORED_WITHIN_MS = 60_000
"""The log and REST date a restore apart from the start it belongs to."""


@dataclass(frozen=True, slots=True)
class FreshStart:
    """``at_ms``: when it was noticed; ``lost``: the newest completed checkpoint before it."""

    at_ms: int
    lost: CheckpointSample


@rule(
    RULE,
    message("Started without state"),
    message("The job began without state although it had completed checkpoints before."),
    hold_s=1800,
    reads=(SKIPPED,),
    needs=("checkpoints",),
    thresholds=(
        Threshold(
            WINDOW,
            3600,
            "s",
            60,
            604_800,
            message("An hour: until then little was written that going back would repeat."),
        ),
    ),
    fed_by="diagnosis/test_field_stories.py",
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    since_ms = window.at_ms - int(limits[WINDOW] * 1000)
    fresh = _fresh_start(window)
    if fresh is None or fresh.at_ms <= since_ms:
        yield from _left_out(window, since_ms)
        return
    lost = fresh.lost
    path = lost.external_path
    yield job_finding(
        window,
        RULE,
        "critical",
        "medium",
        title=message(
            "Started without state: checkpoint {number:number} was there",
            number=lost.checkpoint_id,
        ),
        cause=message(
            "The job completed checkpoint {number:number}, and was then started without restoring "
            "any: its checkpoints are counted from 1 again. What its operators kept is gone, unless "
            "that was meant.",
            number=lost.checkpoint_id,
        ),
        next_step=message(
            "If it was not meant, stop the job and start it from {path:text}. Be quick: under the "
            "same job id, new checkpoints take the places of the old ones. Then set up high "
            "availability, so that the next JobManager finds the newest checkpoint by itself.",
            path=path or message("that checkpoint"),
        ),
        seen_at_ms=fresh.at_ms,
        began_at_ms=fresh.at_ms,
        evidence=(
            Evidence(
                message("newest checkpoint before"),
                lost.checkpoint_id,
                "count",
                at_ms=lost.ended_ms,
                note=path or "",
            ),
            Evidence(message("age of the lost state"), fresh.at_ms - lost.trigger_time_ms, "ms"),
        ),
        related=(Related("checkpoint", path),) if path else (),
        data={"checkpoint_id": lost.checkpoint_id, "path": path},
    )


def _left_out(window: JobWindow, since_ms: int) -> Iterator[Finding]:
    """Operators of the snapshot whose state was left out at the newest restore."""
    skipped = [one for one in window.events if one.kind == SKIPPED and one.at_ms > since_ms]
    if not skipped:
        return
    at_ms = skipped[-1].at_ms
    operators = list(
        dict.fromkeys(
            str(one.fields.get("reason_text"))
            for one in skipped
            if one.at_ms > at_ms - RESTORED_WITHIN_MS
        )
    )
    counted = plural(len(operators), "{count:count} operator", "{count:count} operators")
    yield job_finding(
        window,
        RULE,
        "warning",
        "medium",
        title=message("Started without the state of {counted:message}", counted=counted),
        cause=message(
            "The snapshot has {counted:message} that the job does not have, and it was allowed to "
            "leave their state out, if they had any: {operators:name}.",
            counted=counted,
            operators=list_text(operators[:MOST_NAMED]),
        ),
        next_step=message(
            "If these operators were removed on purpose, nothing is to be done. If not, stop the "
            "job, give them their uid() back and start from the same snapshot again: it still has "
            "their state. Keep it until then; the job's own new checkpoints have it no more."
        ),
        seen_at_ms=at_ms,
        evidence=(
            Evidence(
                message("operators whose state was left out"), len(operators), "count", at_ms=at_ms
            ),
        ),
        data={"operators": operators[:MOST_NAMED]},
    )


def _fresh_start(window: JobWindow) -> FreshStart | None:
    """The newest."""
    in_order = sorted(window.checkpoints, key=by_time)
    begins = [
        after.trigger_time_ms
        for before, after in pairwise(in_order)
        if after.checkpoint_id < before.checkpoint_id
    ]
    for at_ms in sorted(begins, reverse=True):
        before = [one for one in in_order if one.trigger_time_ms < at_ms]
        newest = next((one for one in reversed(before) if one.outcome == "completed"), None)
        if newest and not _restored_between(window, newest.ended_ms, at_ms):
            return FreshStart(at_ms, newest)
    return None


def _restored_between(window: JobWindow, from_ms: int, to_ms: int) -> bool:
    return any(
        one.kind == "restore" and from_ms <= one.at_ms <= to_ms + RESTORED_WITHIN_MS
        for one in window.annotations
    )
