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
    return {column: fields.integer(name) for column, name in COUNTERS.items()} if fields else {}


def restore(body: Any) -> dict[str, Any]:
    latest = Fields(body).object("latest")
    restored = latest.object("restored") if latest else None
    if restored is None:
        return {}
    return {
        "restored_checkpoint_id": restored.integer("id"),
        "restored_at": restored.instant("restore_timestamp"),
        "restored_is_savepoint": restored.flag("is_savepoint"),
        "restored_path": external_path(restored),
    }


def entries(body: Any) -> list[tuple[str, Any]]:
    """Places and objects of checkpoints: the history (ten), and the latest of each kind that it
    lacks.
    """
    payload = Fields(body)
    items = payload.items("history")
    keys = {_key_of(entry) for _, entry in items}
    latest = payload.object("latest")
    for kind in ("completed", "savepoint", "failed"):
        entry = latest.raw(kind) if latest else None
        if entry is not None and (key := _key_of(entry)) not in keys:
            keys.add(key)
            items.append((f"latest.{kind}", entry))
    return items


def totals(fields: Fields) -> dict[str, Any]:
    return {
        "end_to_end_ms": fields.duration_ms("end_to_end_duration"),
        "state_bytes": fields.integer("state_size"),
        "checkpointed_bytes": fields.integer("checkpointed_size"),
        "processed_bytes": fields.integer("processed_data"),
        "persisted_bytes": fields.integer("persisted_data"),
        "subtasks": fields.integer("num_subtasks"),
        "acknowledged": fields.integer("num_acknowledged_subtasks"),
    }


def checkpoint(
    entry: Any, job_id: str, flink_version: str | None = None, place: str = ""
) -> Checkpoint:
    fields = Fields(entry, place)
    return Checkpoint(
        job_id=job_id,
        checkpoint_id=fields.required_integer("id"),
        trigger_time=fields.required_instant("trigger_timestamp"),
        status=fields.required_text("status").upper(),
        is_savepoint=fields.flag("is_savepoint"),
        savepoint_format=fields.text("savepointFormat"),
        checkpoint_type=fields.text("checkpoint_type"),
        **totals(fields),
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
    """(id, trigger ms), since ids repeat if a job with a fixed id restarts. Empty for objects that
    the parser will refuse.
    """
    key = (member(entry, "id"), member(entry, "trigger_timestamp"))
    return key if all(isinstance(part, int) for part in key) else ()
