"""The fold of one job: new rows and remembered state → its facts, current row, findings and next
state. Rows may come several times and in any order. If earlier rows are needed, the fold returns a
``Lookup``, and the job is folded again with them. If you change the state's fields, rename its
files (``JOB_STATE`` in ``run_files``).
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ingest.job_states import NOT_LISTED
from spark_jobs.diagnosis import samples
from spark_jobs.diagnosis.window_contents import OVER_STATES, PENDING, WINDOW_MS
from spark_jobs.fold import retention
from spark_jobs.fold.adaptive_restarts import job_states
from spark_jobs.fold.annotations import annotations
from spark_jobs.fold.checkpoint_facts import JobSurroundings
from spark_jobs.fold.checkpoint_log import Names
from spark_jobs.fold.checkpoints import (
    NO_CHECKPOINTS,
    Lookup,
    checkpoints,
    facts_remembered,
    history_lookup,
)
from spark_jobs.fold.downtime import outages
from spark_jobs.fold.history import History, entered_states, read_by_rules, sample, timed
from spark_jobs.fold.hosts import digest, ended_at, host_events, job_hosts
from spark_jobs.fold.job_current import job_current
from spark_jobs.fold.job_update import JobUpdate
from spark_jobs.fold.record_counters import newest_readings
from spark_jobs.fold.restart_instants import first_of_chain, restart_instants
from spark_jobs.fold.rows import Row, RowList, Rows, largest
from spark_jobs.fold.rule_evaluation import Settings, joined, judged, runs
from spark_jobs.fold.size_trend import size_trend
from spark_jobs.fold.snapshots import types_of
from spark_jobs.fold.start_causes import with_causes
from spark_jobs.fold.starts import REPORTED_BY, Life, job_starts
from spark_jobs.fold.state import JobState
from spark_jobs.fold.taskmanager_lives import losses_of_job, lost_mentions
from spark_jobs.fold.taskmanagers import TaskManagerHistory, restarts_of
from spark_jobs.fold.triggers import CheckpointKey, key_of
from spark_jobs.fold.vertex_states import vertex_states
from spark_jobs.fold.vertex_windows import (
    answered_instants,
    by_minute,
    lacking_minutes,
    windows_at_hand,
)
from spark_jobs.fold.wanted_snapshots import snapshot_lookup, wanted_keys
from spark_jobs.fold.windows import job_windows, judged_starts


@dataclass(frozen=True)
class JobResult:
    """Rows of serving tables; JSON columns are still plain values. ``judgement``: None if no window
    was judged. ``retracted``: former keys of facts. ``known``: all facts in memory. ``new_…``: rows
    that changed.
    """

    facts: list[Row]
    retracted: list[CheckpointKey]
    annotations: list[Row]
    new_annotations: list[Row]
    current: Row
    trend: Row | None
    judgement: Row | None
    state: JobState = field(repr=False)
    known: list[Row] = field(default_factory=list, repr=False)
    new_starts: RowList = ()
    new_hosts: RowList = ()
    host_events: RowList = ()
    vertex_names: Names = field(default_factory=dict, repr=False)
    windows: list[samples.JobWindow] = field(default_factory=list, repr=False)


def fold(update: JobUpdate, before: JobState, settings: Settings) -> JobResult | Lookup:
    """Returns a ``Lookup`` if it needs rows that are only in the lake."""
    events = retention.each_once([*before.events, *update.events])
    vertex_windows = windows_at_hand(update, before)
    state = replace(
        _next_state(update, before, events), vertex_windows=retention.vertex_windows(vertex_windows)
    )
    surroundings = JobSurroundings.of(state.answers, state.events, state.placements, state.failures)
    folded = checkpoints(update, before, surroundings)
    if isinstance(folded, Lookup):
        return folded._replace(
            keys=wanted_keys(
                update.job_id, state, [*before.facts, *update.checkpoints], surroundings.writing
            ),
            minutes=lacking_minutes(
                judged_starts(
                    [*_instants(update), *answered_instants(update)], before.judged_start, None
                ),
                update,
                before,
            ),
        )
    facts = list(folded.known.values())
    job_events, older_events = job_states(events), job_states(state.events)
    state = replace(
        state,
        outages=outages(job_events, before.events, before.outages),
        restarts=restart_instants(before.restarts, job_events),
    )
    states = entered_states(state.answers, older_events)
    restarts = restarts_of(states)
    taskmanagers = TaskManagerHistory([*before.taskmanagers, *update.taskmanagers], restarts)
    state = replace(
        state,
        taskmanagers=taskmanagers.remembered(),
        starts=_starts(update, before, state, job_events, states, surroundings.names),
    )
    lost = lost_mentions(losses_of_job(state.taskmanager_losses, states))
    types = types_of(state.snapshots)
    annotated = annotations(
        state.answers,
        [*facts, *folded.older.savepoints],
        older_events,
        state.outages,
        lost,
        types,
        state.failures,
    )
    state = replace(
        state,
        restarts=restart_instants(state.restarts, (), annotated),
        starts=with_causes(state.starts, annotated, surroundings.life.failures),
    )
    trend = size_trend(facts, annotated, folded.older)
    current = job_current(
        state.answers, facts, state.pressure, older_events, folded.older, types
    ) | {"states": states or None}
    # Flink's counter is updated some seconds after a restart.
    current["restarts"] = largest(current["restarts"], len(restarts) or None)
    full_states = vertex_states(
        folded.rows.vertex_checkpoints, folded.recomputed, before.vertex_states
    )
    new_starts = [start for start in state.starts if start not in before.starts]
    window_starts, newest_ms = _windows_to_judge(
        update, before, folded.recomputed, current, losses_of_job(update.taskmanager_losses, states)
    )
    minutes = lacking_minutes(window_starts, update, before)
    if update.looked_up_span is None and (lookup := history_lookup(facts, before, window_starts)):
        return lookup._replace(
            keys=wanted_keys(update.job_id, state, facts, surroundings.writing), minutes=minutes
        )
    if lookup := snapshot_lookup(update, before, state, facts, surroundings.writing):
        return lookup._replace(minutes=minutes)
    if minutes:
        return Lookup(*NO_CHECKPOINTS, minutes=minutes)
    new_annotations, hashes = _new_annotations(annotated, before)
    judged_start, judged_to = before.judged_start, before.judged_to
    if window_starts:
        last = window_starts[-1]
        judged_start, judged_to = max(
            (judged_start or 0, judged_to or 0), (last, min(last + WINDOW_MS, newest_ms))
        )
    state = replace(
        state,
        **folded.remembered,
        **facts_remembered(folded, before, judged_start),
        vertex_states=full_states[-1:],
        reported_annotations=hashes,
    )
    recomputed = list(folded.recomputed.values())
    ended_ms = ended_at(states) if current["state"] != NOT_LISTED else current["end_time"]
    new_hosts, reported_hosts = _new_hosts(update, before, state, ended_ms)
    state = replace(state, reported_hosts=reported_hosts)
    result = JobResult(
        facts=recomputed,
        retracted=folded.retracted,
        annotations=annotated,
        new_annotations=new_annotations,
        current=current,
        trend=trend,
        judgement=None,
        state=state,
        known=facts,
        new_starts=new_starts,
        new_hosts=new_hosts,
        host_events=host_events(recomputed, update.exceptions, state.placements),
        vertex_names=surroundings.names,
    )
    if not window_starts:
        return result
    history = _history(update, before, state, job_events, facts, annotated, full_states, states)
    size = sample(samples.SizeTrend, trend) if trend else None
    windows = job_windows(
        update.cluster,
        update.job_id,
        window_starts,
        newest_ms,
        current,
        size,
        by_minute(vertex_windows, window_starts),
        history,
        taskmanagers,
    )
    limits = settings.limits(update.cluster, update.job_id, current["name"])
    judgement = judged(windows, limits, settings.recovery_point(update.cluster, update.job_id))
    covered = joined([*before.judged_runs, *runs(window_starts)])
    judgement["covered"] = covered
    state = replace(state, judged_start=judged_start, judged_to=judged_to, judged_runs=covered)
    return replace(result, judgement=judgement, state=state, windows=windows)


def _starts(
    update: JobUpdate,
    before: JobState,
    state: JobState,
    events: RowList,
    states: Sequence[tuple[int, str]],
    names: Names,
) -> RowList:
    may_change = update.vertex_starts or any(
        event["kind"] in REPORTED_BY for event in update.events
    )
    if not may_change and all(start["begun_at"] is not None for start in before.starts):
        return list(before.starts)
    return job_starts(
        Life(state.answers, events, before.events, states, state.outages, names),
        update.vertex_starts,
        before.starts,
    )


def _new_hosts(
    update: JobUpdate, before: JobState, state: JobState, ended_ms: int | None
) -> tuple[list[Row], int | None]:
    may_have_ended = ended_ms is not None and (update.answers or update.events)
    if (
        before.reported_hosts is not None
        and not may_have_ended
        and state.placements == before.placements
    ):
        return [], before.reported_hosts
    hosts = job_hosts(state.placements, ended_ms)
    hosts_digest = digest(hosts)
    return (hosts if hosts_digest != before.reported_hosts else []), hosts_digest


def _new_annotations(annotated: RowList, before: JobState) -> tuple[list[Row], list[int]]:
    hashes = [zlib.crc32(repr(annotation).encode()) for annotation in annotated]
    reported = set(before.reported_annotations)
    hashed = zip(annotated, hashes, strict=True)
    return [entry for entry, hash_ in hashed if hash_ not in reported], sorted(hashes)


def _next_state(update: JobUpdate, before: JobState, events: RowList) -> JobState:
    chain_start = first_of_chain(restart_instants(before.restarts, events))
    return replace(
        before,
        answers=retention.answers([*before.answers, *update.answers]),
        events=retention.events(events, chain_start),
        placements=retention.placements([*before.placements, *update.placements]),
        pressure=retention.pressure([*before.pressure, *update.pressure]),
        counters=retention.counters([*before.counters, *newest_readings(update.vertex_windows)]),
        gauges=retention.gauges([*before.gauges, *update.vertex_gauges]),
        failures=retention.failures([*before.failures, *update.exceptions], chain_start),
        uploads=retention.uploads([*before.uploads, *update.uploads]),
        taskmanager_losses=retention.taskmanager_losses(
            [*before.taskmanager_losses, *update.taskmanager_losses]
        ),
        snapshots=retention.snapshots(
            [*before.snapshots, *update.snapshots, *update.earlier_snapshots]
        ),
        judged_runs=list(before.judged_runs),
    )


def _windows_to_judge(
    update: JobUpdate,
    before: JobState,
    recomputed: dict[CheckpointKey, Row],
    current: Row,
    losses: RowList,
) -> tuple[list[int], int]:
    """Starts of the windows to judge, and their end. ``losses``: lost TaskManagers."""
    earlier = {
        key: _as_pending(fact) for fact in before.facts if (key := key_of(fact)) in recomputed
    }
    instants = [
        *(
            fact["trigger_time"]
            for key, fact in recomputed.items()
            if earlier.get(key) != _as_pending(fact)
        ),
        *(fact["end_time"] for fact in recomputed.values()),
        *(min(row["ts"], row["observed_at"]) for row in losses),
        *_instants(update),
    ]
    known_instants = [at for at in instants if at is not None]
    ended_ms = current["end_time"] if current["state"] in OVER_STATES else None
    if current["state"] == NOT_LISTED:
        # Log lines and samples may be newer than the last listing; then their minute is the last.
        ended_ms = largest(ended_ms, before.judged_start)
    if ended_ms is not None:  # Flink may ignore a new submission of the job
        ignored = (event["ts"] for event in update.events if event["kind"] == "submission_ignored")
        ended_ms = largest(ended_ms, *ignored)
    starts = judged_starts(known_instants, before.judged_start, ended_ms)
    return starts, largest(*known_instants, before.judged_to) or 0


def _instants(update: JobUpdate) -> Iterator[int]:
    yield from (row["observed_at"] for row in update.answers)
    yield from (min(event["ts"], event["observed_at"]) for event in update.events)
    yield from (row["ts"] for row in update.exceptions)
    yield from (row["newest_ts"] for row in update.vertex_windows)
    yield from (row["as_of"] for row in update.uploads if row["as_of"] is not None)
    yield from (min(row["ts"], row["observed_at"]) for row in update.vertex_gauges)


def _as_pending(fact: Row) -> tuple[Any, ...]:
    return tuple(fact.get(name) for name in PENDING)


def _history(
    update: JobUpdate,
    before: JobState,
    state: JobState,
    events: RowList,
    facts: RowList,
    annotated: RowList,
    full_states: RowList,
    states: Sequence[tuple[int, str]],
) -> History:
    renewed = {(row["vertex_id"], row["window_start"]) for row in update.pressure}
    past = [
        *update.pressure,
        *(row for row in before.pressure if (row["vertex_id"], row["window_start"]) not in renewed),
    ]
    return History(
        checkpoints=timed(samples.CheckpointSample, facts, "trigger_time"),
        annotations=timed(samples.Annotation, annotated, "at"),
        starts=timed(samples.JobStart, state.starts, "running_at"),
        failures=timed(samples.JobFailure, state.failures, "ts"),
        events=read_by_rules(events),
        uploads=timed(samples.UploadedFiles, state.uploads, "as_of"),
        gauges=timed(samples.VertexGauges, state.gauges, "ts"),
        past=timed(samples.VertexPast, past, "window_start"),
        states=states,
        vertex_states=[(row["at"], _vertex_states(row["states"])) for row in full_states],
        restarts=state.restarts,
    )


def _vertex_states(rows: Rows) -> tuple[samples.VertexState, ...]:
    return tuple(
        samples.VertexState(
            row["vertex_id"],
            row["checkpoint_id"],
            row["trigger_time_ms"],
            tuple(row["subtask_state_bytes"]),
        )
        for row in rows
    )
