"""The ``checkpoints`` and ``vertex_checkpoints`` rows of a reading."""

from datetime import datetime

from ingest.flink_rest.answers import Answer, JobAnswers
from ingest.flink_rest.parse_results import ParseResults
from ingest.flink_rest.payloads import checkpoint_details, checkpoints
from ingest.records import Checkpoint, Record


def listed_checkpoints(answer: Answer, job_id: str, flink_version: str | None) -> tuple[Record, ...]:
    """Rows of ``/jobs/:id/checkpoints``, newest first as Flink lists them; entries that cannot be read are skips among them."""
    results = ParseResults()
    for place, entry in results.each(results.parse(checkpoints.entries, answer), answer):
        results.add(answer, results.parse(checkpoints.checkpoint, answer, job_id, flink_version, place, body=entry, place=place))
    return results.records()


def add_checkpoints(reading: JobAnswers, results: ParseResults) -> None:
    """Each checkpoint once per status: the detail answer where there is one, else its entry in the list."""
    trigger_times: dict[int, datetime] = {}
    detailed = set()
    for checkpoint_id, answer in reading.details.items():
        found = results.parse(checkpoints.checkpoint, answer, reading.job_id, reading.flink_version)
        if found:
            results.add(answer, found)
            detailed.add((found.checkpoint_id, found.trigger_time, found.status))
            trigger_times[checkpoint_id] = found.trigger_time
    if reading.checkpoints:
        rows = reading.checkpoint_rows
        for row in listed_checkpoints(reading.checkpoints, reading.job_id, reading.flink_version) if rows is None else rows:
            if isinstance(row, Checkpoint):
                # Where an id repeats, the newest trigger time comes first.
                trigger_times.setdefault(row.checkpoint_id, row.trigger_time)
                if (row.checkpoint_id, row.trigger_time, row.status) in detailed:
                    continue
            results.add(reading.checkpoints, row)
    for checkpoint_id, answer in reading.details.items():
        if checkpoint_id in trigger_times:
            _add_vertices_of_detail(reading, checkpoint_id, trigger_times[checkpoint_id], answer, results)
    _add_subtasks(reading, trigger_times, results)


def _add_vertices_of_detail(reading: JobAnswers, checkpoint_id: int, trigger_time: datetime, answer: Answer, results: ParseResults) -> None:
    """Vertices without a subtask answer; where there is one it says the same and more."""
    parts = results.parse(checkpoint_details.vertex_parts, answer) or {}
    for vertex_id, task in results.each(parts.items(), answer):
        if (checkpoint_id, vertex_id) not in reading.subtasks:
            place = f"tasks.{vertex_id}"
            found = results.parse(
                checkpoint_details.vertex_checkpoint,
                answer, reading.job_id, checkpoint_id, trigger_time, vertex_id, place, body=task, place=place,
            )  # fmt: skip
            results.add(answer, found)


def _add_subtasks(reading: JobAnswers, trigger_times: dict[int, datetime], results: ParseResults) -> None:
    for (checkpoint_id, vertex_id), answer in reading.subtasks.items():
        at = trigger_times.get(checkpoint_id)
        if at is None:
            results.skip(answer, "", f"checkpoint {checkpoint_id}: neither its detail nor the list has its trigger time")
        else:
            parser = checkpoint_details.vertex_checkpoint
            results.add(answer, results.parse(parser, answer, reading.job_id, checkpoint_id, at, vertex_id))
