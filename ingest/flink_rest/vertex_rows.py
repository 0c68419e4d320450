"""The ``vertex_metrics`` rows of a reading: metrics, back-pressure and placement joined per
subtask.
"""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from ingest.flink_rest.answers import Answer, JobAnswers
from ingest.flink_rest.metric_names import SOURCE_METRICS, SUBTASK_METRICS
from ingest.flink_rest.parse_results import ParseResults
from ingest.flink_rest.payloads import gauges, metrics, vertices
from ingest.records import VertexGauges, VertexMetrics, VertexStart

_PLACE = ("attempt", "host", "taskmanager_id")
_ENTERED = ("scheduled_at", "deploying_at", "initializing_at", "running_at")


def add_vertex_samples(reading: JobAnswers, results: ParseResults) -> None:
    """One sample per vertex of which anything was requested."""
    for vertex_id in dict.fromkeys((*reading.metrics, *reading.backpressure, *reading.vertices)):
        _add_sample(reading, vertex_id, results)


def add_vertex_starts(reading: JobAnswers, results: ParseResults) -> None:
    """When each subtask was started, once all of those that were asked for run or have run."""
    if reading.starts_known:
        return
    starts = {
        vertex_id: results.parse(vertices.started, answer) or {}
        for vertex_id, answer in reading.vertices.items()
    }
    if not all(starts.values()) or any(
        one.running_at is None for of_vertex in starts.values() for one in of_vertex.values()
    ):
        return
    for vertex_id, of_vertex in starts.items():
        answer, length = reading.vertices[vertex_id], max(of_vertex) + 1
        placements = results.parse(vertices.placements, answer) or {}
        row = VertexStart(
            reading.job_id,
            vertex_id,
            answer.at,
            **{
                name: by_index(
                    {at: getattr(placement, name) for at, placement in placements.items()}, length
                )
                for name in _PLACE
            },
            **{
                name: by_index({at: getattr(one, name) for at, one in of_vertex.items()}, length)
                for name in _ENTERED
            },
        )
        results.add(answer, row)


def add_vertex_gauges(reading: JobAnswers, results: ParseResults) -> None:
    """One row per vertex that has any of these figures."""
    for vertex_id, answers in reading.gauges.items():
        gauges_by_name = gauges.joined(
            [results.parse(gauges.gauges, answer) or {} for answer in answers]
        )
        if gauges_by_name:
            results.add(
                answers[-1],
                VertexGauges(reading.job_id, vertex_id, answers[-1].at, **gauges_by_name),
            )


def attempts_checksum(reading: JobAnswers) -> int | None:
    """Tells one set of attempts that run, or have run to their end, from another; None while some
    do not.
    """
    bodies = {vertex_id: answer.body for vertex_id, answer in reading.vertices.items()}
    subtasks = {
        vertex_id: body.get("subtasks")
        for vertex_id, body in bodies.items()
        if isinstance(body, dict)
    }
    attempts = []
    for vertex_id, of_vertex in subtasks.items():
        for entry in of_vertex if isinstance(of_vertex, list) else ():
            if not isinstance(entry, dict) or entry.get("status") not in ("RUNNING", "FINISHED"):
                return None
            attempts.append((vertex_id, entry.get("attempt")))
    return zlib.crc32(repr(attempts).encode("utf-8", "replace"))


def _add_sample(reading: JobAnswers, vertex_id: str, results: ParseResults) -> None:
    placed_answer = reading.vertices.get(vertex_id)
    ratio_answer = reading.backpressure.get(vertex_id)
    measured = _measured(reading.metrics.get(vertex_id, ()), results)
    placements = results.parse(vertices.placements, placed_answer) or {}
    ratios = results.parse(vertices.backpressured_ratios, ratio_answer) or {}
    counted = results.parse(vertices.counted, placed_answer) or {}
    declared = results.parse(vertices.parallelism, placed_answer)
    reported = (*measured, *placements, *ratios, *counted)
    length = max([declared or 0, *(index + 1 for index in reported)])
    if not 0 < length <= vertices.MAX_PARALLELISM:
        return
    answer = next(
        answer
        for answer in (*reading.metrics.get(vertex_id, ()), ratio_answer, placed_answer)
        if answer
    )
    results.add(
        answer,
        VertexMetrics(
            job_id=reading.job_id,
            vertex_id=vertex_id,
            ts=answer.at,
            parallelism=declared or length,
            backpressured_ratio=by_index(ratios, length),
            counted_at=placed_answer.at if placed_answer and counted else None,
            records_in=by_index(
                {index: counters.records_in for index, counters in counted.items()}, length
            ),
            records_out=by_index(
                {index: counters.records_out for index, counters in counted.items()}, length
            ),
            attempt=by_index({index: task.attempt for index, task in placements.items()}, length),
            host=by_index({index: task.host for index, task in placements.items()}, length),
            taskmanager_id=by_index(
                {index: task.taskmanager_id for index, task in placements.items()}, length
            ),
            task_state=by_index({index: task.state for index, task in placements.items()}, length),
            **{
                column: by_index(
                    {index: entry.get(column) for index, entry in measured.items()}, length
                )
                for column in (*SUBTASK_METRICS, *SOURCE_METRICS)
            },
        ),
    )


def _measured(
    answers: Sequence[Answer], results: ParseResults
) -> dict[int, dict[str, metrics.Number]]:
    """Known values by subtask and column, out of any number of answers."""
    measured: dict[int, dict[str, metrics.Number]] = {}
    for answer in answers:
        for subtask, columns in (
            results.parse(metrics.columns_by_subtask, answer, answer.endpoint, SUBTASK_METRICS)
            or {}
        ).items():
            measured.setdefault(subtask, {}).update(
                {column: value for column, value in columns.items() if value is not None}
            )
    return measured


def by_index(values: Mapping[int, Any], length: int) -> tuple[Any, ...] | None:
    """One element per subtask; the whole is ``None`` where no subtask has a value."""
    if all(value is None for value in values.values()):
        return None
    return tuple(values.get(index) for index in range(length))
