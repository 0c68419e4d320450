from collections.abc import Iterator
from dataclasses import dataclass

from ingest.messages import join_messages, message, plural
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, Related
from spark_jobs.diagnosis.missing_files import is_on_local_disk, missing_at_restore
from spark_jobs.diagnosis.rule import job_finding, rule
from spark_jobs.diagnosis.samples import JobWindow, LogEvent

RULE = "restore.missing_file"
LOOK_BACK_MS = 600_000
MOST_FILES = 10


@dataclass(frozen=True)
class Attempt:
    """An attempt of a task, or of the job (``task`` None), that did not find ``path``."""

    at_ms: int
    path: str
    task: str | None
    is_local: bool = False


@rule(
    RULE,
    message("Restore lacks a file"),
    message("Tasks failed to restore their state because a file of the checkpoint is missing."),
    fed_by="incidents/2.3.0/lost-file",
    hold_s=600,
    reads=("task_state FAILED", "job_terminal"),
    needs=("events", "failures"),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    since_ms = window.at_ms - LOOK_BACK_MS
    attempts = [
        attempt for attempt in _attempts(window) if since_ms < attempt.at_ms <= window.at_ms
    ]
    if attempts:
        yield _finding(window, attempts)


def _attempts(window: JobWindow) -> list[Attempt]:
    """Read from failures of tasks in the log, else from REST, which has fewer of them. If a job
    does not start, no task fails: then from the log of its end.
    """
    from_log = (
        (event.at_ms, (_task(event), event.attempt), event.detail)
        for event in window.events
        if event.kind == "task_state"
    )
    from_rest = (
        (failure.at_ms, (failure.task, failure.at_ms), failure.stacktrace)
        for failure in window.failures
    )
    from_ends = (
        (event.at_ms, (None, event.at_ms), event.detail)
        for event in window.events
        if event.kind == "job_terminal"
    )
    for failures in (from_log, from_rest, from_ends):
        # JobManager and TaskManager log the same failure.
        attempts = {
            key: Attempt(at_ms, path, key[0], is_on_local_disk(trace))
            for at_ms, key, trace in failures
            if (path := missing_at_restore(trace))
        }
        if attempts:
            return sorted(attempts.values(), key=lambda attempt: attempt.at_ms)
    return []


def _task(event: LogEvent) -> str | None:
    return (
        event.vertex_name if event.subtask is None else f"{event.vertex_name} ({event.subtask + 1})"
    )


def _finding(window: JobWindow, attempts: list[Attempt]) -> Finding:
    newest = attempts[-1]
    by_path = {
        path: [attempt for attempt in attempts if attempt.path == path]
        for path in dict.fromkeys(attempt.path for attempt in reversed(attempts))
    }
    restore = max(
        (
            (annotation.at_ms, annotation.subject)
            for annotation in window.annotations
            if annotation.kind == "restore" and annotation.at_ms <= newest.at_ms
        ),
        default=None,
    )
    runs_again = any(
        checkpoint.trigger_time_ms > newest.at_ms and checkpoint.outcome != "preflight"
        for checkpoint in window.checkpoints
    )
    name = (
        message("checkpoint {restored:name}", restored=restore[1])
        if restore
        else message("the checkpoint")
    )
    cause = message(
        "{task:name} looked for {path:name} to restore its state and did not find it.",
        task=newest.task or message("The job"),
        path=newest.path,
    )
    evidence = [
        Evidence(message("restores with a missing file"), len(attempts), "count", 1, ">="),
        Evidence(message("missing file"), newest.path, note=newest.task or ""),
    ]
    return job_finding(
        window,
        RULE,
        "warning" if runs_again else "critical",
        "high",
        title=message(
            "Restore failed: {paths:message} of {name:message} not there",
            paths=plural(len(by_path), "{count:count} file", "{count:count} files"),
            name=name,
        ),
        cause=join_messages((cause, _effect(newest, runs_again)), " "),
        next_step=_next_step(newest),
        seen_at_ms=newest.at_ms,
        evidence=evidence,
        related=tuple(
            Related(
                "file",
                path,
                join_messages(
                    (
                        plural(
                            len(file_attempts), "{count:count} attempt", "{count:count} attempts"
                        ),
                        file_attempts[-1].task or message("the job as a whole"),
                    ),
                    ", ",
                ),
            )
            for path, file_attempts in list(by_path.items())[:MOST_FILES]
        ),
        data={
            "files": [
                {"path": path, "attempts": len(file_attempts)}
                for path, file_attempts in list(by_path.items())[:MOST_FILES]
            ],
            "checkpoint": restore[1] if restore else None,
        },
    )


def _next_step(newest: Attempt) -> str:
    advice = message(
        "Open the triage of the missing file: it shows which job's directory it was "
        "in, what else refers to it, when an audit last listed it and what has likely "
        "deleted it. Restore it from quarantine, an older version or a backup, or "
        "start from a checkpoint or savepoint that is whole. Stop whatever deletes "
        "files there before the next job restarts."
    )
    if not newest.is_local:
        return advice
    first = message(
        "See first whether all hosts share that disk: where each has its own, another host finds "
        "nothing of what this one wrote. Then set the checkpoint directory to a storage that all "
        "of them reach."
    )
    return join_messages((first, advice), " ")


def _effect(newest: Attempt, runs_again: bool) -> str:
    if runs_again:
        return message("The job has taken a checkpoint since, so it runs again.")
    if newest.task is None:
        return message("It looked for the checkpoint as a whole, so it did not start.")
    return message(
        "Flink tries the same checkpoint at every attempt, so the job stays down until "
        "the file is back or another checkpoint or savepoint is chosen."
    )
