from collections.abc import Callable
from datetime import datetime
from typing import Any

from ingest.errors import Skipped
from ingest.flink_ids import is_flink_id
from ingest.flink_rest.payloads.checkpoints import totals
from ingest.flink_rest.payloads.fields import Fields
from ingest.flink_rest.payloads.vertices import MAX_PARALLELISM, subtask_index
from ingest.records import VertexCheckpoint

SUBTASKS_PER_REPORTED = 64
"""Most elements of an array for each subtask in the answer. Flink lists pending subtasks, too:
short answers must not make long arrays.
"""


def vertex_parts(detail: Any) -> dict[str, Any]:
    tasks = Fields(detail).object("tasks")
    return {vertex_id: tasks.raw(vertex_id) for vertex_id in tasks.names()} if tasks else {}


def vertex_checkpoint(
    task: Any,
    job_id: str,
    checkpoint_id: int,
    trigger_time: datetime,
    vertex_id: str,
    place: str = "",
) -> VertexCheckpoint:
    fields = Fields(task, place)
    if not is_flink_id(vertex_id):
        raise Skipped(f"{place or 'answer'}: expected the id of a vertex, 32 hex digits")
    return VertexCheckpoint(
        job_id=job_id,
        checkpoint_id=checkpoint_id,
        trigger_time=trigger_time,
        vertex_id=vertex_id,
        status=fields.upper("status"),
        **totals(fields) | (_subtask_arrays(fields) if fields.raw("subtasks") is not None else {}),
    )


def _subtask_arrays(fields: Fields) -> dict[str, tuple[Any, ...]]:
    """Column → one element per subtask, ``None`` if the subtask did not acknowledge."""
    by_index = {subtask_index(subtask, "index"): subtask for subtask in fields.objects("subtasks")}
    length = max(
        [fields.integer("num_subtasks") or 0, *(index + 1 for index in by_index)], default=0
    )
    if length > MAX_PARALLELISM:
        raise Skipped(
            f"{fields.place or 'answer'}.num_subtasks: expected at most {MAX_PARALLELISM}, got "
            f"{length}"
        )
    if length > SUBTASKS_PER_REPORTED * (len(by_index) + 1):
        raise Skipped(
            f"{fields.place or 'answer'}.subtasks: expected about {length} of them, got "
            f"{len(by_index)}"
        )
    columns: dict[str, list[Any]] = {column: [None] * length for column in _READERS}
    for index, subtask in by_index.items():
        if (subtask.text("status") or "").startswith("pending"):
            continue
        for column, read in _READERS.items():
            columns[column][index] = read(subtask)
    return {column: tuple(values) for column, values in columns.items()}


def _nested(
    outer: str, inner: str, read: Callable[[Fields, str], int | None] = Fields.integer
) -> Callable[[Fields], int | None]:
    def read_nested(subtask: Fields) -> int | None:
        fields = subtask.object(outer)
        return read(fields, inner) if fields else None

    return read_nested


_READERS: dict[str, Callable[[Fields], Any]] = {
    "subtask_ack_time": lambda subtask: subtask.instant("ack_timestamp"),
    "subtask_end_to_end_ms": lambda subtask: subtask.duration_ms("end_to_end_duration"),
    "subtask_start_delay_ms": lambda subtask: subtask.duration_ms("start_delay"),
    "subtask_alignment_ms": _nested("alignment", "duration", Fields.duration_ms),
    "subtask_sync_ms": _nested("checkpoint", "sync", Fields.duration_ms),
    "subtask_async_ms": _nested("checkpoint", "async", Fields.duration_ms),
    "subtask_state_bytes": lambda subtask: subtask.integer("state_size"),
    "subtask_checkpointed_bytes": lambda subtask: subtask.integer("checkpointed_size"),
    "subtask_unaligned": lambda subtask: subtask.flag("unaligned_checkpoint"),
    "subtask_aborted": lambda subtask: subtask.flag("aborted"),
}
