"""Kinds of log events by how much they say."""

ROUTINE_KINDS = (
    "task_received",
    "task_deployed",
    "task_state",
    "task_final_state",
    "task_cancel_requested",
    "state_restore_started",
    "state_restore_finished",
    "checkpoint_requested",
    "checkpoint_acknowledged",
    "checkpoint_sync_started",
    "checkpoint_sync_done",
    "checkpoint_async_started",
    "checkpoint_async_done",
    "backend_sync_done",
    "backend_async_done",
    "barriers_aligned",
    "blob_download",
    "changelog_idle",
)
"""What a healthy job logs for every subtask; shown when asked for."""
