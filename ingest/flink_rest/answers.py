from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ingest.records import Record


@dataclass(frozen=True, slots=True)
class Answer:
    """Decoded JSON and its time of arrival (UTC). ``path`` includes the query."""

    path: str
    at: datetime
    body: Any = field(repr=False)
    held_bytes: int = 0
    """About the memory of ``body``; 0 if unknown."""

    @property
    def endpoint(self) -> str:
        return self.path.partition("?")[0]


@dataclass(slots=True)
class JobAnswers:
    """``overview``: the job's entry of ``/jobs/overview``, which is enough for a job record.
    ``details`` is by checkpoint id, ``subtasks`` by (checkpoint id, vertex id), other dicts by
    vertex id. ``measured_elsewhere``: task metrics come from elsewhere, such as Prometheus.
    ``starts_known``: the starts of subtasks are in the lake already.
    """

    job_id: str
    flink_version: str | None = None
    overview: Answer | None = None
    job: Answer | None = None
    plan: Answer | None = None
    config: Answer | None = None
    checkpoint_config: Answer | None = None
    jobmanager_config: Answer | None = None
    checkpoints: Answer | None = None
    checkpoint_rows: tuple[Record, ...] | None = None
    exceptions: Answer | None = None
    job_metrics: Answer | None = None
    details: dict[int, Answer] = field(default_factory=dict)
    subtasks: dict[tuple[int, str], Answer] = field(default_factory=dict)
    vertices: dict[str, Answer] = field(default_factory=dict)
    measured_elsewhere: bool = False
    starts_known: bool = False
    backpressure: dict[str, Answer] = field(default_factory=dict)
    metrics: dict[str, list[Answer]] = field(default_factory=dict)
    gauges: dict[str, list[Answer]] = field(default_factory=dict)
    metrics_paths: set[str] = field(default_factory=set, repr=False)
    """Paths in ``metrics`` and ``gauges``, if these are added one by one."""


@dataclass(slots=True)
class ClusterAnswers:
    taskmanagers: Answer | None = None
    taskmanager_details: dict[str, Answer] = field(default_factory=dict)
    taskmanager_metrics: dict[str, list[Answer]] = field(default_factory=dict)
    metrics_paths: set[str] = field(default_factory=set, repr=False)
