"""The ``checkpoints`` and ``vertex_checkpoints`` rows of a reading."""

from datetime import datetime

from ingest.flink_rest.answers import Answer, JobAnswers
from ingest.flink_rest.parse_results import ParseResults
from ingest.flink_rest.payloads import checkpoint_details, checkpoints
from ingest.records import Checkpoint


def add_checkpoints(reading: JobAnswers, results: ParseResults) -> None:
    """Each checkpoint once per status: the detail answer where there is one, else its entry in the list."""
    detailed = {checkpoint_id: _detailed(reading, checkpoint_id, answer, results) for checkpoint_id, answer in reading.details.items()}
    told = {(found.checkpoint_id, found.trigger_time, found.status) for found in detailed.values() if found}
    trigger_times = {checkpoint_id: found.trigger_time for checkpoint_id, found in detailed.items() if found}
    for found in _listed(reading, results):
        trigger_times.setdefault(found.checkpoint_id, found.trigger_time)
        if reading.checkpoints and (found.checkpoint_id, found.trigger_time, found.status) not in told:
            results.add(reading.checkpoints, found)
    for checkpoint_id, answer in reading.details.items():
        if checkpoint_id in trigger_times:
            _add_vertices_of_detail(reading, checkpoint_id, trigger_times[checkpoint_id], answer, results)
    _add_subtasks(reading, trigger_times, results)


def _detailed(reading: JobAnswers, checkpoint_id: int, answer: Answer, results: ParseResults) -> Checkpoint | None:
    found = results.parse(checkpoints.checkpoint, answer, reading.job_id, reading.flink_version)
    if found:
        results.add(answer, found)
    return found


def _listed(reading: JobAnswers, results: ParseResults) -> list[Checkpoint]:
    """Newest first, as Flink lists them: where an id repeats, the newest trigger time is met first."""
    answer = reading.checkpoints
    if answer is None:
        return []
    found = []
    for place, entry in results.each(results.parse(checkpoints.entries, answer), answer):
        parsed = results.parse(checkpoints.checkpoint, answer, reading.job_id, reading.flink_version, place, body=entry, place=place)
        if parsed:
            found.append(parsed)
    return found


def _add_vertices_of_detail(reading: JobAnswers, checkpoint_id: int, trigger_time: datetime, answer: Answer, results: ParseResults) -> None:
    """Vertices without a subtask answer; where there is one it says the same and more."""
    parts = results.parse(checkpoint_details.vertex_parts, answer) or ()
    for place, (vertex_id, task) in results.each(((place, (vertex_id, task)) for vertex_id, place, task in parts), answer):
        if (checkpoint_id, vertex_id) in reading.subtasks:
            continue
        found = results.parse(
            checkpoint_details.vertex_checkpoint,
            answer, reading.job_id, checkpoint_id, trigger_time, vertex_id, place, body=task, place=place,
        )  # fmt: skip
        if found:
            results.add(answer, found)


def _add_subtasks(reading: JobAnswers, trigger_times: dict[int, datetime], results: ParseResults) -> None:
    for (checkpoint_id, vertex_id), answer in reading.subtasks.items():
        if checkpoint_id not in trigger_times:
            results.skip(answer, "", f"checkpoint {checkpoint_id}: neither its detail nor the list has its trigger time")
            continue
        found = results.parse(
            checkpoint_details.vertex_checkpoint, answer, reading.job_id, checkpoint_id, trigger_times[checkpoint_id], vertex_id
        )
        if found:
            results.add(answer, found)
