"""Calls of all jobs to each file system, second by second: who checkpoints together."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core.cache import cache

from spark_jobs.filesystem_calls.bursts import Written, by_second
from webapp.analyses.filesystem_calls.fleet_jobs import WINDOW, FleetJob, fleet_jobs
from webapp.lib.recent_answers import KEPT_S, answer_key, end_of_step
from webapp.storage.namenodes import NameNode, NameNodes, namenodes_in

SECONDS = int(WINDOW.total_seconds())


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
    """

    file_system: str
    jobs: int
    unknown: int
    per_s: float
    peak: float
    peak_at: datetime | None
    together: Sequence[Together]
    seconds: Sequence[float]


@dataclass(frozen=True)
class FleetCalls:
    """``start``: of the seconds. ``left_out``: jobs with fewer checkpoints than those looked at.
    ``namenodes``: what their JMX has of the same minutes.
    """

    start: datetime
    end: datetime
    left_out: int
    file_systems: Sequence[FileSystemCalls]
    namenodes: NameNodes


_MADE_OF = (
    NameNodes,
    NameNode,
    FleetCalls,
    FileSystemCalls,
    Together,
)


def look_up_fleet_calls(now: datetime) -> FleetCalls:
    """Cached for a moment: tables and chart of a page ask for the same."""
    key = answer_key("fleet-calls", _MADE_OF, end_of_step(now))
    cached = cache.get(key)
    if isinstance(cached, FleetCalls):
        return cached
    fleet = fleet_calls(now)
    cache.set(key, fleet, KEPT_S)
    return fleet


def fleet_calls(now: datetime) -> FleetCalls:
    end, jobs, left_out = fleet_jobs(now)
    start = _start(end)
    return FleetCalls(
        start,
        end,
        left_out,
        _file_systems(jobs, start),
        namenodes_in(start, SECONDS),
    )


def _start(end: datetime) -> datetime:
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
    peak = float(seconds[worst])
    return FileSystemCalls(
        name,
        len(jobs),
        len(jobs) - len(known),
        sum(job.per_s or 0.0 for job in jobs),
        peak,
        start + timedelta(seconds=worst) if peak else None,
        sorted(together, key=lambda one: (-one.calls, one.name)),
        seconds.tolist(),
    )


def _written(trigger: datetime, duration_s: float, calls: float, start: datetime) -> Written:
    return Written((trigger - start).total_seconds(), duration_s, calls)
