"""Readings → records: calls the payload parsers, and turns every bad part into a Skip while the rest goes on."""

from typing import Any

from ingest.flink_rest.answers import Answer, ClusterAnswers, JobAnswers
from ingest.flink_rest.checkpoint_parts import add_checkpoints
from ingest.flink_rest.job_parts import add_job
from ingest.flink_rest.parse_results import ParseResults
from ingest.flink_rest.payloads import exceptions, jobs, metrics, taskmanagers
from ingest.flink_rest.vertex_samples import add_vertex_samples
from ingest.records import JobException, Observed, Record, Skip


def overview_of_jobs(jobs_overview: Answer) -> tuple[dict[str, Answer], tuple[Skip, ...]]:
    """``/jobs/overview`` → one answer per job id, body its entry, for ``JobAnswers.overview``; and what was skipped."""
    results = ParseResults()
    found = {}
    for place, entry in results.each(results.parse(jobs.overview_entries, jobs_overview), jobs_overview):
        state = results.parse(jobs.job_state, jobs_overview, place, body=entry, place=place)
        if state:
            found[state.job_id] = Answer(jobs_overview.path, jobs_overview.at, entry)
    return found, results.skips()


def observe_job(reading: JobAnswers, cluster: str, source: str) -> tuple[Observed, ...]:
    """All records of the answers, each observed when its answer came; skips are among them."""
    return _results(reading).observed(cluster, source)


def records(reading: JobAnswers) -> tuple[tuple[Record, ...], tuple[Skip, ...]]:
    """The same without times: (records, skips)."""
    results = _results(reading)
    return results.records(), results.skips()


def observe_cluster(reading: ClusterAnswers, cluster: str, source: str) -> tuple[Observed, ...]:
    """TaskManager samples, likewise: the detail answer where there is one, else the entry in the list."""
    results = ParseResults()
    for taskmanager_id, answer in reading.taskmanager_details.items():
        found = results.parse(taskmanagers.taskmanager, answer, answer.at, _metric_values(reading, taskmanager_id, results))
        if found:
            results.add(answer, found)
    _add_listed(reading, results)
    return results.observed(cluster, source)


def _results(reading: JobAnswers) -> ParseResults:
    results = ParseResults()
    add_job(reading, results)
    add_checkpoints(reading, results)
    _add_exceptions(reading, results)
    add_vertex_samples(reading, results)
    return results


def _add_exceptions(reading: JobAnswers, results: ParseResults) -> None:
    answer = reading.exceptions
    if answer is None:
        return
    for place, entry in results.each(results.parse(exceptions.entries, answer), answer):
        results.add(answer, *(results.parse(_exceptions, answer, reading.job_id, place, body=entry, place=place) or ()))


def _exceptions(entry: Any, job_id: str, place: str) -> tuple[JobException, ...]:
    return tuple(exceptions.exceptions(entry, job_id, place))


def _add_listed(reading: ClusterAnswers, results: ParseResults) -> None:
    answer = reading.taskmanagers
    if answer is None:
        return
    for place, entry in results.each(results.parse(taskmanagers.entries, answer), answer):
        if isinstance(entry, dict) and str(entry.get("id")) in reading.taskmanager_details:
            continue
        found = results.parse(taskmanagers.taskmanager, answer, answer.at, None, place, body=entry, place=place)
        if found:
            results.add(answer, found)


def _metric_values(reading: ClusterAnswers, taskmanager_id: str, results: ParseResults) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for answer in reading.taskmanager_metrics.get(taskmanager_id, ()):
        found.update(results.parse(metrics.values, answer) or {})
    return found
