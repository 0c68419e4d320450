"""Readings → records: calls the payload parsers, and turns every bad part into a Skip while the rest goes on."""

from typing import Any

from ingest.flink_rest.checkpoint_parts import add_checkpoints
from ingest.flink_rest.findings import Findings
from ingest.flink_rest.job_parts import add_job
from ingest.flink_rest.payloads import exceptions, jobs, metrics, taskmanagers
from ingest.flink_rest.readings import Answer, ClusterReading, JobReading
from ingest.flink_rest.vertex_samples import add_vertex_samples
from ingest.records import JobException, Observed, Record, Skip


def overview_of_jobs(jobs_overview: Answer) -> tuple[dict[str, Answer], tuple[Skip, ...]]:
    """``/jobs/overview`` → one answer per job id, body its entry, for ``JobReading.overview``; and what was skipped."""
    findings = Findings()
    found = {}
    for place, entry in findings.each(findings.parse(jobs.overview_entries, jobs_overview), jobs_overview):
        state = findings.parse(jobs.job_state, jobs_overview, place, body=entry, place=place)
        if state:
            found[state.job_id] = Answer(jobs_overview.path, jobs_overview.at, entry)
    return found, findings.skips()


def observe_job(reading: JobReading, cluster: str, source: str) -> tuple[Observed, ...]:
    """Everything the answers tell, each record observed when its answer came; skips are among the records."""
    return _findings(reading).observed(cluster, source)


def records(reading: JobReading) -> tuple[tuple[Record, ...], tuple[Skip, ...]]:
    """The same without times: (records, skips)."""
    findings = _findings(reading)
    return findings.records(), findings.skips()


def observe_cluster(reading: ClusterReading, cluster: str, source: str) -> tuple[Observed, ...]:
    """TaskManager samples, likewise: the detail answer where there is one, else the entry in the list."""
    findings = Findings()
    for taskmanager_id, answer in reading.taskmanager_details.items():
        found = findings.parse(taskmanagers.taskmanager, answer, answer.at, _metric_values(reading, taskmanager_id, findings))
        if found:
            findings.add(answer, found)
    _add_listed(reading, findings)
    return findings.observed(cluster, source)


def _findings(reading: JobReading) -> Findings:
    findings = Findings()
    add_job(reading, findings)
    add_checkpoints(reading, findings)
    _add_exceptions(reading, findings)
    add_vertex_samples(reading, findings)
    return findings


def _add_exceptions(reading: JobReading, findings: Findings) -> None:
    answer = reading.exceptions
    if answer is None:
        return
    for place, entry in findings.each(findings.parse(exceptions.entries, answer), answer):
        findings.add(answer, *(findings.parse(_exceptions, answer, reading.job_id, place, body=entry, place=place) or ()))


def _exceptions(entry: Any, job_id: str, place: str) -> tuple[JobException, ...]:
    return tuple(exceptions.exceptions(entry, job_id, place))


def _add_listed(reading: ClusterReading, findings: Findings) -> None:
    answer = reading.taskmanagers
    if answer is None:
        return
    for place, entry in findings.each(findings.parse(taskmanagers.entries, answer), answer):
        if isinstance(entry, dict) and str(entry.get("id")) in reading.taskmanager_details:
            continue
        found = findings.parse(taskmanagers.taskmanager, answer, answer.at, None, place, body=entry, place=place)
        if found:
            findings.add(answer, found)


def _metric_values(reading: ClusterReading, taskmanager_id: str, findings: Findings) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for answer in reading.taskmanager_metrics.get(taskmanager_id, ()):
        found.update(findings.parse(metrics.values, answer) or {})
    return found
