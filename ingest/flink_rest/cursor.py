"""What the collector remembers of one cluster between cycles: plain JSON, bounded, safe to lose."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ingest.flink_rest.payloads.jobs import TERMINAL

MAX_JOBS = 5_000
MAX_CHECKPOINTS = 120
"""Per job; Flink keeps ten unless ``web.checkpoints.history`` says more."""
MAX_VERTICES = 300
MAX_TASKMANAGERS = 5_000
MISSING_CYCLES = 2
"""Consecutive cycles before a job counts as no longer listed: a JobManager may answer just before
it has its jobs.
"""

STORED, DISCARDED, DETAILED = 1, 2, 4


@dataclass(slots=True)
class JobCursor:
    """``checkpoints`` maps (id, trigger ms) of final ones to flags.

    Times are epoch seconds, 0 = never.
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
    """Since when Flink has metrics of none of the subtasks of some vertex."""
    initializing_at: float = 0
    """Since when Flink cannot tell its checkpoints because it initializes this job."""
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
        """Forget jobs that are no longer listed; returns those that were not seen to end, but only
        after :data:`MISSING_CYCLES`.
        """
        listed = set(job_ids)
        for job_id in listed:
            job = self.jobs.setdefault(job_id, JobCursor())
            job.listed_at, job.missing = at_s, 0
        vanished = {}
        for job_id in self.jobs.keys() - listed:
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
        known = set(names)
        self.taskmanagers = {name: at for name, at in self.taskmanagers.items() if name in known}

    def forget_settings(self) -> None:
        """Make all settings due: another release answers at this address, also for jobs with fixed
        ids.
        """
        self.static_at = 0
        for job in self.jobs.values():
            job.static_at = job.full_at = 0

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, limited to the newest entries."""
        return {
            "flink_version": self.flink_version,
            "static_at": self.static_at,
            "jobs": {
                job_id: _job_to_json(job) for job_id, job in list(self.jobs.items())[-MAX_JOBS:]
            },
            "taskmanagers": dict(list(self.taskmanagers.items())[-MAX_TASKMANAGERS:]),
        }


def from_json(document: Any) -> ClusterCursor:
    """The usable part of the document; an unusable one gives an empty cursor."""
    fields: Mapping[str, Any] = document if isinstance(document, Mapping) else {}
    jobs, managers = fields.get("jobs"), fields.get("taskmanagers")
    return ClusterCursor(
        flink_version=fields.get("flink_version")
        if isinstance(fields.get("flink_version"), str)
        else None,
        static_at=_number(fields.get("static_at")),
        jobs={str(job_id): _job_from_json(job) for job_id, job in jobs.items()}
        if isinstance(jobs, dict)
        else {},
        taskmanagers={str(name): _number(at) for name, at in managers.items()}
        if isinstance(managers, dict)
        else {},
    )


def _job_to_json(job: JobCursor) -> dict[str, Any]:
    if job.ended:
        return {"state": job.state, "modified_ms": job.modified_ms, "ended": True}
    newest = sorted(job.checkpoints.items(), key=lambda item: item[0][1])[-MAX_CHECKPOINTS:]
    return {
        "modified_ms": job.modified_ms,
        "state": job.state,
        "listed_at": round(job.listed_at, 3),
        "missing": job.missing,
        "full_at": round(job.full_at, 1),
        "static_at": round(job.static_at, 1),
        "metrics_at": round(job.metrics_at, 1),
        "not_measured_at": round(job.not_measured_at, 1),
        "initializing_at": round(job.initializing_at, 1),
        "failed": job.failed,
        "exceptions": job.exceptions,
        "started": job.started,
        "turn": job.turn,
        "reported": job.reported[: MAX_VERTICES + 1],
        "vertices": dict(list(job.vertices.items())[:MAX_VERTICES]),
        "gauges": dict(list(job.gauges.items())[:MAX_VERTICES]),
        "checkpoints": [
            [checkpoint_id, trigger_ms, flags] for (checkpoint_id, trigger_ms), flags in newest
        ],
    }


def _job_from_json(fields: Any) -> JobCursor:
    if not isinstance(fields, dict):
        return JobCursor()
    vertices = fields.get("vertices")
    checkpoints = fields.get("checkpoints")
    gauges = fields.get("gauges")
    reported = fields.get("reported")
    return JobCursor(
        modified_ms=int(_number(fields.get("modified_ms"))),
        state=str(fields.get("state") or ""),
        listed_at=_number(fields.get("listed_at")),
        missing=int(_number(fields.get("missing"))),
        full_at=_number(fields.get("full_at")),
        static_at=_number(fields.get("static_at")),
        metrics_at=_number(fields.get("metrics_at")),
        not_measured_at=_number(fields.get("not_measured_at")),
        initializing_at=_number(fields.get("initializing_at")),
        failed=fields.get("failed") if isinstance(fields.get("failed"), int) else None,
        exceptions=int(_number(fields.get("exceptions"))),
        started=int(_number(fields.get("started"))),
        turn=int(_number(fields.get("turn"))),
        reported=[str(item) for item in reported] if isinstance(reported, list) else [],
        ended=fields.get("ended") is True,
        vertices={str(vertex): int(_number(size)) for vertex, size in vertices.items()}
        if isinstance(vertices, dict)
        else {},
        gauges={
            str(vertex): list(map(str, names))
            for vertex, names in gauges.items()
            if isinstance(names, list)
        }
        if isinstance(gauges, dict)
        else {},
        checkpoints=dict(entry for item in checkpoints if (entry := _checkpoint(item)))
        if isinstance(checkpoints, list)
        else {},
    )


def _checkpoint(item: Any) -> tuple[tuple[int, int], int] | None:
    if isinstance(item, list) and len(item) == 3 and all(isinstance(part, int) for part in item):
        return (item[0], item[1]), item[2]
    return None


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) and value == value and abs(value) < 1e15 else 0
