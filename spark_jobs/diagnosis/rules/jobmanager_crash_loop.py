from collections.abc import Iterator, Sequence
from itertools import pairwise

from ingest.job_states import TERMINAL_STATES
from ingest.messages import message
from spark_jobs.diagnosis.checkpoint_history import runs_after
from spark_jobs.diagnosis.failure_causes.table import cause_of, code_of
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, Related
from spark_jobs.diagnosis.missing_files import missing_file
from spark_jobs.diagnosis.root_exceptions import root_of
from spark_jobs.diagnosis.rule import job_finding, rule
from spark_jobs.diagnosis.samples import JobWindow, LogEvent
from spark_jobs.diagnosis.stack_traces import without_middle

RULE = "jobmanager.crash_loop"
LEAST_ENDS = 2
"""After a single end, the next JobManager takes over."""
LOOK_BACK_MS = 1_800_000
"""Kubernetes waits up to five minutes before it starts a container again."""
FATAL, LOST, LEADS = "jobmanager_fatal", "leadership_lost", "leadership_granted"
THREAD = "fatal_error"
"""Any process may log it: it was the JobManager if another JobManager then takes the lead."""
NORMAL_ENDS = ("job_submitted", "job_terminal", "cluster_shut_down")
"""Between two leaders: the first was stopped, or the job was started again."""
ENDED = (*TERMINAL_STATES, "SUSPENDED")
LOST_BY_TASKMANAGER = " lost leadership"
"""TaskManagers log this of killed JobManagers, too. The JobManager's own log knows better."""
MAIN_FAILED = "ApplicationExecutionException: "
"""Judged by ``jobmanager.error``."""
MESSAGE_CHARS = 300
SAME_MS = 2_000


@rule(
    RULE,
    message("JobManager in a crash loop"),
    message(
        "The JobManager of the job ended by a fatal error, was killed, or lost its leadership, at "
        "least twice within half an hour."
    ),
    hold_s=1800,
    reads=(FATAL, LOST, LEADS, THREAD, *NORMAL_ENDS, "job_state"),
    needs=("events",),
    fed_by="incidents/1.20.5/lost-handle",
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    since_ms = window.at_ms - LOOK_BACK_MS
    ends = _ends([event for event in window.events if event.at_ms > since_ms])
    if len(ends) < LEAST_ENDS:
        return
    newest = ends[-1]
    if newest.kind == LOST and window.terminal:
        return  # the job ended normally, or somebody stopped it
    runs_again = runs_after(window, newest.at_ms)
    root = root_of(newest.message or "", newest.detail)
    text = newest.detail or newest.message or ""
    cause, path = cause_of(f"{root.name}\n{text}"), missing_file(newest.detail)
    name = window.job_name or window.job_id or window.cluster
    what = cause.title if cause else root.group
    effect = (
        message("It has run again since.")
        if runs_again
        else message("The job is down until that is repaired.")
    )
    next_step = message(
        "Read the innermost cause in the JobManager's log: it is met at each start. Repair it "
        "before the JobManager is restarted; until then keep the newest checkpoint safe."
    )
    if newest.kind == LOST:
        title = message(
            "The JobManager lost its leadership, or ended, {ends:number} times", ends=len(ends)
        )
        why = message(
            "Each time, another JobManager or the same one starts {job:name} again from its newest "
            "checkpoint. {effect:text}",
            job=name,
            effect=effect,
        )
    elif newest.kind == LEADS:
        cause, what = None, message("its log does not say why")
        title = message(
            "The JobManager ended {ends:number} times, and its log does not say why", ends=len(ends)
        )
        why = message(
            "Another JobManager took over {job:name} each time, although none before it gave it "
            "up, failed or was stopped by its log: their processes were killed. {effect:text}",
            job=name,
            effect=effect,
        )
        next_step = message(
            "Look at how its last process ended: the last state of its pod (kubectl describe pod) "
            "or the diagnostics of its container. OOMKilled: raise jobmanager.memory.process.size. "
            "A probe, an eviction or a lost node: give it room and priority."
        )
    else:
        title = message(
            "The JobManager ended {ends:number} times, last by a fatal error: {what:text}",
            ends=len(ends),
            what=what,
        )
        why = message(
            "Each JobManager that takes over ends while it recovers {job:name}: {name:text} "
            "({text:text}). {effect:text}",
            job=name,
            name=root.name,
            text=without_middle(root.message, MESSAGE_CHARS),
            effect=effect,
        )
    yield job_finding(
        window,
        RULE,
        "warning" if runs_again else "critical",
        "high",
        title=title,
        cause=why,
        next_step=cause.next_step if cause else next_step,
        seen_at_ms=newest.at_ms,
        evidence=(
            Evidence(
                message("ends of the JobManager, and losses of its leadership"),
                len(ends),
                "count",
                LEAST_ENDS,
                ">=",
                note=message("within {limits:duration}", limits=LOOK_BACK_MS),
            ),
            Evidence(message("cause"), what),
        ),
        related=(Related("file", path, message("not there")),) if path else (),
        data={"cause": code_of(cause), "path": path, "ends": len(ends)},
    )


def _ends(events: Sequence[LogEvent]) -> list[LogEvent]:
    """Logged ends. If a leader follows another leader without a normal end: the last fatal error in
    between, else the line of the second leader.
    """
    has_jobmanager_log = any(event.kind == LEADS for event in events)
    events = [
        event
        for event in events
        if not (has_jobmanager_log and LOST_BY_TASKMANAGER in (event.message or ""))
        and MAIN_FAILED not in (event.detail or "")
    ]
    logged = [event for event in events if event.kind in (FATAL, LOST)]
    ends = logged[:1] + [
        event for before, event in pairwise(logged) if event.at_ms - before.at_ms > SAME_MS
    ]
    for before, after in pairwise(event for event in events if event.kind == LEADS):
        between = [event for event in events if before.at_ms < event.at_ms <= after.at_ms]
        if not any(
            event.kind in (FATAL, LOST, *NORMAL_ENDS) or event.fields.get("to_state") in ENDED
            for event in between
        ):
            ends.append(next((event for event in between[::-1] if event.kind == THREAD), after))
    return sorted(ends, key=lambda event: event.at_ms)
