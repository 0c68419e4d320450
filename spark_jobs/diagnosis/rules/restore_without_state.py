"""After a restore Flink counts checkpoints on, so ids from 1 again show that no state was restored.
This is intended if the previous attempt finished, or was cancelled with all its checkpoints. If
non-restored state is allowed, Flink logs which operators it leaves out.
"""

from collections.abc import Iterator
from itertools import pairwise

from ingest.messages import list_text, message, plural
from spark_jobs.diagnosis.checkpoint_history import by_time
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, Related, Severity
from spark_jobs.diagnosis.rule import job_finding, rule
from spark_jobs.diagnosis.samples import CheckpointSample, EarlierAttempt, JobWindow

RULE = "restore.without_state"
LOOK_BACK_MS = 3_600_000
"""Later, a return to the old state would repeat too much."""
SKIPPED = "state_skipped"
MOST_NAMED = 10
RESTORED_WITHIN_MS = 60_000
"""The log and REST date a restore differently."""
STOPPED_WITHIN_MS = 600_000
"""From the trigger of a stop with savepoint to the job's end."""
LONG_AGO_MS = 86_400_000


@rule(
    RULE,
    message("Started without state"),
    message("The job began without state although it had completed checkpoints before."),
    hold_s=1800,
    reads=(SKIPPED,),
    needs=("checkpoints", "earlier"),
    fed_by="incidents/2.1.1/begun-afresh",
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    since_ms = window.at_ms - LOOK_BACK_MS
    if window.earlier:
        yield from _findings_under_new_id(window, window.earlier, since_ms)
    elif (start := _fresh_start(window)) and start[0] > since_ms:
        yield _finding_under_same_id(window, *start)
        return
    yield from _omitted_operators(window, since_ms)


def _finding_under_same_id(window: JobWindow, at_ms: int, lost: CheckpointSample) -> Finding:
    number, path = lost.checkpoint_id, lost.external_path
    return _finding(
        window,
        "critical",
        at_ms,
        number,
        path,
        seen_at_ms=at_ms,
        age_ms=at_ms - lost.trigger_time_ms,
        cause=message(
            "The job completed checkpoint {number:number}, and was then started without restoring "
            "any: its checkpoints are counted from 1 again. What its operators kept is gone, unless "
            "that was meant.",
            number=number,
        ),
        next_step=message(
            "If it was not meant, stop the job and start it from {path:text}. Be quick: under the "
            "same job id, new checkpoints take the places of the old ones. Then set up high "
            "availability, so that the next JobManager finds the newest checkpoint by itself.",
            path=path or message("that checkpoint"),
        ),
    )


def _findings_under_new_id(
    window: JobWindow, earlier: EarlierAttempt, since_ms: int
) -> Iterator[Finding]:
    started_ms = window.start_time_ms or window.at_ms
    reason = _reason_of_intent(earlier, started_ms)
    if reason is None or started_ms <= since_ms:
        return
    yield _finding(
        window,
        "info" if reason else "critical",
        started_ms,
        earlier.checkpoint_id,
        earlier.path,
        seen_at_ms=window.at_ms,
        age_ms=started_ms - earlier.trigger_time_ms,
        cause=message(
            "The job was submitted again under another id, and no snapshot was restored: its "
            "checkpoints are counted from 1 again. Its attempt before, {job_id:name}, had completed "
            "checkpoint {number:number}. {why:message}",
            job_id=earlier.job_id,
            number=earlier.checkpoint_id,
            why=reason
            or message("What its operators kept is not in this attempt, unless that was meant."),
        ),
        next_step=_way_back(earlier),
    )


def _finding(
    window: JobWindow,
    severity: Severity,
    at_ms: int,
    number: int,
    path: str | None,
    *,
    seen_at_ms: int,
    age_ms: int,
    cause: str,
    next_step: str,
) -> Finding:
    return job_finding(
        window,
        RULE,
        severity,
        "medium",
        title=message("Started without state: checkpoint {number:number} was there", number=number),
        cause=cause,
        next_step=next_step,
        seen_at_ms=seen_at_ms,
        began_at_ms=at_ms,
        evidence=(
            Evidence(message("newest checkpoint before"), number, "count", note=path or ""),
            Evidence(message("age of the lost state"), age_ms, "ms"),
        ),
        related=(Related("checkpoint", path),) if path else (),
        data={"checkpoint_id": number},
    )


def _way_back(earlier: EarlierAttempt) -> str:
    if earlier.discarded:
        return message(
            "The checkpoints of that attempt were discarded with it. If this start was not meant, "
            "look for a savepoint. Retain checkpoints "
            "(execution.checkpointing.externalized-checkpoint-retention), so that the job can be "
            "started from the newest one the next time."
        )
    return message(
        "If it was not meant, stop the job and start it from {path:text}. This attempt writes to a "
        "directory of its own: what the earlier one left stays there as long as nobody deletes it.",
        path=earlier.path or message("that checkpoint"),
    )


def _reason_of_intent(earlier: EarlierAttempt, started_ms: int) -> str | None:
    """Why the start without state was intended; "" if unknown, None if no state was lost."""
    if earlier.state == "FINISHED" and not (
        # Stopped with a savepoint, so somebody wanted to keep its state.
        earlier.is_savepoint and earlier.over_ms - earlier.trigger_time_ms <= STOPPED_WITHIN_MS
    ):
        return None
    if earlier.discarded and earlier.state == "CANCELED":
        return message("All of its checkpoints were discarded, so this was probably meant.")
    if started_ms - earlier.over_ms > LONG_AGO_MS:
        return message("That attempt had ended more than a day before, so this was probably meant.")
    return ""


def _omitted_operators(window: JobWindow, since_ms: int) -> Iterator[Finding]:
    skip_events = [
        event for event in window.events if event.kind == SKIPPED and event.at_ms > since_ms
    ]
    if not skip_events:
        return
    at_ms = skip_events[-1].at_ms
    operators = list(
        dict.fromkeys(
            str(event.fields.get("reason_text"))
            for event in skip_events
            if event.at_ms > at_ms - RESTORED_WITHIN_MS
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
            Evidence(message("operators whose state was left out"), len(operators), "count"),
        ),
        data={"operators": operators[:MOST_NAMED]},
    )


def _fresh_start(window: JobWindow) -> tuple[int, CheckpointSample] | None:
    """First trigger after the start, and the last completed checkpoint before."""
    checkpoints = sorted(window.checkpoints, key=by_time)
    first_triggers = [
        after.trigger_time_ms
        for earlier, after in pairwise(checkpoints)
        if after.checkpoint_id < earlier.checkpoint_id
    ]
    for at_ms in sorted(first_triggers, reverse=True):
        completed = [
            checkpoint
            for checkpoint in checkpoints
            if checkpoint.trigger_time_ms < at_ms and checkpoint.outcome == "completed"
        ]
        if completed and not _has_restore_between(window, completed[-1].ended_ms, at_ms):
            return at_ms, completed[-1]
    return None


def _has_restore_between(window: JobWindow, from_ms: int, to_ms: int) -> bool:
    return any(
        annotation.kind == "restore" and from_ms <= annotation.at_ms <= to_ms + RESTORED_WITHIN_MS
        for annotation in window.annotations
    )
