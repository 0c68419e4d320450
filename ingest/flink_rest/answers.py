"""The answers about one cluster and one job at about one instant, before they are parsed.

The live collector fills these from HTTP answers, the importer from recorded ones, the archive
reader from archived documents; :mod:`ingest.flink_rest.assembly` turns them into records.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ingest.records import Record


@dataclass(frozen=True, slots=True)
class Answer:
    """One successful answer: decoded JSON, and when it came (UTC).

    ``path`` is what was requested, with its query: ``/jobs/<id>/checkpoints``. It distinguishes
    subtask metrics from vertex metrics, and names skipped input.
    """

    path: str
    at: datetime
    body: Any = field(repr=False)
    held_bytes: int = 0
    """About what its body takes, where that is known: readers of files keep answers within
    bounds.
    """

    @property
    def endpoint(self) -> str:
        """The path without its query, which may hold hundreds of metric names."""
        return self.path.partition("?")[0]


@dataclass(slots=True)
class JobAnswers:
    """Answers about one job. Whatever was not requested or not answered is ``None`` or absent.

    ``overview`` holds this job's entry of ``/jobs/overview`` as its body (see ``listed_jobs``); it
    alone is enough for a job record. ``plan``, ``config``, ``checkpoint_config`` and
    ``jobmanager_config`` seldom change: keep and pass the last answer again. ``subtasks`` is keyed
    by (checkpoint id, vertex id). ``metrics`` holds any number of answers per vertex, from
    ``/vertices/:vid/metrics?get=0.name,…`` or ``/vertices/:vid/subtasks/:i/metrics?get=name,…``.
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
    """The new rows of ``checkpoints``, where the reader has parsed it already."""
    exceptions: Answer | None = None
    job_metrics: Answer | None = None
    details: dict[int, Answer] = field(default_factory=dict)
    subtasks: dict[tuple[int, str], Answer] = field(default_factory=dict)
    vertices: dict[str, Answer] = field(default_factory=dict)
    measured_elsewhere: bool = False
    """Whether samples of subtasks come from another source; REST then tells where and since when
    tasks run.
    """
    starts_known: bool = False
    """Whether an earlier reading showed when these tasks were started."""
    backpressure: dict[str, Answer] = field(default_factory=dict)
    metrics: dict[str, list[Answer]] = field(default_factory=dict)
    gauges: dict[str, list[Answer]] = field(default_factory=dict)
    """Any number of answers per vertex, from
    ``/vertices/:vid/subtasks/metrics?agg=…&get=name,…``.
    """
    metrics_paths: set[str] = field(default_factory=set, repr=False)
    """Paths of ``metrics`` and ``gauges``, where answers are filed one by one (see ``routing``)."""


@dataclass(slots=True)
class ClusterAnswers:
    """Answers about the cluster itself: ``taskmanager_details`` and ``_metrics`` are keyed by
    TaskManager id.
    """

    taskmanagers: Answer | None = None
    taskmanager_details: dict[str, Answer] = field(default_factory=dict)
    taskmanager_metrics: dict[str, list[Answer]] = field(default_factory=dict)
    metrics_paths: set[str] = field(default_factory=set, repr=False)
