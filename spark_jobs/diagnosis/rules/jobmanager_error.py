from collections.abc import Iterator

from ingest.messages import message
from spark_jobs.diagnosis.checkpoint_history import runs_after
from spark_jobs.diagnosis.failure_causes.cause import FailureCause
from spark_jobs.diagnosis.failure_causes.table import cause_of, code_of
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits
from spark_jobs.diagnosis.root_exceptions import root_of
from spark_jobs.diagnosis.rule import job_finding, rule
from spark_jobs.diagnosis.samples import JobWindow, LogEvent
from spark_jobs.diagnosis.stack_traces import without_middle

RULE = "jobmanager.error"
LOOK_BACK_MS = 900_000
SAYS_WHY = ("program_failed", "submission_ignored")
NOT_RUN = (*SAYS_WHY, "cluster_shut_down")
"""The shut-down follows one of the other events, and says less."""
OTHER_ERRORS = ("rpc_too_large", "association_quarantined", "registration_failed")
FATAL = "taskmanager_fatal"
"""Counted only if the TaskManager ended because it could not register."""
MESSAGE_CHARS = 300


@rule(
    RULE,
    message("Flink's log names an error"),
    message(
        "A program failed or was not run, a message between processes was too large, a process "
        "was quarantined, or a TaskManager could not register."
    ),
    hold_s=900,
    outlives_job=True,
    reads=(*NOT_RUN, *OTHER_ERRORS, FATAL, "job_state"),
    needs=("events",),
    fed_by="incidents/2.3.0/failed-before",
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    since_ms = window.at_ms - LOOK_BACK_MS
    errors = [
        event for event in window.events if event.at_ms > since_ms and _is_error(window, event)
    ]
    if not errors:
        return
    newest = max(
        errors, key=lambda event: (event.kind in NOT_RUN, event.kind in SAYS_WHY, event.at_ms)
    )
    is_down = newest.kind in NOT_RUN and window.state != "RUNNING"
    root, cause = root_of(newest.message or "", newest.detail), _cause(newest)
    what = cause.title if cause else root.group
    yield job_finding(
        window,
        RULE,
        "critical" if is_down else "warning",
        "high" if cause else "medium",
        title=message("The program was not run: {what:text}", what=what)
        if is_down
        else message("Flink's log names an error: {what:text}", what=what),
        cause=message(
            "The log says: {line:text} ({cause:text})",
            line=without_middle(newest.message or "", MESSAGE_CHARS),
            cause=without_middle(root.message, MESSAGE_CHARS) or what,
        ),
        next_step=cause.next_step
        if cause
        else message(
            "Read the root exception in the log and repair what it names: an argument or a file of "
            "the program, its classes, or an outside system that it calls before it submits the job."
        ),
        seen_at_ms=newest.at_ms,
        began_at_ms=errors[0].at_ms,
        evidence=(Evidence(message("errors in logs"), len(errors), "count"),),
        data={"cause": code_of(cause)},
    )


def _cause(event: LogEvent) -> FailureCause | None:
    return cause_of(f"{event.message or ''}\n{event.detail or ''}")


def _is_error(window: JobWindow, event: LogEvent) -> bool:
    if event.kind == "job_state":
        return False
    if event.kind == "cluster_shut_down" and event.fields.get("to_state") != "FAILED":
        return False
    if event.kind == FATAL:
        return code_of(_cause(event)) == "REGISTRATION_FAILED"
    if event.kind not in NOT_RUN:
        return True
    # The rule job.failed judges what ended a job. One that ran later, or to its end, was run.
    if window.state == "FAILED" and event.kind != "submission_ignored":
        return False
    return window.state != "FINISHED" and not runs_after(window, event.at_ms)
