"""What is new of one job, as plain rows."""

from collections.abc import Sequence
from dataclasses import dataclass

from spark_jobs.fold.rows import Row


@dataclass(frozen=True)
class JobUpdate:
    """Rows of one job that came since the last run. ``executions``: attempts of subtasks whose task
    and host are known since. ``found``: first and last trigger (epoch ms) whose checkpoints' rows
    were looked up in the lake; ``found_…`` are these rows. ``snapshots``: with ``owner_id`` for the
    job whose directory the file lies in; ``older_snapshots``: the lake may have others, read
    before.
    """

    cluster: str
    job_id: str
    answers: Sequence[Row] = ()
    checkpoints: Sequence[Row] = ()
    vertex_checkpoints: Sequence[Row] = ()
    events: Sequence[Row] = ()
    exceptions: Sequence[Row] = ()
    placements: Sequence[Row] = ()
    vertex_starts: Sequence[Row] = ()
    vertex_gauges: Sequence[Row] = ()
    vertex_windows: Sequence[Row] = ()
    pressure: Sequence[Row] = ()
    uploads: Sequence[Row] = ()
    executions: Sequence[Row] = ()
    taskmanager_losses: Sequence[Row] = ()
    taskmanagers: Sequence[Row] = ()
    snapshots: Sequence[Row] = ()
    older_snapshots: bool = False
    found: tuple[int, int] | None = None
    found_checkpoints: Sequence[Row] = ()
    found_vertex_checkpoints: Sequence[Row] = ()
    found_lines: Sequence[Row] = ()
    found_snapshots: Sequence[Row] = ()
