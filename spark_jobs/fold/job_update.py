from collections.abc import Sequence
from dataclasses import dataclass

from spark_jobs.fold.rows import Row


@dataclass(frozen=True)
class JobUpdate:
    """New rows of a job. ``answers``: of the lake table ``jobs``. ``executions``: attempts whose
    task and host are now known. ``snapshots``: ``owner_id`` is the job of the directory.
    ``has_older_snapshots``: the lake may have more. ``looked_up_span``: first and last trigger
    (epoch ms) of looked-up checkpoints, or None. ``earlier_…``: looked-up rows.
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
    has_older_snapshots: bool = False
    looked_up_span: tuple[int, int] | None = None
    earlier_checkpoints: Sequence[Row] = ()
    earlier_vertex_checkpoints: Sequence[Row] = ()
    earlier_lines: Sequence[Row] = ()
    earlier_snapshots: Sequence[Row] = ()
