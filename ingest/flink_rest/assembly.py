"""Turns answers into records. A bad part becomes a Skip; other parts are used."""

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from ingest.errors import Skipped
from ingest.flink_rest.answers import Answer, ClusterAnswers, JobAnswers
from ingest.flink_rest.checkpoint_selection import is_of_another_job, key_of
from ingest.flink_rest.metric_names import JOB_METRICS, SOURCE_METRICS, SUBTASK_METRICS
from ingest.flink_rest.payloads import (
    checkpoint_details,
    checkpoints,
    config,
    exceptions,
    gauges,
    jobs,
    metrics,
    plan,
    taskmanagers,
    vertices,
)
from ingest.json_members import as_list, member
from ingest.records import (
    Checkpoint,
    Job,
    Observed,
    Record,
    Setting,
    Skip,
    VertexGauges,
    VertexMetrics,
    VertexStart,
)

_Parsed = TypeVar("_Parsed")
_WHOLE = object()

MAX_BAD_ENTRIES = 100


class ParseResults:
    def __init__(self) -> None:
        self._records: list[tuple[datetime, Record]] = []
        self._bad = 0

    def add(self, answer: Answer, *records: Record | None) -> None:
        self._records.extend((answer.at, record) for record in records if record is not None)

    def parse(
        self,
        parser: Callable[..., _Parsed],
        answer: Answer | None,
        *args: Any,
        body: Any = _WHOLE,
        place: str = "",
    ) -> _Parsed | None:
        """What ``parser`` returns for the answer's body, or for ``body``. ``None`` without an
        answer or, with a skip, if parsing fails. ``place``: path of ``body`` in the answer.
        """
        if answer is None:
            return None
        try:
            return parser(answer.body if body is _WHOLE else body, *args)
        except Skipped as error:
            self.skip(answer, place, str(error))
            return None

    def each(
        self, entries: Iterable[tuple[str, Any]] | None, answer: Answer
    ) -> Iterator[tuple[str, Any]]:
        """The entries, until ``MAX_BAD_ENTRIES`` are bad."""
        bad_before = self._bad
        for place, entry in entries or ():
            if self._bad - bad_before >= MAX_BAD_ENTRIES:
                self.skip(
                    answer,
                    "",
                    f"{MAX_BAD_ENTRIES} of its entries could not be read; the others, "
                    f"from {place} on, are not tried.",
                )
                return
            yield place, entry

    def parse_entries(
        self,
        parser: Callable[..., _Parsed],
        entries: Iterable[tuple[str, Any]] | None,
        answer: Answer,
        *args: Any,
    ) -> Iterator[_Parsed]:
        for place, entry in self.each(entries, answer):
            parsed = self.parse(parser, answer, *args, place, body=entry, place=place)
            if parsed is not None:
                yield parsed

    def skip(self, answer: Answer, place: str, detail: str) -> None:
        self._bad += 1
        subject = f"{answer.endpoint}#{place}" if place else answer.endpoint
        self._records.append(
            (answer.at, Skip(subject=subject, reason="bad_payload", detail=detail))
        )

    def records(self) -> tuple[Record, ...]:
        return tuple(record for _, record in self._records)

    def skips(self) -> tuple[Skip, ...]:
        return tuple(record for record in self.records() if isinstance(record, Skip))

    def observed(self, cluster: str, source: str) -> tuple[Observed, ...]:
        by_time: dict[datetime, list[Record]] = {}
        for at, record in self._records:
            by_time.setdefault(at, []).append(record)
        return tuple(Observed(cluster, at, source, tuple(by_time[at])) for at in sorted(by_time))


_LOCATION = ("attempt", "host", "taskmanager_id")


def add_vertex_samples(reading: JobAnswers, results: ParseResults) -> None:
    for vertex_id in dict.fromkeys((*reading.metrics, *reading.backpressure, *reading.vertices)):
        _add_sample(reading, vertex_id, results)


def add_vertex_starts(reading: JobAnswers, results: ParseResults) -> None:
    if reading.starts_known:
        return
    starts = {
        vertex_id: results.parse(vertices.start_times, answer) or {}
        for vertex_id, answer in reading.vertices.items()
    }
    if not all(starts.values()) or any(
        start["running_at"] is None
        for by_subtask in starts.values()
        for start in by_subtask.values()
    ):
        return
    for vertex_id, by_subtask in starts.items():
        answer, length = reading.vertices[vertex_id], max(by_subtask) + 1
        placements = results.parse(vertices.placements, answer) or {}
        row = VertexStart(
            reading.job_id,
            vertex_id,
            answer.at,
            **_columns(placements, _LOCATION, length),
            **_columns(by_subtask, vertices.STATE_TIMES, length),
        )
        results.add(answer, row)


def add_vertex_gauges(reading: JobAnswers, results: ParseResults) -> None:
    for vertex_id, answers in reading.gauges.items():
        gauges_by_name = gauges.combine(
            [results.parse(gauges.gauges, answer) or {} for answer in answers]
        )
        if gauges_by_name:
            results.add(
                answers[-1],
                VertexGauges(reading.job_id, vertex_id, answers[-1].at, **gauges_by_name),
            )


