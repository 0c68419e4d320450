"""Episodes from a restart until all tasks run again, which a triggered checkpoint or the log of
every deployed task proves. Without a proof, some time without a restart ends the episode, unless
the job's state or log contradicts.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import zip_longest
from math import inf
from typing import TypeVar

from spark_jobs.diagnosis.failure_causes.table import cause_of_failure
from spark_jobs.diagnosis.samples import Annotation, JobFailure, JobWindow, LogEvent
from spark_jobs.diagnosis.window_contents import TASKMANAGER_LOST, complete_from

Happening = TypeVar("Happening", JobFailure, Annotation)
Task = tuple[str | None, int | None]

SETTLED_MS = 10_000
"""Twice this time without a restart counts as 'all tasks run' if there is no proof."""
SAME_MS = 1_000
"""Annotations have full seconds: a state change this close is the same restart."""
CHAIN_APART_MS = 600_000
"""A restart this long after the previous one begins another chain."""
RESCALE_SEEN_MS = 90_000
BEFORE_MS = 2_000
"""A failure may be dated this long before the restart that it causes."""
DEPLOYED, RUNNING, FAILED = "task_deployed", "task_state RUNNING", "task_state FAILED"
RESTARTING = "RESTARTING"
NOT_RUNNING = frozenset({RESTARTING, "FAILING", "CREATED", "INITIALIZING", "FAILED"})
NOT_YET_RUN = frozenset({"CREATED", "SCHEDULED", "DEPLOYING", "INITIALIZING"})
GLOBAL = "global_restart"
"""A failure in the JobManager: a source's enumerator, a coordinator."""
READS = ("job_state", DEPLOYED, RUNNING, FAILED, GLOBAL)


@dataclass(frozen=True, slots=True)
class Episode:
    """``ended_ms``: None until all tasks run again. ``lost``: names of lost TaskManagers."""

    restarts: tuple[int, ...]
    ended_ms: int | None
    failures: tuple[JobFailure, ...]
    lost: tuple[str, ...] = ()

    @property
    def begun_ms(self) -> int:
        return self.restarts[0]


def episodes(window: JobWindow, since_ms: int) -> list[Episode]:
    """Episodes with a restart since ``since_ms``, and the current one; oldest first."""
    starts = restart_instants(window)
    if not starts:
        return []
    proofs = _RunningAgain(window)
    groups: list[tuple[list[int], int | None]] = []
    # Backwards, so that only the current episode of a long history is examined.
    until_ms = window.at_ms + 1
    for at_ms in reversed(starts):
        running_ms = proofs.running_after(at_ms, until_ms)
        if running_ms is not None and at_ms < since_ms:
            break
        if groups and running_ms is None:
            groups[-1][0].insert(0, at_ms)
        else:
            groups.append(([at_ms], running_ms))
        until_ms = at_ms
    groups.reverse()
    ends = _ends(window)
    next_restarts = [restarts[0] for restarts, _ended_ms in groups[1:]]
    all_episodes = [
        _episode(window, restarts, ends.get(restarts[0], ended_ms), next_ms)
        for (restarts, ended_ms), next_ms in zip_longest(groups, next_restarts)
    ]
    return [
        episode
        for episode in all_episodes
        if episode.restarts[-1] >= since_ms or episode.ended_ms is None
    ]


def is_rescaling(window: JobWindow, episode: Episode) -> bool:
    return any(
        annotation.kind == "rescale" and 0 <= annotation.at_ms - episode.begun_ms <= RESCALE_SEEN_MS
        for annotation in window.annotations
    )


def first_attempt(window: JobWindow) -> Episode | None:
    """The first restart of the current chain."""
    starts = restart_instants(window)
    if not starts:
        return None
    begun_ms = chain_begin(starts)
    following = starts[starts.index(begun_ms) + 1 :]
    return _episode(window, [begun_ms], None, following[0] if following else None)


