from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter

from ingest.flink_rest.versions import release
from spark_jobs.diagnosis import samples
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.window_contents import (
    ANNOTATIONS,
    CHECKPOINTS,
    FAILURES,
    GAUGES_MS,
    STARTS,
    TREND_AHEAD_MS,
    UPLOADS,
    WINDOW_MS,
    as_known_at,
    checkpoint_config,
    is_over,
    newest,
    newest_and_within,
    newest_events,
    newest_of_kinds,
    since,
)
from spark_jobs.fold.history import PAST_MS, History, past_before, plan_of
from spark_jobs.fold.restart_instants import first_of_chain
from spark_jobs.fold.rows import Row, floor_ms
from spark_jobs.fold.taskmanagers import TaskManagerHistory

CHUNK_MS = 600_000
"""Windows in one chunk share the full state per subtask."""

WINDOWS_PER_RUN = 1440
"""If a run has rows of more windows, the newest are judged."""


def judged_starts(
    instants: Iterable[int], before_ms: int | None, ended_ms: int | None
) -> list[int]:
    """Starts of windows with new rows, and of the last judged window, then perhaps unfinished."""
    starts = {floor_ms(at_ms, WINDOW_MS) for at_ms in instants}
    if not starts:
        return []
    if before_ms is not None and before_ms < max(starts):
        starts.add(before_ms)
    return sorted(start_ms for start_ms in starts if ended_ms is None or start_ms <= ended_ms)[
        -WINDOWS_PER_RUN:
    ]


def job_windows(
    cluster: str,
    job_id: str,
    starts_ms: Sequence[int],
    newest_ms: int,
    current: Row,
    trend: samples.SizeTrend | None,
    in_window: Mapping[int, Sequence[samples.VertexWindow]],
    history: History,
    taskmanagers: TaskManagerHistory,
) -> list[JobWindow]:
    """``newest_ms``: end of judging, perhaps within a window."""
    vertices, edges = plan_of(current["graph"])
    version = release(current["flink_version"])
    config = checkpoint_config(current["checkpoint_config"] or {})
    settings = {
        name: str(text)
        for name in samples.READ_SETTINGS
        if (text := (current["configuration"] or {}).get(name)) is not None
    }

    windows = []
    for start_ms in starts_ms:
        end_ms = start_ms + WINDOW_MS
        restarts = history.restarts[: bisect_left(history.restarts, end_ms)]
        first = first_of_chain(restarts)
        state = _state(current, history.states, end_ms, is_newest=newest_ms < end_ms)
        windows.append(
            JobWindow(
                cluster=cluster,
                job_id=job_id,
                at_ms=min(end_ms, newest_ms),
                window_start_ms=start_ms,
                job_name=current["name"],
                state=state,
                terminal=is_over(state),
                start_time_ms=current["start_time"],
                flink_version=current["flink_version"],
                version=version,
                vertices=vertices,
                edges=edges,
                vertex_windows=tuple(
                    sorted(in_window.get(start_ms, ()), key=attrgetter("vertex_id"))
                ),
                past=past_before(history.past, start_ms, floor_ms(start_ms, CHUNK_MS) - PAST_MS),
                checkpoints=tuple(
                    as_known_at(checkpoint, end_ms)
                    for checkpoint in newest(history.checkpoints, end_ms, CHECKPOINTS)
                ),
                vertex_states=_vertex_states(history, start_ms),
                annotations=newest_of_kinds(history.annotations, end_ms, ANNOTATIONS),
                starts=tuple(newest(history.starts, end_ms, STARTS)),
                failures=tuple(newest_and_within(history.failures, end_ms, FAILURES, first)),
                events=newest_events(history.events, end_ms, first),
                size_trend=trend
                if trend and (trend.to_time_ms or 0) < end_ms + TREND_AHEAD_MS
                else None,
                config=config,
                uploads=tuple(newest(history.uploads, end_ms, UPLOADS)),
                taskmanagers=taskmanagers.before(end_ms),
                gauges=tuple(since(history.gauges, end_ms - GAUGES_MS, end_ms)),
                restarts=tuple(restarts),
                settings=settings,
            )
        )
    return windows


def _state(
    current: Row, states: Sequence[tuple[int, str]], end_ms: int, is_newest: bool
) -> str | None:
    ended_ms = current["end_time"]
    if is_newest or (ended_ms is not None and ended_ms < end_ms):
        return None if current["state"] is None else str(current["state"])
    return max(((at_ms, state) for at_ms, state in states if at_ms < end_ms), default=(0, None))[1]


def _vertex_states(history: History, start_ms: int) -> tuple[samples.VertexState, ...]:
    chunk_end = floor_ms(start_ms, CHUNK_MS) + CHUNK_MS
    known = [pair for pair in history.vertex_states if pair[0] < chunk_end][-2:]
    return next((states for at_ms, states in reversed(known) if at_ms < start_ms + WINDOW_MS), ())
