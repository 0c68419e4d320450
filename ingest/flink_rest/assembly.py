"""Answers → records: calls the payload parsers, and turns every bad part into a Skip while the rest
goes on.
"""

from typing import Any

from ingest.flink_rest.answers import ClusterAnswers, JobAnswers
from ingest.flink_rest.checkpoint_rows import add_checkpoints
from ingest.flink_rest.job_row import add_job
from ingest.flink_rest.parse_results import ParseResults
from ingest.flink_rest.payloads import exceptions, metrics, taskmanagers
from ingest.flink_rest.vertex_rows import add_vertex_gauges, add_vertex_samples, add_vertex_starts
from ingest.records import Observed


def observe_job(reading: JobAnswers, cluster: str, source: str) -> tuple[Observed, ...]:
    """All records of the answers, each observed when its answer came; skips are among them."""
    results = ParseResults()
    add_job(reading, results)
    add_checkpoints(reading, results)
    if answer := reading.exceptions:
        for place, entry in results.each(results.parse(exceptions.entries, answer), answer):
            results.add(
                answer,
                *(
                    results.parse(
                        exceptions.exceptions,
                        answer,
                        reading.job_id,
                        place,
                        body=entry,
                        place=place,
                    )
                    or ()
                ),
            )
    add_vertex_samples(reading, results)
    add_vertex_starts(reading, results)
    add_vertex_gauges(reading, results)
    return results.observed(cluster, source)


def observe_cluster(reading: ClusterAnswers, cluster: str, source: str) -> tuple[Observed, ...]:
    """TaskManager samples, likewise: the detail answer where there is one, else the entry in the
    list.
    """
    results = ParseResults()
    for taskmanager_id, answer in reading.taskmanager_details.items():
        values: dict[str, Any] = {}
        for metrics_answer in reading.taskmanager_metrics.get(taskmanager_id, ()):
            values.update(results.parse(metrics.values, metrics_answer) or {})
        results.add(answer, results.parse(taskmanagers.taskmanager, answer, answer.at, values))
    if listed := reading.taskmanagers:
        for place, entry in results.each(results.parse(taskmanagers.entries, listed), listed):
            if not (
                isinstance(entry, dict) and str(entry.get("id")) in reading.taskmanager_details
            ):
                results.add(
                    listed,
                    results.parse(
                        taskmanagers.taskmanager,
                        listed,
                        listed.at,
                        None,
                        place,
                        body=entry,
                        place=place,
                    ),
                )
    return results.observed(cluster, source)
