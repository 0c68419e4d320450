from collections.abc import Iterator

from ingest.messages import message
from spark_jobs.diagnosis.failure_causes.table import cause_of, code_of
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits
from spark_jobs.diagnosis.root_exceptions import root_of
from spark_jobs.diagnosis.rule import job_finding, rule
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.stack_traces import without_middle

RULE = "data.unread"
LEAST_FAILURES = 2
"""After a single failure, the next look finds the data."""
LOOK_BACK_MS = 900_000
FAILED = "enumeration_failed"
MESSAGE_CHARS = 300


@rule(
    RULE,
    message("No new data is found"),
    message("A source failed several times to look for new data, and continues without it."),
    hold_s=900,
    reads=(FAILED,),
    needs=("events",),
    fed_by="incidents/1.20.5/gone-input",
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    since_ms = window.at_ms - LOOK_BACK_MS
    failures = [event for event in window.events if event.kind == FAILED and event.at_ms > since_ms]
    if window.terminal or len(failures) < LEAST_FAILURES:
        return
    newest = failures[-1]
    text = newest.detail or newest.message or ""
    root, cause = root_of(text.partition(":")[0], newest.detail), cause_of(text)
    yield job_finding(
        window,
        RULE,
        "critical",
        "high",
        title=message(
            "A source failed {failed:number} times to look for new data: {what:text}",
            failed=len(failures),
            what=cause.title if cause else root.group,
        ),
        cause=message(
            "The source logs the failure and continues, so the job looks healthy and reads nothing "
            "new: {name:text} ({text:text}).",
            name=root.name,
            text=without_middle(root.message, MESSAGE_CHARS),
        ),
        next_step=cause.next_step
        if cause
        else message(
            "Read the exception in the JobManager's log, and repair what it names. The source "
            "looks again by itself, and then reads what arrived in that time."
        ),
        seen_at_ms=newest.at_ms,
        began_at_ms=failures[0].at_ms,
        evidence=(
            Evidence(
                message("failures to look for new data"),
                len(failures),
                "count",
                LEAST_FAILURES,
                ">=",
            ),
        ),
        data={"cause": code_of(cause)},
    )
