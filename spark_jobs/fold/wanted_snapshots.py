"""Keys of snapshots that a job needs: a directory, or the id of a job for all files in its
directory. The reader of a ``_metadata`` knows neither the cluster nor, for a savepoint, the job.
"""

from spark_jobs.fold.checkpoints import NO_CHECKPOINTS, Lookup
from spark_jobs.fold.job_update import JobUpdate
from spark_jobs.fold.older_facts import is_completed_checkpoint
from spark_jobs.fold.rows import RowList, Rows
from spark_jobs.fold.sizes import Writing
from spark_jobs.fold.snapshots import directory_of, types_of, untyped
from spark_jobs.fold.state import JobState


def wanted_keys(
    job_id: str, state: JobState, checkpoints: Rows, writing: Writing
) -> tuple[str, ...]:
    """Keys of snapshots of which the job needs the full size, or the type if it was restored from
    an unusual directory. ``checkpoints``: facts or answers of REST.
    """
    of_restores = untyped(_restored_paths(state)) - types_of(state.snapshots).keys()
    return tuple(
        sorted(
            of_restores
            | (_checkpoint_keys(job_id, checkpoints) if writing.may_lack_full_size else set())
        )
    )


def snapshot_lookup(
    update: JobUpdate, before: JobState, state: JobState, facts: RowList, writing: Writing
) -> Lookup | None:
    if not update.has_older_snapshots or update.looked_up_span is not None:
        return None
    keys = untyped(_restored_paths(update))
    if keys:
        keys -= untyped(_restored_paths(before)) | types_of(state.snapshots).keys()
    is_new = not (before.answers or before.events or before.facts)
    if (
        is_new
        and writing.may_lack_full_size
        and any(is_completed_checkpoint(fact) and fact["state_bytes"] is None for fact in facts)
    ):
        keys |= _checkpoint_keys(update.job_id, facts)
    return Lookup(*NO_CHECKPOINTS, tuple(sorted(keys))) if keys else None


def _restored_paths(reported: JobState | JobUpdate) -> set[str | None]:
    return {
        *(answer["restored_path"] for answer in reported.answers),
        *(event["path"] for event in reported.events if event["kind"] == "restored"),
    }


def _checkpoint_keys(job_id: str, checkpoints: Rows) -> set[str]:
    paths = [
        (row["trigger_time"], row["external_path"])
        for row in checkpoints
        if row["external_path"] and not row["is_savepoint"]
    ]
    newest = directory_of(max(paths)[1]) if paths else None
    return {job_id} if newest is None else {job_id, newest.rpartition("/")[0]}
