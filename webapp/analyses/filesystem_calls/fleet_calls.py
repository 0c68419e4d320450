"""Calls of all jobs to each file system, second by second: who checkpoints together, what
staggering and moving jobs would give.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core.cache import cache

from ingest.flink_rest.versions import release
from spark_jobs.filesystem_calls.balance import balanced
from spark_jobs.filesystem_calls.bursts import Periodic, Written, by_second, staggered
from webapp.analyses.filesystem_calls.audit_logs import (
    AuditedCalls,
    Caller,
    JobSeen,
    Observed,
    observed_in,
)
from webapp.analyses.filesystem_calls.fleet_jobs import WINDOW, FleetJob, fleet_jobs
from webapp.lib.recent_answers import KEPT_S, answer_key, end_of_step
from webapp.storage.namenodes import NameNode, NameNodes, namenodes_in

SECONDS = int(WINDOW.total_seconds())
_DIRECTORY = ("state.checkpoints.dir", "execution.checkpointing.dir")


@dataclass(frozen=True)
class Together:
    cluster: str
    job_id: str
    name: str
    calls: float


@dataclass(frozen=True)
class FileSystemCalls:
    """Of one file system. ``unknown``: jobs whose files no audit counted; they are left out of
    every figure. ``together``: jobs at work in the worst second, most calls first.
    ``staggered_peak``: of the jobs with a known pace, against ``steady_peak`` of the same jobs.
    """

    file_system: str
    jobs: int
    unknown: int
    per_s: float
    peak: float
    peak_at: datetime | None
    together: Sequence[Together]
    steady_peak: float
    staggered_peak: float
    seconds: Sequence[float]


@dataclass(frozen=True)
class JobMove:
    cluster: str
    job_id: str
    name: str
    per_s: float
    source_file_system: str
    target_file_system: str
    setting: str


@dataclass(frozen=True)
class FleetCalls:
    """``start``: of the seconds. ``left_out``: jobs with fewer checkpoints than those looked at.
    ``before`` and ``after``: calls a second over time by file system, as it is and with the moves
    made. ``observed``: what audit logs of NameNodes have of the same minutes, ``namenodes`` what
    their JMX has.
    """

    start: datetime
    end: datetime
    left_out: int
    file_systems: Sequence[FileSystemCalls]
    before: Mapping[str, float]
    after: Mapping[str, float]
    moves: Sequence[JobMove]
    observed: Observed
    namenodes: NameNodes


_MADE_OF = (
    NameNodes,
    NameNode,
    Observed,
    AuditedCalls,
    Caller,
    JobSeen,
    FleetCalls,
    FileSystemCalls,
    Together,
    JobMove,
)


def look_up_fleet_calls(now: datetime, more: int = 0) -> FleetCalls:
    """Cached for a moment: tables and chart of a page ask for the same, and to stagger many jobs
    takes seconds.
    """
    key = answer_key("fleet-calls", _MADE_OF, end_of_step(now), more)
    cached = cache.get(key)
    if isinstance(cached, FleetCalls):
        return cached
    fleet = fleet_calls(now, more)
    cache.set(key, fleet, KEPT_S)
    return fleet


def fleet_calls(now: datetime, more: int = 0) -> FleetCalls:
    """``more``: file systems that do not exist yet and could take jobs."""
    end, jobs, left_out = fleet_jobs(now)
    start = _start(end)
    by_peak = _file_systems(jobs, start)
    paced = [(job, job.per_s) for job in jobs if job.per_s is not None and job.file_system]
    names = list(dict.fromkeys(job.file_system for job in jobs if job.file_system)) + [
        f"new-{number}" for number in range(1, more + 1)
    ]
    plan = balanced(
        [per_s for _job, per_s in paced], [job.file_system for job, _per_s in paced], names
    )
    moves = [_move(*paced[move.job], move.target) for move in plan.moves]
    return FleetCalls(
        start,
        end,
        left_out,
        by_peak,
        plan.before,
        plan.after,
        moves,
        observed_in(start, SECONDS, jobs),
        namenodes_in(start, SECONDS),
    )


def _start(end: datetime) -> datetime:
    """The second in which the newest was triggered is within."""
    return end.replace(microsecond=0) + timedelta(seconds=1) - WINDOW


def _file_systems(jobs: Sequence[FleetJob], start: datetime) -> list[FileSystemCalls]:
    by_system: dict[str, list[FleetJob]] = {}
    for job in jobs:
        by_system.setdefault(job.file_system, []).append(job)
    systems = (_of_system(name, of, start) for name, of in by_system.items())
    return sorted(systems, key=lambda system_calls: (-system_calls.peak, system_calls.file_system))


def _of_system(name: str, jobs: Sequence[FleetJob], start: datetime) -> FileSystemCalls:
    known = [(job, calls) for job in jobs if (calls := job.calls) is not None]
    written = {
        id(job): [
            _written(taken.trigger_time, taken.duration_s, calls, start) for taken in job.taken
        ]
        for job, calls in known
    }
    seconds = by_second((one for of_job in written.values() for one in of_job), SECONDS)
    worst = int(seconds.argmax())
    shares = [(job, float(by_second(written[id(job)], SECONDS)[worst])) for job, _calls in known]
    together = [
        Together(job.cluster, job.job_id, job.name, calls) for job, calls in shares if calls
    ]
    periodic = [
        Periodic(
            (job.taken[0].trigger_time - start).total_seconds(),
            job.period_s,
            job.taken[-1].duration_s,
            calls,
        )
        for job, calls in known
        if job.period_s and job.period_s >= 1
    ]
    plan = staggered(periodic, SECONDS)
    peak = float(seconds[worst])
    return FileSystemCalls(
        name,
        len(jobs),
        len(jobs) - len(known),
        sum(job.per_s or 0.0 for job in jobs),
        peak,
        start + timedelta(seconds=worst) if peak else None,
        sorted(together, key=lambda one: (-one.calls, one.name)),
        plan.before,
        plan.after,
        seconds.tolist(),
    )


def _written(trigger: datetime, duration_s: float, calls: float, start: datetime) -> Written:
    return Written((trigger - start).total_seconds(), duration_s, calls)


def _move(job: FleetJob, per_s: float, target: str) -> JobMove:
    of = release(job.flink_version)
    key = _DIRECTORY[of is None or of[:2] >= (1, 20)]
    path = job.directory.removeprefix(job.file_system) or "/"
    at = target if "://" in target else f"hdfs://{target}"
    return JobMove(
        job.cluster, job.job_id, job.name, per_s, job.file_system, target, f"{key}: {at}{path}"
    )
