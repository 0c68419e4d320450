"""How a checkpoint ended, by the most certain source: a reported completion, log lines of expiry
and decline, REST's failure, a general failure line of the log, the job's end, a span's failure,
which has no reason. It failed if a task or its job failed; a cancel, a stop or a job that ended well
aborted it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ingest.flink_logs.reasons import PREFLIGHT, REASON_OF_TEXT, reason_of
from ingest.job_states import NOT_LISTED
from spark_jobs.diagnosis import checkpoint_reasons
from spark_jobs.fold.checkpoint_by_rest import is_final
from spark_jobs.fold.checkpoint_log import CheckpointLog
from spark_jobs.fold.endings import Ending, ending_between, first_ending
from spark_jobs.fold.failures import LOGGED_LATE_MS, TOGETHER_MS, Failure, failure_between
from spark_jobs.fold.rows import Row, first_known

UNKNOWN_REASON = ""
WITH_ITS_TASK, WITH_ITS_JOB = "TASK_FAILURE", "JOB_FAILURE"
DROPPED = ("CHECKPOINT_COORDINATOR_SHUTDOWN", "CHECKPOINT_COORDINATOR_SUSPEND")
"""Reasons of checkpoints that were pending when the job left RUNNING, by a failure or a cancel."""
LOST_WITH_JOB = frozenset({*DROPPED, *checkpoint_reasons.LOST_WITH_JOB})
DROPPED_WITHIN_MS = 10_000
"""The instants of a job's change of state and of its dropped checkpoints are this close."""

_UNEXPLAINED = ("IO_EXCEPTION", "EXCEPTION")
"""REST says no more than this; the log has the exception."""
_DECLINED = (
    "CHECKPOINT_DECLINED",
    "CHECKPOINT_DECLINED_TASK_NOT_READY",
    "CHECKPOINT_DECLINED_TASK_CLOSING",
    "CHECKPOINT_DECLINED_SUBSUMED",
    "CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER",
    "CHECKPOINT_DECLINED_INPUT_END_OF_STREAM",
    # A task sends a decline message for these.
    "CHECKPOINT_ASYNC_EXCEPTION",
    "CHANNEL_STATE_SHARED_STREAM_EXCEPTION",
    "TASK_CHECKPOINT_FAILURE",
)
OUTCOME_OF_REASON: dict[str, str] = {
    **dict.fromkeys(REASON_OF_TEXT.values(), "failed"),
    **dict.fromkeys(PREFLIGHT, "preflight"),
    # Flink counts these as tolerable failures, so they are not declined.
    **dict.fromkeys(_UNEXPLAINED, "failed"),
    **dict.fromkeys(_DECLINED, "declined"),
    **dict.fromkeys(DROPPED, "aborted"),
    "CHECKPOINT_EXPIRED": "expired",
    "CHECKPOINT_SUBSUMED": "subsumed",
}
"""Other reasons mean ``failed``. ``DROPPED`` means ``aborted`` only if no failure is known."""


@dataclass(frozen=True)
class Outcome:
    """``reason`` "": an unexplained failure. ``ending``: the job's, if only that shows it."""

    outcome: str
    reason: str | None
    text: str | None
    ending: Ending | None = None
    failure: Failure | None = None

    @property
    def is_completed(self) -> bool:
        return self.outcome == "completed"

    @property
    def is_lost(self) -> bool:
        return self.outcome not in ("completed", "in_progress")


@dataclass(frozen=True)
class JobLife:
    endings: Sequence[Ending]
    failures: Sequence[Failure]
    timeout_ms: int | None


def outcome_of(reason: str) -> str:
    return OUTCOME_OF_REASON.get(reason, "failed")


def outcome(trigger_time: int, rest: Row, logged: CheckpointLog, job: JobLife) -> Outcome:
    status = rest["status"] if is_final(rest["status"]) else logged.span.status
    if logged.completed_at is not None or status == "COMPLETED":
        return Outcome("completed", None, None)
    reported = rest["failure_message"]
    by_rest = None
    if rest["status"] == "FAILED":
        by_rest = reason_of(reported) or UNKNOWN_REASON
    by_log = (logged.decline.text, logged.failure.text)
    is_explained = by_rest not in _UNEXPLAINED
    text = first_known(*((reported, *by_log) if is_explained else (*by_log, reported)))
    if logged.expired_at is not None:
        return Outcome("expired", "CHECKPOINT_EXPIRED", text)
    if logged.decline.at is not None:
        return Outcome("declined", logged.decline.reason or by_rest or "CHECKPOINT_DECLINED", text)
    reason = by_rest
    if reason is None and logged.failure.at is not None:
        reason = logged.failure.reason or UNKNOWN_REASON
    if reason in LOST_WITH_JOB:
        lost_at = first_known(rest["failure_time"], logged.failure.at, trigger_time)
        ending = ending_between(job.endings, trigger_time, lost_at + DROPPED_WITHIN_MS)
        return _lost_with_job(trigger_time, lost_at, reason, text, ending, job)
    if reason is not None:
        return Outcome(outcome_of(reason), reason, text)
    if status == "FAILED":
        # A span was there when it was collected, if not earlier: no later ending was the cause.
        failed_by = first_known(logged.span.failed_at, logged.span.as_of) + LOGGED_LATE_MS
        ending = ending_between(job.endings, trigger_time, failed_by)
        if ending is None:
            return Outcome("failed", UNKNOWN_REASON, text)
    else:
        ending = first_ending(job.endings, trigger_time, logged.triggered_at, job.timeout_ms)
    if ending is not None and ending.ending == NOT_LISTED:
        return Outcome("aborted", checkpoint_reasons.JOB_NOT_LISTED, ending.text, ending)
    if ending is not None:
        lost = _lost_with_job(trigger_time, ending.ended_at, None, ending.text, ending, job)
        return Outcome(lost.outcome, lost.reason, lost.text, ending, lost.failure)
    return Outcome("in_progress", None, text)


def _lost_with_job(
    trigger_time: int,
    at: int,
    reason: str | None,
    text: str | None,
    ending: Ending | None,
    job: JobLife,
) -> Outcome:
    ended_at = ending.ended_at if ending else at
    if ending is not None and ending.is_meant:
        # The adaptive scheduler also cancels a job after a failure.
        failure = failure_between(job.failures, max(trigger_time, ended_at - TOGETHER_MS), ended_at)
    else:
        failure = failure_between(job.failures, trigger_time, ended_at + LOGGED_LATE_MS)
    if failure is not None:
        return Outcome(
            "failed",
            WITH_ITS_TASK if failure.of_task else WITH_ITS_JOB,
            failure.text or text,
            failure=failure,
        )
    if ending is not None and not ending.is_meant:
        reported = reason if reason is not None and reason not in DROPPED else WITH_ITS_JOB
        return Outcome("failed", reported, ending.text)
    return Outcome(outcome_of(reason) if reason else "aborted", reason, text)