def attempts_checksum(reading: JobAnswers) -> int | None:
    """Changes if a subtask starts again. None unless all subtasks run or have finished."""
    attempts = []
    for vertex_id, answer in reading.vertices.items():
        for entry in as_list(member(answer.body, "subtasks")):
            if member(entry, "status") not in ("RUNNING", "FINISHED"):
                return None
            attempts.append((vertex_id, entry.get("attempt")))
    return zlib.crc32(repr(attempts).encode("utf-8", "replace"))


def _add_sample(reading: JobAnswers, vertex_id: str, results: ParseResults) -> None:
    vertex_answer = reading.vertices.get(vertex_id)
    ratio_answer = reading.backpressure.get(vertex_id)
    measured = _measure(reading.metrics.get(vertex_id, ()), results)
    placements = results.parse(vertices.placements, vertex_answer) or {}
    ratios = results.parse(vertices.backpressured_ratios, ratio_answer) or {}
    counters = results.parse(vertices.record_counts, vertex_answer) or {}
    declared = results.parse(vertices.parallelism, vertex_answer)
    reported = (*measured, *placements, *ratios, *counters)
    length = max([declared or 0, *(index + 1 for index in reported)])
    if not 0 < length <= vertices.MAX_PARALLELISM:
        return
    answer = next(
        answer
        for answer in (*reading.metrics.get(vertex_id, ()), ratio_answer, vertex_answer)
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
            counted_at=vertex_answer.at if vertex_answer and counters else None,
            **_columns(counters, ("records_in", "records_out"), length),
            **_columns(placements, (*_LOCATION, "task_state"), length),
            **_columns(measured, (*SUBTASK_METRICS, *SOURCE_METRICS), length),
        ),
    )


def _measure(
    answers: Sequence[Answer], results: ParseResults
) -> dict[int, dict[str, metrics.Number]]:
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


def _columns(
    by_subtask: Mapping[int, Mapping[str, Any]], names: Iterable[str], length: int
) -> dict[str, tuple[Any, ...] | None]:
    return {
        name: by_index({index: row.get(name) for index, row in by_subtask.items()}, length)
        for name in names
    }


def by_index(values: Mapping[int, Any], length: int) -> tuple[Any, ...] | None:
    """One element per subtask; ``None`` if no subtask has a value."""
    if all(value is None for value in values.values()):
        return None
    return tuple(values.get(index) for index in range(length))


def listed_checkpoints(
    answer: Answer, job_id: str, flink_version: str | None
) -> tuple[Record, ...]:
    results = ParseResults()
    entries = results.parse(checkpoints.entries, answer)
    for row in results.parse_entries(
        checkpoints.checkpoint, entries, answer, job_id, flink_version
    ):
        results.add(answer, row)
    return results.records()


def add_checkpoints(reading: JobAnswers, results: ParseResults) -> None:
    trigger_times: dict[int, datetime] = {}
    detailed_keys = set()
    listed_rows = _listed_rows(reading)
    keys = [key_of(row) for row in listed_rows if isinstance(row, Checkpoint)]
    details = {
        number: answer
        for number, answer in reading.details.items()
        if not is_of_another_job(answer.body, keys, number)
    }
    for checkpoint_id, answer in details.items():
        checkpoint = results.parse(
            checkpoints.checkpoint, answer, reading.job_id, reading.flink_version
        )
        if checkpoint:
            results.add(answer, checkpoint)
            detailed_keys.add(
                (checkpoint.checkpoint_id, checkpoint.trigger_time, checkpoint.status)
            )
            trigger_times[checkpoint_id] = checkpoint.trigger_time
    if reading.checkpoints:
        for row in listed_rows:
            if isinstance(row, Checkpoint):
                # If an id repeats, the newest trigger time comes first.
                trigger_times.setdefault(row.checkpoint_id, row.trigger_time)
                if (row.checkpoint_id, row.trigger_time, row.status) in detailed_keys:
                    continue
            results.add(reading.checkpoints, row)
    for checkpoint_id, answer in details.items():
        if checkpoint_id in trigger_times:
            _add_vertices_of_detail(
                reading, checkpoint_id, trigger_times[checkpoint_id], answer, results
            )
    _add_subtasks(reading, trigger_times, reading.details.keys() - details.keys(), results)


def _listed_rows(reading: JobAnswers) -> tuple[Record, ...]:
    if reading.checkpoints is None:
        return ()
    if reading.checkpoint_rows is not None:
        return tuple(reading.checkpoint_rows)
    return listed_checkpoints(reading.checkpoints, reading.job_id, reading.flink_version)


def _add_vertices_of_detail(
    reading: JobAnswers,
    checkpoint_id: int,
    trigger_time: datetime,
    answer: Answer,
    results: ParseResults,
) -> None:
    parts = results.parse(checkpoint_details.vertex_parts, answer) or {}
    for vertex_id, task in results.each(parts.items(), answer):
        if (checkpoint_id, vertex_id) not in reading.subtasks:
            place = f"tasks.{vertex_id}"
            checkpoint = results.parse(
                checkpoint_details.vertex_checkpoint,
                answer,
                reading.job_id,
                checkpoint_id,
                trigger_time,
                vertex_id,
                place,
                body=task,
                place=place,
            )
            results.add(answer, checkpoint)


