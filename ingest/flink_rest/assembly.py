"""Readings → records: calls the payload parsers, and turns every bad part into a Skip while the rest goes on."""

from collections.abc import Iterator

from ingest.flink_rest.readings import Answer, ClusterReading, JobReading
from ingest.records import Observed, Record, Skip


def overview_of_jobs(jobs_overview: Answer) -> tuple[dict[str, Answer], tuple[Skip, ...]]:
    """``/jobs/overview`` → one answer per job id, body its entry, for ``JobReading.overview``; and what was skipped."""
    raise NotImplementedError


def observe_job(reading: JobReading, cluster: str, source: str) -> tuple[Observed, ...]:
    """Everything the answers tell, each record observed when its answer came; skips are among the records."""
    raise NotImplementedError


def observe_cluster(reading: ClusterReading, cluster: str, source: str) -> tuple[Observed, ...]:
    """TaskManager samples, likewise."""
    raise NotImplementedError


def records(reading: JobReading) -> tuple[tuple[Record, ...], tuple[Skip, ...]]:
    """The same without times: (records, skips)."""
    raise NotImplementedError


__all__ = ["Answer", "ClusterReading", "Iterator", "JobReading", "observe_cluster", "observe_job", "overview_of_jobs", "records"]