def chain_begin(starts: Sequence[int]) -> int:
    begun_ms = starts[-1]
    for at_ms in reversed(starts):
        if begun_ms - at_ms >= CHAIN_APART_MS:
            break
        begun_ms = at_ms
    return begun_ms


def last_attempt(episode: Episode) -> Episode:
    """The last restart with failures of its own."""
    for at_ms in reversed(episode.restarts):
        failures = tuple(
            failure for failure in episode.failures if failure.at_ms >= at_ms - BEFORE_MS
        )
        if failures:
            return replace(episode, restarts=(at_ms,), failures=failures, lost=())
    return episode


def _episode(
    window: JobWindow, restarts: Sequence[int], ended_ms: int | None, next_ms: int | None
) -> Episode:
    failures = _within((*window.failures, *_only_logged(window)), restarts[0], next_ms)
    failures.sort(
        key=lambda failure: (failure.at_ms, not failure.is_root, failure.name, failure.task or "")
    )
    lost = dict.fromkeys(
        annotation.subject
        for annotation in _within(window.annotations, restarts[0], next_ms)
        if annotation.kind == TASKMANAGER_LOST
    )
    return Episode(tuple(restarts), ended_ms, tuple(failures), tuple(lost))


def _ends(window: JobWindow) -> dict[int, int]:
    """Begin → end of restarts, by annotations."""
    ends = {}
    for annotation in window.annotations:
        if annotation.kind == "restart" and {"downtime_ms", "began_at"} <= annotation.detail.keys():
            begun_ms = round(
                datetime.fromisoformat(annotation.detail["began_at"]).timestamp() * 1000
            )
            ends[begun_ms] = begun_ms + int(annotation.detail["downtime_ms"])
    return {begun_ms: ended_ms for begun_ms, ended_ms in ends.items() if ended_ms <= window.at_ms}


def restart_instants(window: JobWindow) -> list[int]:
    """Restarts in the log, in annotations and in ``window.restarts``."""
    logged = [
        event.at_ms
        for event in window.events
        if event.kind == "job_state" and event.fields.get("to_state") == RESTARTING
    ]
    annotated = [
        annotation.at_ms for annotation in window.annotations if annotation.kind == "restart"
    ]
    instants = with_others(with_others(logged, annotated), window.restarts)
    return [at_ms for at_ms in instants if at_ms <= window.at_ms]


def with_others(exact: Iterable[int], others: Iterable[int]) -> list[int]:
    """In order, without instants of ``others`` that are within ``SAME_MS`` of another."""
    instants = sorted(set(exact))
    # In order of time: else the middle one of three instants, a second apart, would replace both.
    for at_ms in sorted(set(others)):
        index = bisect_left(instants, at_ms - SAME_MS)
        if index == len(instants) or instants[index] > at_ms + SAME_MS:
            instants.insert(index, at_ms)
    return instants


