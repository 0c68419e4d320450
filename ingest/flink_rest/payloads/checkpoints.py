"""``/jobs/:id/checkpoints``: history, counters and the last restore."""

from typing import Any

from ingest.flink_rest.payloads.fields import Fields
from ingest.json_members import member
from ingest.records import Checkpoint

COUNTERS = {
    f"checkpoints_{name}": name
    for name in ("total", "completed", "failed", "in_progress", "restored")
}


def counts(body: Any) -> dict[str, int | None]:
    fields = Fields(body).object("counts")
    return {column: fields.whole(name) for column, name in COUNTERS.items()} if fields else {}


def restore(body: Any) -> dict[str, Any]:
    """The latest restore as columns of ``Job``; empty without one."""
    latest = Fields(body).object("latest")
    restored = latest.object("restored") if latest else None
    if restored is None:
        return {}
    return {
        "restored_checkpoint_id": restored.whole("id"),
        "restored_at": restored.instant("restore_timestamp"),
        "restored_is_savepoint": restored.flag("is_savepoint"),
        "restored_path": external_path(restored),
    }


def entries(body: Any) -> list[tuple[str, Any]]:
    """Checkpoint objects with their places: the history (ten), and latest ones that left it."""
    payload = Fields(body)
    items = payload.items("history")
    known = {_key_of(entry) for _, entry in items}
    latest = payload.object("latest")
    for kind in ("completed", "savepoint", "failed"):
        entry = latest.raw(kind) if latest else None
        if entry is not None and (key := _key_of(entry)) not in known:
            known.add(key)
            items.append((f"latest.{kind}", entry))
    return items


def summed(fields: Fields) -> dict[str, Any]:
    return {
        "end_to_end_ms": fields.duration_ms("end_to_end_duration"),
        "state_bytes": fields.whole("state_size"),
        "checkpointed_bytes": fields.whole("checkpointed_size"),
        "processed_bytes": fields.whole("processed_data"),
        "persisted_bytes": fields.whole("persisted_data"),
        "subtasks": fields.whole("num_subtasks"),
        "acknowledged": fields.whole("num_acknowledged_subtasks"),
    }


def checkpoint(
    entry: Any, job_id: str, flink_version: str | None = None, place: str = ""
) -> Checkpoint:
    fields = Fields(entry, place)
    return Checkpoint(
        job_id=job_id,
        checkpoint_id=fields.the_whole("id"),
        trigger_time=fields.the_instant("trigger_timestamp"),
        status=fields.the_text("status").upper(),
        is_savepoint=fields.flag("is_savepoint"),
        savepoint_format=fields.text("savepointFormat"),
        checkpoint_type=fields.text("checkpoint_type"),
        **summed(fields),
        external_path=external_path(fields),
        discarded=fields.flag("discarded"),
        failure_time=fields.instant("failure_timestamp"),
        failure_message=fields.text("failure_message"),
        flink_version=flink_version,
    )


def external_path(fields: Fields) -> str | None:
    path = fields.text("external_path")
    return path if path and not path.startswith("<") else None


def _key_of(entry: Any) -> tuple[Any, ...]:
    """Ids repeat if a fixed job id restarts; empty for objects that the parser will refuse."""
    key = (member(entry, "id"), member(entry, "trigger_timestamp"))
    return key if all(isinstance(part, int) for part in key) else ()
