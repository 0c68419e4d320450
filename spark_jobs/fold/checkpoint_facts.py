"""Checkpoint facts, one for each checkpoint in REST, a log, or Flink's spans and events.

Where they disagree, REST has each value that it knows, and all that is known of single subtasks. A
span has what REST lacks: the outcome, duration and sizes of a checkpoint that REST never had as
ended, because more than its history ended between two readings or the JobManager was lost.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ingest.traces import shortened
from spark_jobs.fold import checkpoint_log as log
from spark_jobs.fold.checkpoint_by_rest import FIGURES, NOTHING, last_figures, reported
from spark_jobs.fold.checkpoint_phases import (
    CheckpointPhases,
    HostHistory,
    checkpoint_phases,
    not_acknowledged,
)
from spark_jobs.fold.checkpoint_rows import CheckpointRows
from spark_jobs.fold.endings import endings
from spark_jobs.fold.failures import failures
from spark_jobs.fold.full_sizes import FullSizes
from spark_jobs.fold.outcomes import JobLife, Outcome, outcome
from spark_jobs.fold.rows import Row, RowList, Rows, first_known, grouped, largest, rank
from spark_jobs.fold.sizes import Writing, sizes
from spark_jobs.fold.triggers import CheckpointKey
from spark_jobs.serving import CHECKPOINT_FACT, PHASES

_AS_REPORTED = tuple(name for name in CHECKPOINT_FACT.column_names if name in NOTHING)


@dataclass(frozen=True)
class JobSurroundings:
    """What facts need of their job. ``names``: by vertex. ``sources``: vertices without input."""

    names: dict[str, str | None]
    sources: frozenset[str]
    life: JobLife
    hosts: HostHistory
    writing: Writing

    @classmethod
    def of(
        cls, jobs: RowList, events: RowList, placements: Rows, exceptions: Rows = ()
    ) -> "JobSurroundings":
        planned = [job for job in jobs if job["vertices"]]
        return cls(
            _newest_names(planned),
            _sources(planned),
            JobLife(
                endings(jobs, events),
                failures(events, exceptions),
                _newest(jobs, "checkpoint_timeout_ms"),
            ),
            HostHistory.of(placements),
            writing_of(jobs),
        )


def writing_of(jobs: RowList) -> Writing:
    return Writing.of(_newest(jobs, "flink_version"), _newest(jobs, "state_backend"))


def _newest(jobs: RowList, name: str) -> Any:
    known = [(job["observed_at"], job[name]) for job in jobs if job[name] is not None]
    return max(known)[1] if known else None


def _newest_names(planned: RowList) -> dict[str, str | None]:
    newest = max((job["observed_at"] for job in planned), default=None)
    plans = [
        [(vertex["vertex_id"], vertex["name"]) for vertex in job["vertices"]]
        for job in planned
        if job["observed_at"] == newest
    ]
    return dict(max(plans, key=rank, default=()))


def _sources(planned: RowList) -> frozenset[str]:
    newest = max(planned, key=lambda job: (job["observed_at"], rank(job["vertices"])), default=None)
    if newest is None or not (newest["edges"] or len(newest["vertices"]) == 1):
        return frozenset()
    return frozenset(vertex["vertex_id"] for vertex in newest["vertices"]) - {
        edge["target_vertex_id"] for edge in newest["edges"] or ()
    }


def checkpoint_facts(
    rows: CheckpointRows,
    anchored: Mapping[CheckpointKey, RowList],
    job: JobSurroundings,
    full_sizes: FullSizes,
) -> dict[CheckpointKey, Row]:
    """``anchored``: log lines by checkpoint (``triggers.anchored``)."""
    by_rest = grouped(rows.checkpoints, "checkpoint_id", "trigger_time")
    by_vertex = grouped(rows.vertex_checkpoints, "checkpoint_id", "trigger_time")
    return {
        key: _fact(
            key,
            by_rest.get(key, []),
            anchored.get(key, ()),
            by_vertex.get(key, []),
            job,
            full_sizes,
        )
        for key in {**by_rest, **anchored, **by_vertex}
    }


def _fact(
    key: CheckpointKey,
    rest_rows: RowList,
    lines: RowList,
    vertices: RowList,
    job: JobSurroundings,
    full_sizes: FullSizes,
) -> Row:
    rest, logged = reported(rest_rows), log.checkpoint_log(lines)
    ended = outcome(key[1], rest, logged, job.life)
    is_settled = ended.outcome != "in_progress"
    figures = last_figures(rest_rows) if is_settled else {name: rest[name] for name in FIGURES}
    figures |= {
        name: first_known(figures[name], value) for name, value in logged.span.figures.items()
    }
    phases = checkpoint_phases(vertices, key[1], job.hosts, is_settled, job.sources)
    is_savepoint = first_known(rest["is_savepoint"], logged.is_savepoint)
    full, uploaded = sizes(figures, logged, is_savepoint, job.writing)
    if full is None and ended.is_completed:
        full = full_sizes.of(key, rest["external_path"])
    rest_as_of = largest(rest["as_of"], phases.as_of)
    trace = None
    if ended.is_lost:
        trace = first_known(
            ended.failure and ended.failure.trace, logged.decline.trace, logged.failure.trace
        )
    return {
        "checkpoint_id": key[0],
        "trigger_time": key[1],
        **{name: rest[name] for name in _AS_REPORTED},
        **figures,
        "is_savepoint": is_savepoint,
        "checkpoint_type": first_known(rest["checkpoint_type"], logged.checkpoint_type),
        "outcome": ended.outcome,
        "final": is_settled,
        "reason": ended.reason or None,
        "reason_text": ended.text,
        **_times(key[1], rest, figures, logged, ended),
        "state_bytes": full,
        "checkpointed_bytes": uploaded,
        "uploaded_ratio": uploaded / full if full and uploaded is not None else None,
        **_phases(phases, job),
        "declines": log.declines(logged, job.names),
        "not_acknowledged": not_acknowledged(
            phases, job.names, rest["subtasks"], figures["acknowledged"]
        )
        if ended.is_lost
        else None,
        "late_message_count": len(logged.late),
        "late_messages": log.late_messages(
            logged,
            job.names,
            first_known(logged.expired_at, logged.decline.at, rest["failure_time"]),
        ),
        "exception": trace and shortened(trace, log.EXCEPTION_CHARS),
        "sources": "+".join(
            name
            for name, as_of in (
                ("rest", rest_as_of),
                ("log", logged.as_of),
                ("span", logged.span.as_of),
            )
            if as_of is not None
        ),
        "as_of": largest(
            rest_as_of, logged.as_of, logged.span.as_of, ended.ending and ended.ending.as_of
        ),
    }


def _times(
    trigger_time: int, rest: Row, figures: Row, logged: log.CheckpointLog, ended: Outcome
) -> dict[str, int | None]:
    end_to_end_ms = first_known(figures["end_to_end_ms"], logged.completed_ms)
    end_time = None
    if ended.is_completed:
        completed_at = first_known(logged.completed_at, logged.span.at)
        end_time = completed_at if end_to_end_ms is None else trigger_time + end_to_end_ms
    elif ended.is_lost:
        job_ended_at = ended.ending.ended_at if ended.ending else None
        end_time = first_known(
            logged.expired_at,
            logged.decline.at,
            rest["failure_time"],
            logged.failure.at,
            logged.span.failed_at,
            job_ended_at,
        )
    return {"end_time": end_time, "end_to_end_ms": end_to_end_ms}


def _phases(phases: CheckpointPhases, job: JobSurroundings) -> Row:
    slowest, source = phases.slowest, phases.latest_source
    return {
        **{f"{phase}_ms": phases.phase_ms.get(phase) for phase in PHASES},
        "unaligned": phases.unaligned,
        "dominant_phase": phases.dominant_phase,
        "slowest_vertex_id": slowest and slowest.vertex_id,
        "slowest_vertex_name": slowest and job.names.get(slowest.vertex_id),
        "slowest_subtask": slowest and slowest.index,
        "slowest_host": slowest and slowest.host,
        "slowest_end_to_end_ms": slowest and slowest.end_to_end_ms,
        **{f"slowest_{phase}_ms": slowest and slowest.phase_ms[phase] for phase in PHASES},
        "source_start_delay_ms": source and source.phase_ms["start_delay"],
        "latest_source_id": source and source.vertex_id,
        "latest_source_subtask": source and source.index,
    }
