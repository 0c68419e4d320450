"""One pass over one job: what is new of it and what is known of it → its facts, its present, its verdicts, and what to remember."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from spark_jobs.diagnosis import samples
from spark_jobs.fold import kept
from spark_jobs.fold.annotations import annotations
from spark_jobs.fold.checkpoint_facts import JobSurroundings, checkpoint_facts
from spark_jobs.fold.history import History, entered_states, read_by_rules, sample, timed, vertex_window
from spark_jobs.fold.job_current import job_current
from spark_jobs.fold.judging import Settings, judged
from spark_jobs.fold.rows import Row, json_text, largest
from spark_jobs.fold.size_trend import size_trend
from spark_jobs.fold.state import JobState
from spark_jobs.fold.triggers import Key, key_of
from spark_jobs.fold.vertex_states import vertex_states
from spark_jobs.fold.windows import job_windows, judged_starts


@dataclass(frozen=True)
class JobNews:
    """Rows of one job. ``checkpoints``, ``vertex_checkpoints``, ``lines``: all there were of touched checkpoints; the others: new ones.

    ``touched``: which checkpoints are to be told again; None for all that the rows tell of. ``facts``: of other checkpoints, told by
    earlier runs, those that the judged windows look back to; ``sizes``: what trends need of the others.
    """

    cluster: str
    job_id: str
    answers: Sequence[Row] = ()
    checkpoints: Sequence[Row] = ()
    vertex_checkpoints: Sequence[Row] = ()
    lines: Sequence[Row] = ()
    events: Sequence[Row] = ()
    exceptions: Sequence[Row] = ()
    placements: Sequence[Row] = ()
    vertex_windows: Sequence[Row] = ()
    pressure: Sequence[Row] = ()
    uploads: Sequence[Row] = ()
    touched: Sequence[Row] | None = None
    facts: Sequence[Row] = ()
    sizes: Sequence[Row] = ()


@dataclass(frozen=True)
class JobResult:
    """Rows of serving tables without cluster and job; ``judgement`` is None where no window was judged."""

    facts: list[dict[str, Any]]
    annotations: list[dict[str, Any]]
    current: dict[str, Any]
    trend: dict[str, Any] | None
    judgement: dict[str, Any] | None
    state: JobState = field(repr=False)
    windows: list[samples.JobWindow] = field(default_factory=list, repr=False)


def fold(news: JobNews, before: JobState, settings: Settings) -> JobResult:
    """Idempotent: what was told before and comes again changes nothing."""
    events = kept.each_once([*before.events, *news.events])
    state = _remembered(news, before, events)
    recomputed = _facts(news, state)
    facts = _known(news.facts, news, recomputed)
    sizes = _known(news.sizes, news, recomputed) | facts
    marks = annotations(state.answers, sizes.values(), state.events)
    trend = size_trend(sizes.values(), marks)
    states = entered_states(state.answers, state.events)
    current = job_current(state.answers, list(sizes.values()), state.pressure, state.events) | {"states": json_text(states or None)}
    full_states = vertex_states(news.vertex_checkpoints, recomputed, before.vertex_states)
    state = replace(state, vertex_states=full_states[-1:])
    starts, newest_ms = _to_judge(news, before, recomputed, current)
    if not starts:
        return JobResult(list(recomputed.values()), marks, current, trend, None, state)
    history = _history(news, before, state, events, facts, marks, full_states, states)
    in_window: dict[int, list[samples.VertexWindow]] = {}
    for row in news.vertex_windows:
        in_window.setdefault(row["window_start"], []).append(vertex_window(row))
    size = sample(samples.SizeTrend, trend) if trend else None
    windows = job_windows(news.cluster, news.job_id, starts, newest_ms, current, size, in_window, history)
    point = settings.recovery_point(news.cluster, news.job_id)
    judgement = judged(windows, settings.limits(news.cluster, news.job_id), point)
    latest = max((before.judged_start or 0, before.judged_to or 0), (starts[-1], judgement["judged_to"]))
    state = replace(state, judged_start=latest[0], judged_to=latest[1])
    return JobResult(list(recomputed.values()), marks, current, trend, judgement, state, windows)


def _remembered(news: JobNews, before: JobState, events: Sequence[Row]) -> JobState:
    return replace(
        before,
        answers=kept.answers([*before.answers, *news.answers]),
        events=kept.events(events),
        placements=kept.placements([*before.placements, *news.placements]),
        pressure=kept.pressure([*before.pressure, *news.pressure]),
        failures=kept.failures([*before.failures, *news.exceptions]),
        uploads=kept.uploads([*before.uploads, *news.uploads]),
    )


def _facts(news: JobNews, state: JobState) -> dict[Key, dict[str, Any]]:
    surroundings = JobSurroundings.of(state.answers, state.events, state.placements)
    every = checkpoint_facts(news.checkpoints, news.vertex_checkpoints, news.lines, surroundings)
    if news.touched is None:
        return every
    touched = {key_of(row) for row in news.touched}
    return {key: fact for key, fact in every.items() if key in touched}


def _known(before: Iterable[Row], news: JobNews, recomputed: dict[Key, dict[str, Any]]) -> dict[Key, Row]:
    """Facts of earlier runs and of this one, each once; one that was touched and did not come out again turned out to be another."""
    touched = {key_of(row) for row in news.touched or ()}
    return {**{key: fact for fact in before if (key := key_of(fact)) not in touched}, **recomputed}


def _to_judge(news: JobNews, before: JobState, recomputed: dict[Key, dict[str, Any]], current: Row) -> tuple[list[int], int]:
    """Starts of the windows to judge, and up to when the job is judged."""
    instants = [
        *(at for fact in recomputed.values() for at in (fact["trigger_time"], fact["end_time"])),
        *(row["observed_at"] for row in news.answers),
        *(min(event["ts"], event["observed_at"]) for event in news.events),
        *(row["ts"] for row in news.exceptions),
        *(row["newest_ts"] for row in news.vertex_windows),
        *(row["as_of"] for row in news.uploads),
    ]
    known = [at for at in instants if at is not None]
    ended_ms = current["end_time"] if current["terminal"] else None
    return judged_starts(known, before.judged_start, ended_ms), largest(*known, before.judged_to) or 0


def _history(
    news: JobNews, before: JobState, state: JobState, events: Sequence[Row], facts: dict[Key, Row], marks: Sequence[Row],
    full_states: Sequence[Row], states: Sequence[tuple[int, str]],
) -> History:  # fmt: skip
    renewed = {(row["vertex_id"], row["window_start"]) for row in news.pressure}
    past = [*news.pressure, *(row for row in before.pressure if (row["vertex_id"], row["window_start"]) not in renewed)]
    return History(
        checkpoints=timed(samples.CheckpointSample, facts.values(), "trigger_time"),
        annotations=timed(samples.Annotation, marks, "at"),
        failures=timed(samples.JobFailure, state.failures, "ts"),
        events=read_by_rules(events),
        uploads=timed(samples.UploadedFiles, state.uploads, "as_of"),
        past=timed(samples.VertexPast, past, "window_start"),
        states=states,
        vertex_states=[(row["at"], _vertex_states(row["states"])) for row in full_states],
    )


def _vertex_states(rows: Iterable[Row]) -> tuple[samples.VertexState, ...]:
    return tuple(
        samples.VertexState(row["vertex_id"], row["checkpoint_id"], row["trigger_time_ms"], tuple(row["subtask_state_bytes"]))
        for row in rows
    )
