import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from ingest.messages import join_messages, message
from spark_jobs.diagnosis.checkpoint_history import by_time, name_of
from spark_jobs.diagnosis.failure_causes.cause import FailureCause
from spark_jobs.diagnosis.failure_causes.table import cause_of_failure, code_of
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits
from spark_jobs.diagnosis.root_exceptions import UNKNOWN_CAUSE, UNREPORTED, RootException, root_of
from spark_jobs.diagnosis.rule import job_finding, rule
from spark_jobs.diagnosis.samples import JobWindow, LogEvent
from spark_jobs.diagnosis.stack_traces import without_middle

RULE = "job.failed"
FAILED = "FAILED"
SAME_MS = 2_000
"""Tasks that fail together are reported within this time."""
MESSAGE_CHARS = 600

NO_STRATEGY = "NO_RESTART_STRATEGY"
_SUPPRESSED = re.compile(r"Recovery is suppressed by (\w+)((?:\([^()\n]{0,200}\))?)")
_NOT_RECOVERABLE = ("The failure is not recoverable", "SuppressRestartsException")
_NOT_STARTED = (
    "JobInitializationException",
    "Could not start the JobMaster",
    "JobExecutionException",
)


@dataclass(frozen=True)
class Snapshot:
    """A snapshot to start from; ``at_ms``: when it was taken, if known."""

    path: str
    name: str
    at_ms: int | None


