"""What the collector remembers of a cluster: plain JSON, bounded, safe to lose."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any

from ingest.flink_rest.payloads.jobs import TERMINAL
from ingest.json_members import as_list, as_object

MAX_JOBS = 5_000
MAX_CHECKPOINTS = 120
"""Checkpoints of a job. Flink lists ten by default (``web.checkpoints.history``)."""
MAX_VERTICES = 300
MAX_TASKMANAGERS = 5_000
MISSING_CYCLES = 2
"""A job is gone if so many lists lack it: a JobManager may answer before it has its jobs."""

STORED, DISCARDED, DETAILED = 1, 2, 4


@dataclass(slots=True)
class JobCursor:
    """Times (``…_at``) are epoch seconds, 0 = never. ``missing``: cycles since the job was listed.
    ``failed``: Flink's count of failed checkpoints. ``exceptions``, ``started``: checksums of the
    last exceptions and attempts. ``turn``: number of samples. ``reported``: what was read or
    reported since the job changed. ``vertices``: vertex → parallelism. ``gauges``: vertex → names.
    ``checkpoints``: (id, trigger ms) of completed and failed checkpoints → flags.
    """

    modified_ms: int = 0
    state: str = ""
    listed_at: float = 0
    missing: int = 0
    full_at: float = 0
    static_at: float = 0
    metrics_at: float = 0
    failed: int | None = None
    exceptions: int = 0
    started: int = 0
    not_measured_at: float = 0
    initializing_at: float = 0
    """Since when Flink returns no checkpoints, because it initializes this job."""
    turn: int = 0
    reported: list[str] = field(default_factory=list)
    ended: bool = False
    vertices: dict[str, int] = field(default_factory=dict)
    gauges: dict[str, list[str]] = field(default_factory=dict)
    checkpoints: dict[tuple[int, int], int] = field(default_factory=dict)

    def copy(self) -> "JobCursor":
        return replace(
            self,
            reported=list(self.reported),
            vertices=dict(self.vertices),
            gauges=dict(self.gauges),
            checkpoints=dict(self.checkpoints),
        )


@dataclass(slots=True)
class ClusterCursor:
    flink_version: str | None = None
    static_at: float = 0
    jobs: dict[str, JobCursor] = field(default_factory=dict)
    taskmanagers: dict[str, float] = field(default_factory=dict)

    def note_listed(self, job_ids: Iterable[str], at_s: float) -> dict[str, JobCursor]:
        """Forget jobs that are no longer listed; returns those that were read, but not their end."""
        present = set(job_ids)
        for job_id in present:
            job = self.jobs.setdefault(job_id, JobCursor())
            job.listed_at, job.missing = at_s, 0
        vanished = {}
        for job_id in self.jobs.keys() - present:
            job = self.jobs[job_id]
            job.missing += 1
            was_read = job.full_at and job.listed_at
            had_ended = job.ended or job.state in TERMINAL
            if had_ended or not was_read or job.missing >= MISSING_CYCLES:
                del self.jobs[job_id]
                if was_read and not had_ended:
                    vanished[job_id] = job
        return vanished

    def keep_taskmanagers(self, names: Iterable[str]) -> None:
        present = set(names)
        self.taskmanagers = {name: at for name, at in self.taskmanagers.items() if name in present}

    def forget_settings(self) -> None:
        """After an upgrade, jobs with fixed ids may have other settings."""
        self.static_at = 0
        for job in self.jobs.values():
            job.static_at = job.full_at = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "flink_version": self.flink_version,
            "static_at": self.static_at,
            "jobs": {
                job_id: _job_to_json(job) for job_id, job in list(self.jobs.items())[-MAX_JOBS:]
            },
            "taskmanagers": dict(list(self.taskmanagers.items())[-MAX_TASKMANAGERS:]),
        }


def from_json(document: Any) -> ClusterCursor:
    plain = as_object(document)
    version = plain.get("flink_version")
    return ClusterCursor(
        flink_version=version if isinstance(version, str) else None,
        static_at=_number(plain.get("static_at")),
        jobs={job_id: _job_from_json(job) for job_id, job in as_object(plain.get("jobs")).items()},
        taskmanagers={
            name: _number(at) for name, at in as_object(plain.get("taskmanagers")).items()
        },
    )


_NUMBERS: dict[str, Any] = {
    entry.name: entry.type for entry in fields(JobCursor) if entry.type in (int, float)
}


def _job_to_json(job: JobCursor) -> dict[str, Any]:
    if job.ended:
        return {"state": job.state, "modified_ms": job.modified_ms, "ended": True}
    newest = sorted(job.checkpoints.items(), key=lambda item: item[0][1])[-MAX_CHECKPOINTS:]
    return {
        **{name: getattr(job, name) for name in ("state", "failed")},
        **{name: round(getattr(job, name), 3) for name in _NUMBERS},
        "reported": job.reported[: MAX_VERTICES + 1],
        "vertices": dict(list(job.vertices.items())[:MAX_VERTICES]),
        "gauges": dict(list(job.gauges.items())[:MAX_VERTICES]),
        "checkpoints": [[*key, flags] for key, flags in newest],
    }


def _job_from_json(document: Any) -> JobCursor:
    plain = as_object(document)
    failed = plain.get("failed")
    numbers: dict[str, Any] = {
        name: kind(_number(plain.get(name))) for name, kind in _NUMBERS.items()
    }
    return JobCursor(
        state=str(plain.get("state") or ""),
        failed=failed if isinstance(failed, int) else None,
        ended=plain.get("ended") is True,
        reported=[str(item) for item in as_list(plain.get("reported"))],
        vertices={
            vertex: int(_number(size)) for vertex, size in as_object(plain.get("vertices")).items()
        },
        gauges={
            vertex: list(map(str, as_list(names)))
            for vertex, names in as_object(plain.get("gauges")).items()
        },
        checkpoints={
            (item[0], item[1]): item[2]
            for item in as_list(plain.get("checkpoints"))
            if isinstance(item, list)
            and len(item) == 3
            and all(isinstance(part, int) for part in item)
        },
        **numbers,
    )


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) and value == value and abs(value) < 1e15 else 0