class _RunningAgain:
    def __init__(self, window: JobWindow) -> None:
        self._window = window
        self._checkpoints = sorted(
            checkpoint.trigger_time_ms
            for checkpoint in window.checkpoints
            if checkpoint.outcome != "preflight"
        )
        # Before this instant, lines of tasks were cut and prove nothing.
        self._tasks_from_ms = max(
            complete_from(window.events, kind) for kind in (DEPLOYED, RUNNING)
        )
        self._task_events = [
            event for event in window.events if event.rule_kind in (DEPLOYED, RUNNING)
        ]
        self._has_deployments = any(event.rule_kind == DEPLOYED for event in self._task_events)
        self._states_from_ms = complete_from(window.events, "job_state")
        self._states = [event for event in window.events if event.kind == "job_state"]
        self._early_failures = sorted(_early_failures(window))

    def running_after(self, at_ms: int, until_ms: int) -> int | None:
        """When all tasks ran again after the restart at ``at_ms``; None if not by ``until_ms``."""
        proofs = [at for at in self._checkpoints if at_ms + SAME_MS < at < until_ms][:1]
        task_events = [
            (event, (event.vertex_id or event.vertex_name, event.subtask))
            for event in (self._task_events if at_ms >= self._tasks_from_ms else ())
            if at_ms <= event.at_ms < until_ms
        ]
        # The first region may run before the last one is deployed.
        deployed = {task for event, task in task_events if event.rule_kind == DEPLOYED}
        running: dict[Task, int] = {}
        for event, task in task_events:
            if event.rule_kind == RUNNING and task in deployed:
                running[task] = min(event.at_ms, running.get(task, event.at_ms))
        if deployed and len(running) == len(deployed):
            proofs.append(max(running.values()))
        if proofs:
            return min(proofs)
        from_ms = self._running_from(at_ms, until_ms)
        if from_ms is None or deployed or self._is_contradicted(at_ms, until_ms):
            return None
        return from_ms + SETTLED_MS if until_ms - from_ms > 2 * SETTLED_MS else None

    def _running_from(self, at_ms: int, until_ms: int) -> int | None:
        is_last = until_ms > self._window.at_ms
        if is_last and self._window.state in NOT_RUNNING:
            return None
        if at_ms < self._states_from_ms:
            return at_ms
        states = [
            (event.at_ms, event.fields.get("to_state"))
            for event in self._states
            if at_ms <= event.at_ms < until_ms
        ]
        if (at_ms, RESTARTING) not in states or (is_last and self._window.state == "RUNNING"):
            return next((at for at, state in states if state == "RUNNING"), at_ms)
        return next((at for at, state in states if state == "RUNNING"), None)

    def _is_contradicted(self, at_ms: int, until_ms: int) -> bool:
        config = self._window.config
        # The first checkpoint after a restart may be triggered a whole interval later.
        expected_ms = max(config.interval_ms or 0, config.min_pause_ms or 0)
        if (self._checkpoints or config.interval_ms) and (
            until_ms - at_ms > max(expected_ms, 2 * SETTLED_MS) + SETTLED_MS
        ):
            return True
        if (
            self._has_deployments
            and at_ms >= max(self._tasks_from_ms, self._states_from_ms)
            and any(event.at_ms == at_ms for event in self._states)
        ):
            # The log has deployments, but none after this restart.
            return True
        index = bisect_right(self._early_failures, at_ms + SAME_MS)
        return (
            index < len(self._early_failures) and self._early_failures[index] <= until_ms + SAME_MS
        )


def _early_failures(window: JobWindow) -> Iterator[int]:
    """Failures before the task, or all tasks, ran."""
    for failure in window.failures:
        cause = cause_of_failure(failure.name, failure.stacktrace)
        if cause and (cause.waits_for_slots or cause.unreadable):
            yield failure.at_ms
    for event in window.events:
        if event.rule_kind == FAILED and event.fields.get("from_state") in NOT_YET_RUN:
            yield event.at_ms


def _within(happenings: Iterable[Happening], begun_ms: int, next_ms: int | None) -> list[Happening]:
    until_ms = inf if next_ms is None else next_ms - BEFORE_MS
    return [
        happening for happening in happenings if begun_ms - BEFORE_MS <= happening.at_ms < until_ms
    ]


def _only_logged(window: JobWindow) -> Iterable[JobFailure]:
    """Failures that REST lacks: it keeps the last ones, and one of several at a time."""
    reported = {
        (_task_of(failure.task), failure.at_ms // SAME_MS + step)
        for failure in window.failures
        for step in (-1, 0, 1)
    }
    return (
        failure
        for failure in _failed_tasks(window.events)
        if (failure.stacktrace or not reported)
        and (_task_of(failure.task), failure.at_ms // SAME_MS) not in reported
    )


def _task_of(task: str | None) -> str:
    """The name of the vertex: ``enrich`` for ``enrich (2/4) - execution #4``."""
    return re.sub(r" \(\d+/\d+\)(?: - execution #\d+)?$", "", task or "")


def _failed_tasks(events: Iterable[LogEvent]) -> Iterable[JobFailure]:
    for event in events:
        if event.rule_kind == FAILED or (event.kind == GLOBAL and event.detail):
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