@rule(
    RULE,
    message("Job failed for good"),
    message("The job has ended as FAILED: Flink does not restart it."),
    hold_s=600,
    outlives_job=True,
    reads=("job_terminal", "job_state", "task_state FAILED", "restored", "restore_requested"),
    fed_by="incidents/1.20.5/lost-checkpoint",
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    if window.state != FAILED:
        return
    texts = list(_texts(window))
    root, cause = _find_root(texts)
    ended_by, words = _find_end(texts)
    ends = [mark.at_ms for mark in window.annotations if mark.kind == "terminal"]
    # Annotations have full seconds, which may lie before the start of a short job.
    ended_ms = max((*ends, window.start_time_ms or 0)) if ends else window.at_ms
    snapshot = _usable_snapshot(window, cause)
    yield job_finding(
        window,
        RULE,
        "critical",
        "high" if root else "medium",
        title=message(
            "The job failed for good: {what:text}", what=root.group if root else UNREPORTED
        ),
        cause=join_messages((_words_of(root), words), " "),
        next_step=_next_step(cause, ended_by, snapshot),
        seen_at_ms=min(ended_ms, window.at_ms),
        began_at_ms=ended_ms,
        evidence=_evidence(root, snapshot, ended_ms),
        data={
            "cause": code_of(cause),
            "ended_by": ended_by,
            "root": root and root.name,
            "frame": root and root.frame,
            "snapshot_path": snapshot and snapshot.path,
        },
    )


def _texts(window: JobWindow) -> Iterator[str]:
    """Traces that may say why the job ended, the best first."""
    end_events = [event for event in window.events if _is_end(event) and event.detail]
    for event in reversed(end_events):
        yield event.detail or ""
    newest_ms = max((failure.at_ms for failure in window.failures), default=0)
    last_failures = [failure for failure in window.failures if failure.at_ms >= newest_ms - SAME_MS]
    for failure in sorted(last_failures, key=lambda failure: (not failure.is_root, failure.at_ms)):
        yield failure.stacktrace or failure.name
    task_failures = [
        event for event in window.events if event.kind == "task_state" and event.detail
    ]
    for event in reversed(task_failures[-5:]):
        yield event.detail or ""


def _is_end(event: LogEvent) -> bool:
    return event.kind == "job_terminal" or (
        event.kind == "job_state" and event.fields.get("to_state") in ("FAILING", FAILED)
    )


def _find_root(texts: list[str]) -> tuple[RootException | None, FailureCause | None]:
    roots = [(root_of(text.partition(":")[0], text), text) for text in texts]
    if not roots:
        return None, None
    root, text = next((pair for pair in roots if not pair[0].is_wrapper), roots[0])
    return root, cause_of_failure(root.name, text)


def _find_end(texts: list[str]) -> tuple[str, str]:
    for text in texts:
        if suppressed := _SUPPRESSED.search(text):
            if suppressed[1].startswith("NoRestart"):
                return NO_STRATEGY, message(
                    "No restart strategy is set for it, so its first failure ended it."
                )
            return "RESTARTS_EXHAUSTED", message(
                "Its restart strategy allows no more restarts: {name:name}{set:text}.",
                name=suppressed[1],
                set=suppressed[2],
            )
    for text in texts:
        if any(piece in text for piece in _NOT_RECOVERABLE):
            return "NOT_RECOVERABLE", message(
                "Flink takes this exception for one that no restart repairs."
            )
        if any(piece in text for piece in _NOT_STARTED):
            return "NOT_STARTED", message("It could not be started at all.")
    return "UNKNOWN", message("What ended it for good is not known.")


def _usable_snapshot(window: JobWindow, cause: FailureCause | None) -> Snapshot | None:
    if cause and cause.unreadable:
        return None
    # Flink deletes checkpoints with the job unless they are externalized.
    retained = [
        checkpoint
        for checkpoint in window.checkpoints
        if checkpoint.outcome == "completed"
        and checkpoint.external_path
        and not checkpoint.discarded
        and (checkpoint.is_savepoint or window.config.externalized is not False)
    ]
    newest = max(retained, key=by_time, default=None)
    if newest is None:
        return _restored_snapshot(window)
    return Snapshot(newest.external_path or "", name_of(newest), newest.trigger_time_ms)


def _restored_snapshot(window: JobWindow) -> Snapshot | None:
    restores: list[tuple[str, int | None]] = [
        (str(path), None)
        for annotation in window.annotations
        if annotation.kind == "restore" and (path := annotation.detail.get("path"))
    ]
    restores += [
        (str(path), _trigger_ms(event))
        for event in window.events
        if event.kind in ("restored", "restore_requested") and (path := event.fields.get("path"))
    ]
    if not restores:
        return None
    path = restores[-1][0]
    taken_ms = next(
        (at_ms for restored_path, at_ms in restores if restored_path == path and at_ms), None
    )
    return Snapshot(path, message("the snapshot it was started from"), taken_ms)


def _trigger_ms(restored: LogEvent) -> int | None:
    at = restored.fields.get("trigger_time")
    return round(datetime.fromisoformat(str(at)).timestamp() * 1000) if at else None


def _words_of(root: RootException | None) -> str:
    if root is None:
        return UNKNOWN_CAUSE
    if root.message:
        return message(
            "The root exception was {name:text} ({text:text}).",
            name=message("{name:name} at {frame:name}", name=root.name, frame=root.frame)
            if root.frame
            else root.name,
            text=without_middle(root.message, MESSAGE_CHARS),
        )
    return message("The root exception was {group:text}.", group=root.group)


def _next_step(cause: FailureCause | None, ended_by: str, snapshot: Snapshot | None) -> str:
    steps = [
        cause.next_step
        if cause
        else message(
            "Read the root exception and repair what it names: the job's code, a record, or an "
            "outside system."
        )
    ]
    if snapshot:
        steps.append(
            message(
                "Then start the job from {name:message}: {path:name}.",
                name=snapshot.name,
                path=snapshot.path,
            )
        )
    elif not (cause and cause.unreadable):
        steps.append(
            message(
                "No snapshot of it is known that it could start from: look for one in its "
                "checkpoint directory before it is started without state."
            )
        )
    if ended_by == NO_STRATEGY:
        steps.append(
            message(
                "Set a restart strategy (restart-strategy.type), so that the next failure does not "
                "end it."
            )
        )
    return join_messages(steps, " ")


def _evidence(
    root: RootException | None, snapshot: Snapshot | None, ended_ms: int
) -> Iterator[Evidence]:
    yield Evidence(message("root exception"), root.group if root else UNREPORTED)
    if snapshot:
        yield Evidence(message("newest usable snapshot"), snapshot.path, note=snapshot.name)
        if snapshot.at_ms is not None:
            yield Evidence(
                message("age of that snapshot at the job's end"), ended_ms - snapshot.at_ms, "ms"
            )
