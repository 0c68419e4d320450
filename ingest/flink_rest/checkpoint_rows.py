"""The ``checkpoints`` and ``vertex_checkpoints`` rows of a reading."""

from collections.abc import Set
from datetime import datetime

from ingest.flink_rest.answers import Answer, JobAnswers
from ingest.flink_rest.checkpoint_selection import is_of_another_job, key_of
from ingest.flink_rest.parse_results import ParseResults
from ingest.flink_rest.payloads import checkpoint_details, checkpoints
from ingest.records import Checkpoint, Record


def listed_checkpoints(
    answer: Answer, job_id: str, flink_version: str | None
) -> tuple[Record, ...]:
    """Rows of ``/jobs/:id/checkpoints``, newest first as Flink lists them; entries that cannot be
    read are skips among them.
    """
    results = ParseResults()
    for place, entry in results.each(results.parse(checkpoints.entries, answer), answer):
        results.add(
            answer,
            results.parse(
                checkpoints.checkpoint,
                answer,
                job_id,
                flink_version,
                place,
                body=entry,
                place=place,
            ),
        )
    return results.records()


def add_checkpoints(reading: JobAnswers, results: ParseResults) -> None:
    trigger_times: dict[int, datetime] = {}
    detailed = set()
    listed = _listed_rows(reading)
    keys = [key_of(row) for row in listed if isinstance(row, Checkpoint)]
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
            detailed.add((checkpoint.checkpoint_id, checkpoint.trigger_time, checkpoint.status))
            trigger_times[checkpoint_id] = checkpoint.trigger_time
    if reading.checkpoints:
        for row in listed:
            if isinstance(row, Checkpoint):
                # Where an id repeats, the newest trigger time comes first.
                trigger_times.setdefault(row.checkpoint_id, row.trigger_time)
                if (row.checkpoint_id, row.trigger_time, row.status) in detailed:
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
    of_other_jobs: Set[int],
    results: ParseResults,
) -> None:
    for (checkpoint_id, vertex_id), answer in reading.subtasks.items():
        if checkpoint_id in of_other_jobs:
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
