from collections.abc import Callable, Sequence

from ingest.job_states import NOT_LISTED, TERMINAL_STATES
from spark_jobs.fold.rows import Row, RowList, first_known, largest, least, rank

RESTORE = ("restored_at", "restored_checkpoint_id", "restored_is_savepoint", "restored_path")

# Lake column → name within the JSON of ``checkpoint_config``.
_CHECKPOINT_CONFIG = {
    "checkpointing_mode": "mode",
    "checkpoint_interval_ms": "interval_ms",
    "checkpoint_timeout_ms": "timeout_ms",
    "min_pause_ms": "min_pause_ms",
    "max_concurrent_checkpoints": "max_concurrent",
    "unaligned_checkpoints": "unaligned",
    "aligned_checkpoint_timeout_ms": "aligned_timeout_ms",
    "tolerable_failed_checkpoints": "tolerable_failed",
    "externalized": "externalized",
    "retained_on_cancellation": "retained_on_cancellation",
    "state_backend": "state_backend",
    "checkpoint_storage": "checkpoint_storage",
    "changelog_enabled": "changelog_enabled",
}
_COUNTS = {
    f"checkpoints_{name}": name
    for name in ("total", "completed", "failed", "in_progress", "restored")
}
_VERTEX_FIELDS = ("vertex_id", "name", "parallelism", "status", "max_parallelism")
_SINGLE_VALUES = ("name", "start_time", "restarts", "flink_version", "parallelism")


def job_reported(jobs: RowList) -> Row:
    """Each value is of the newest answer that has it. Values that belong together (state and end, a
    restore, the checkpoint settings, Flink's counters) are of one answer.
    """
    ended = [row["observed_at"] for row in jobs if row["state"] in TERMINAL_STATES]
    listed = [row for row in jobs if row["state"] != NOT_LISTED]
    state = _newest(
        jobs,
        ("state", "end_time", "observed_at"),
        # NOT_LISTED does not count if another answer, as of a History Server, has the end.
        lambda row: (
            row["state"] is not None
            and not (
                row["state"] == NOT_LISTED and any(at >= (row["end_time"] or 0) for at in ended)
            )
        ),
    )
    restore = _newest(jobs, RESTORE, lambda row: row["restored_at"] is not None)
    settings = _newest(
        jobs,
        tuple(_CHECKPOINT_CONFIG),
        lambda row: (
            first_known(row["checkpointing_mode"], row["checkpoint_storage"], row["state_backend"])
            is not None
        ),
    )
    counts = _newest(jobs, ("observed_at", *_COUNTS), _has("checkpoints_total"))
    # A new job is reported with an empty plan.
    plan = _newest(jobs, ("vertices", "edges", "slot_sharing"), lambda row: bool(row["vertices"]))
    configuration = _newest(jobs, ("configuration",), lambda row: bool(row["configuration"]))
    return {
        **{name: _newest(jobs, (name,), _has(name)).get(name) for name in _SINGLE_VALUES},
        "state": state.get("state"),
        "state_at": state.get("observed_at"),
        "end_time": state.get("end_time"),
        "vertex_count": len(plan["vertices"]) if plan else None,
        "graph": _graph(plan),
        "checkpoint_config": {name: settings[column] for column, name in _CHECKPOINT_CONFIG.items()}
        if settings
        else None,
        "configuration": _last_of_each_key(configuration["configuration"])
        if configuration
        else None,
        "checkpoint_interval_ms": settings.get("checkpoint_interval_ms"),
        "checkpoint_timeout_ms": settings.get("checkpoint_timeout_ms"),
        **{name: restore.get(name) for name in RESTORE},
        "flink_counts": {
            "at": counts["observed_at"],
            **{name: counts[column] for column, name in _COUNTS.items()},
        }
        if counts
        else None,
        "first_seen_at": least(*(row["observed_at"] for row in jobs)),
        "last_seen_at": largest(*(row["observed_at"] for row in listed)),
        "as_of": largest(*(row["observed_at"] for row in jobs)),
    }


def _has(name: str) -> Callable[[Row], bool]:
    return lambda row: row[name] is not None


def _newest(jobs: RowList, names: Sequence[str], is_valid: Callable[[Row], bool]) -> Row:
    """Columns ``names`` of the newest row that ``is_valid``, or {}."""
    valid = [row for row in jobs if is_valid(row)]
    if not valid:
        return {}
    newest = max((row["observed_at"], row["commit_seq"] or 0) for row in valid)
    tied = [row for row in valid if (row["observed_at"], row["commit_seq"] or 0) == newest]
    row = (
        tied[0]
        if len(tied) == 1
        else max(tied, key=lambda entry: [rank(entry.get(name)) for name in names])
    )
    # Rows of an earlier version of Weir lack new columns.
    return {name: row.get(name) for name in names}


def _graph(plan: Row) -> Row | None:
    if not plan:
        return None
    groups = {
        vertex["vertex_id"]: vertex["slot_sharing_group_id"]
        for vertex in plan["slot_sharing"] or ()
    }
    return {
        "vertices": [
            {
                **{name: vertex.get(name) for name in _VERTEX_FIELDS},
                "slot_sharing_group_id": groups.get(vertex["vertex_id"]),
            }
            for vertex in plan["vertices"]
        ],
        "edges": [
            {
                "source": edge["source_vertex_id"],
                "target": edge["target_vertex_id"],
                "ship_strategy": edge["ship_strategy"],
            }
            for edge in plan["edges"] or ()
        ],
    }


def _last_of_each_key(settings: RowList) -> dict[str, str | None]:
    return {
        setting["key"]: setting["value"]
        for setting in sorted(settings, key=rank)
        if setting["key"] is not None
    }
