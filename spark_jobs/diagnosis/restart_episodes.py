"""Restarts folded into episodes: one trouble may restart a job several times before all of its
tasks run again.

An episode begins with a restart and ends when all tasks run again. A job is RUNNING for Flink as
soon as it deploys, so that state proves nothing. What proves it: a checkpoint was triggered (Flink
triggers none while a task is not running), or the log saw every deployed task reach RUNNING. Where
neither could be seen, a job that did not restart again for a while counts.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from spark_jobs.diagnosis.samples import Annotation, JobFailure, JobWindow, LogEvent
from spark_jobs.diagnosis.window_contents import TASKMANAGER_LOST, whole_since

Happening = TypeVar("Happening", JobFailure, Annotation)
Task = tuple[str | None, int | None]
"""Vertex and subtask."""

SETTLED_MS = 10_000
"""Twice as long without another restart stands for 'all tasks run' where nothing better is known.
"""
SAME_MS = 1_000
"""Annotations are dated to the full second: a state change and an annotation closer than this are
one restart.
"""
BEFORE_MS = 2_000
"""A failure is dated a little before the restart that it causes."""
DEPLOYED, RUNNING, FAILED = "task_deployed", "task_state RUNNING", "task_state FAILED"
READS = ("job_state", DEPLOYED, RUNNING, FAILED)


@dataclass(frozen=True, slots=True)
class Episode:
    """``restarts`` are the instants of its restarts; ``ended_ms`` None while not all tasks run
    again. Failures oldest first.

    ``lost``: TaskManagers of its tasks that were lost meanwhile, each once.
    """

    restarts: tuple[int, ...]
    ended_ms: int | None
    failures: tuple[JobFailure, ...]
    lost: tuple[str, ...] = ()

    @property
    def begun_ms(self) -> int:
        return self.restarts[0]


def episodes(window: JobWindow, since_ms: int) -> list[Episode]:
    """Those that began at ``since_ms`` or later, oldest first."""
    starts = [at_ms for at_ms in _restarts(window) if at_ms >= since_ms]
    if not starts:
        return []
    checkpoints = sorted(
        checkpoint.trigger_time_ms
        for checkpoint in window.checkpoints
        if checkpoint.outcome != "preflight"
    )
    # Of a job with more tasks than a window holds lines, these prove nothing.
    whole_ms = max(whole_since(window.events, reported) for reported in (DEPLOYED, RUNNING))
    tasks = [event for event in window.events if event.rule_kind in (DEPLOYED, RUNNING)]
    failures = (*window.failures, *_only_logged(window))
    lost = [annotation for annotation in window.annotations if annotation.kind == TASKMANAGER_LOST]
    groups: list[tuple[list[int], int | None]] = []
    for index, at_ms in enumerate(starts):
        until_ms = starts[index + 1] if index + 1 < len(starts) else window.at_ms + 1
        again_ms = _running_again(
            window, at_ms, until_ms, checkpoints, tasks if at_ms >= whole_ms else ()
        )
        if groups and groups[-1][1] is None:
            groups[-1] = ([*groups[-1][0], at_ms], again_ms)
        else:
            groups.append(([at_ms], again_ms))
    ends = _ends(window)
    return [
        Episode(
            tuple(restarts),
            ends.get(restarts[0], ended_ms),
            _failures(failures, restarts[0], _next_begin(groups, index)),
            tuple(
                dict.fromkeys(
                    annotation.subject
                    for annotation in _within(lost, restarts[0], _next_begin(groups, index))
                )
            ),
        )
        for index, (restarts, ended_ms) in enumerate(groups)
    ]


def _ends(window: JobWindow) -> dict[int, int]:
    """Ends by the log of the JobManager, with every task in view, of outages that it tells whole."""
    ends = {}
    for annotation in window.annotations:
        if (
            annotation.kind == "restart"
            and "downtime_ms" in annotation.detail
            and "began_at" in annotation.detail
        ):
            begun_ms = round(
                datetime.fromisoformat(annotation.detail["began_at"]).timestamp() * 1000
            )
            ends[begun_ms] = begun_ms + int(annotation.detail["downtime_ms"])
    return {begun_ms: ended_ms for begun_ms, ended_ms in ends.items() if ended_ms <= window.at_ms}


def _restarts(window: JobWindow) -> list[int]:
    """Instants at which the job restarted, each once, from the log and from annotations."""
    reported = {
        event.at_ms
        for event in window.events
        if event.kind == "job_state" and event.fields.get("to_state") == "RESTARTING"
    }
    # In order of time: of three that are a second apart, the middle one would otherwise take the
    # place of both others.
    for annotated_ms in sorted(
        annotation.at_ms for annotation in window.annotations if annotation.kind == "restart"
    ):
        if not any(abs(at_ms - annotated_ms) <= SAME_MS for at_ms in reported):
            reported.add(annotated_ms)
    return sorted(at_ms for at_ms in reported if at_ms <= window.at_ms)


def _running_again(
    window: JobWindow, at_ms: int, until_ms: int, checkpoints: list[int], tasks: Iterable[LogEvent]
) -> int | None:
    """When all tasks ran again between this restart and ``until_ms``; None where they did not, as
    far as is known.
    """
    proofs = [trigger_ms for trigger_ms in checkpoints if at_ms + SAME_MS < trigger_ms < until_ms][
        :1
    ]
    reported = [
        (event, (event.vertex_id or event.vertex_name, event.subtask))
        for event in tasks
        if at_ms <= event.at_ms < until_ms
    ]
    # Regions are deployed one after the other: the first may run before the last is reported.
    deployed = {task for event, task in reported if event.rule_kind == DEPLOYED}
    running: dict[Task, int] = {}
    for event, task in reported:
        if event.rule_kind == RUNNING and task in deployed:
            running[task] = min(event.at_ms, running.get(task, event.at_ms))
    if deployed and len(running) == len(deployed):
        proofs.append(max(running.values()))
    if proofs:
        return min(proofs)
    # After a restart the next checkpoint may be a whole interval away: until then, that none was
    # triggered means nothing.
    expected_ms = max(window.config.interval_ms or 0, window.config.min_pause_ms or 0)
    contradicted = bool(deployed) or (
        bool(checkpoints) and until_ms - at_ms > max(expected_ms, 2 * SETTLED_MS) + SETTLED_MS
    )
    return at_ms + SETTLED_MS if not contradicted and until_ms - at_ms > 2 * SETTLED_MS else None


def _next_begin(groups: list[tuple[list[int], int | None]], index: int) -> int | None:
    return groups[index + 1][0][0] if index + 1 < len(groups) else None


def _within(happenings: Iterable[Happening], begun_ms: int, next_ms: int | None) -> list[Happening]:
    """Those of the episode that begins at ``begun_ms``; ``next_ms``: where the next one does."""
    until_ms = next_ms - BEFORE_MS if next_ms is not None else None
    return [
        one
        for one in happenings
        if one.at_ms >= begun_ms - BEFORE_MS and (until_ms is None or one.at_ms < until_ms)
    ]


def _failures(
    failures: Iterable[JobFailure], begun_ms: int, next_ms: int | None
) -> tuple[JobFailure, ...]:
    return tuple(
        sorted(
            _within(failures, begun_ms, next_ms),
            key=lambda failure: (
                failure.at_ms,
                not failure.is_root,
                failure.name,
                failure.task or "",
            ),
        )
    )


def _only_logged(window: JobWindow) -> Iterable[JobFailure]:
    """Tasks that failed by the log alone: REST keeps the last exceptions only, and of those that
    come together one.
    """
    if not window.failures:
        return _failed_tasks(window.events)
    reported = {
        (_task_of(failure.task), failure.at_ms // SAME_MS + step)
        for failure in window.failures
        for step in (-1, 0, 1)
    }
    traced = (task for task in _failed_tasks(window.events) if task.stacktrace)
    return (
        failure
        for failure in traced
        if (_task_of(failure.task), failure.at_ms // SAME_MS) not in reported
    )


def _task_of(task: str | None) -> str:
    """``enrich (2/4) - execution #4`` and ``enrich`` are compared by the name of the vertex."""
    return re.sub(r" \(\d+/\d+\)(?: - execution #\d+)?$", "", task or "")


def _failed_tasks(events: Iterable[LogEvent]) -> Iterable[JobFailure]:
    """What the log tells of failed tasks."""
    for event in events:
        if event.rule_kind == FAILED:
            name = (event.detail or event.message or "").split(":", 1)[0].strip() or "unknown"
            yield JobFailure(
                event.at_ms,
                name,
                event.vertex_name,
                event.host,
                event.container,
                None,
                event.detail,
            )