def _add_subtasks(
    reading: JobAnswers,
    trigger_times: dict[int, datetime],
    foreign_ids: Set[int],
    results: ParseResults,
) -> None:
    for (checkpoint_id, vertex_id), answer in reading.subtasks.items():
        if checkpoint_id in foreign_ids:
            continue
        at = trigger_times.get(checkpoint_id)
        if at is None:
            results.skip(
                answer,
                "",
                f"checkpoint {checkpoint_id}: neither its detail nor the list has its trigger time",
            )
        else:
            parser = checkpoint_details.vertex_checkpoint
            results.add(
                answer, results.parse(parser, answer, reading.job_id, checkpoint_id, at, vertex_id)
            )


def add_job(reading: JobAnswers, results: ParseResults) -> None:
    answer_and_job = _job(reading, results)
    if answer_and_job is None:
        return
    answer, job = answer_and_job
    vertices = results.parse(plan.vertices, reading.job) or results.parse(
        plan.planned_vertices, reading.plan
    )
    graph_answer = plan_answer(reading)
    results.add(
        answer,
        replace(
            job,
            job_id=reading.job_id,
            flink_version=reading.flink_version,
            parallelism=max(
                (vertex.parallelism for vertex in vertices or () if vertex.parallelism),
                default=None,
            ),
            vertices=vertices,
            edges=results.parse(plan.edges, graph_answer),
            slot_sharing=results.parse(plan.slot_sharing, reading.job),
            state_since=results.parse(jobs.state_since, reading.job),
            restarts=_restarts(reading, results),
            configuration=_configuration(reading, results),
            **_checkpointing(reading, results),
        ),
    )


def _job(reading: JobAnswers, results: ParseResults) -> tuple[Answer, Job] | None:
    detail = results.parse(jobs.job, reading.job)
    overview = results.parse(jobs.job, reading.overview)
    if (
        reading.overview
        and overview
        and (
            detail is None
            or (overview.state in jobs.TERMINAL and detail.state not in jobs.TERMINAL)
        )
    ):
        return (reading.job if detail else None) or reading.overview, overview
    return (reading.job, detail) if reading.job and detail else None


def plan_answer(reading: JobAnswers) -> Answer | None:
    """``/jobs/:id`` if it holds the plan, as it mostly does, else ``/jobs/:id/plan``."""
    return reading.job if reading.job and plan.is_in(reading.job.body) else reading.plan


def _configuration(reading: JobAnswers, results: ParseResults) -> tuple[Setting, ...] | None:
    cluster_settings = results.parse(config.cluster_settings, reading.jobmanager_config)
    job_settings = results.parse(config.job_settings, reading.config)
    return (
        None
        if cluster_settings is None and job_settings is None
        else (cluster_settings or ()) + (job_settings or ())
    )


def _checkpointing(reading: JobAnswers, results: ParseResults) -> dict[str, Any]:
    return {
        **(results.parse(config.checkpoint_settings, reading.checkpoint_config) or {}),
        **(results.parse(config.no_checkpoints, reading.checkpoint_config) or {}),
        **(results.parse(checkpoints.counts, reading.checkpoints) or {}),
        **(results.parse(checkpoints.restore, reading.checkpoints) or {}),
    }


def _restarts(reading: JobAnswers, results: ParseResults) -> int | None:
    columns = results.parse(
        lambda body: metrics.columns(metrics.values(body), JOB_METRICS), reading.job_metrics
    )
    restarts = (columns or {}).get("restarts")
    return None if restarts is None else int(restarts)


def observe_job(reading: JobAnswers, cluster: str, source: str) -> tuple[Observed, ...]:
    results = ParseResults()
    add_job(reading, results)
    add_checkpoints(reading, results)
    if answer := reading.exceptions:
        entries = results.parse(exceptions.entries, answer)
        for rows in results.parse_entries(exceptions.exceptions, entries, answer, reading.job_id):
            results.add(answer, *rows)
    add_vertex_samples(reading, results)
    add_vertex_starts(reading, results)
    add_vertex_gauges(reading, results)
    return results.observed(cluster, source)


def observe_cluster(reading: ClusterAnswers, cluster: str) -> tuple[Observed, ...]:
    results = ParseResults()
    for taskmanager_id, answer in reading.taskmanager_details.items():
        values: dict[str, Any] = {}
        for metrics_answer in reading.taskmanager_metrics.get(taskmanager_id, ()):
            values.update(results.parse(metrics.values, metrics_answer) or {})
        results.add(answer, results.parse(taskmanagers.taskmanager, answer, answer.at, values))
    if listing := reading.taskmanagers:
        entries = [
            (place, entry)
            for place, entry in results.parse(taskmanagers.entries, listing) or ()
            if str(member(entry, "id")) not in reading.taskmanager_details
        ]
        for row in results.parse_entries(
            taskmanagers.taskmanager, entries, listing, listing.at, None
        ):
            results.add(listing, row)
    return results.observed(cluster, "rest")
