from dataclasses import dataclass

from spark_jobs.fold.rows import RowList


@dataclass(frozen=True)
class JobUpdate:
    """New rows of a job. ``answers``: of the lake table ``jobs``. ``executions``: attempts whose
    task and host are now known. ``snapshots``: ``owner_id`` is the job of the directory.
    ``has_older_snapshots``: the lake may have more. ``looked_up_span``: first and last trigger
    (epoch ms) of looked-up checkpoints, or None. ``earlier_…``: looked-up rows.
    """

    cluster: str
    job_id: str
    answers: RowList = ()
    checkpoints: RowList = ()
    vertex_checkpoints: RowList = ()
    events: RowList = ()
    exceptions: RowList = ()
    placements: RowList = ()
    vertex_starts: RowList = ()
    vertex_gauges: RowList = ()
    vertex_windows: RowList = ()
    pressure: RowList = ()
    uploads: RowList = ()
    executions: RowList = ()
    taskmanager_losses: RowList = ()
    taskmanagers: RowList = ()
    snapshots: RowList = ()
    has_older_snapshots: bool = False
    looked_up_span: tuple[int, int] | None = None
    earlier_checkpoints: RowList = ()
    earlier_vertex_checkpoints: RowList = ()
    earlier_lines: RowList = ()
    earlier_snapshots: RowList = ()
