from spark_jobs.fold.annotations import annotations
from spark_jobs.fold.older_facts import is_completed_checkpoint
from spark_jobs.fold.rows import Row, Rows, rank
from spark_jobs.fold.snapshots import directory_of
from spark_jobs.fold.state import JobState


def comparisons(facts: Rows, state: JobState) -> list[Row]:
    """``COMPARISON`` rows: a checkpoint and the previous completed checkpoint, or the snapshot
    restored in between.
    """
    completed = [
        (fact["trigger_time"], fact["checkpoint_id"], directory)
        for fact in facts
        if is_completed_checkpoint(fact) and (directory := directory_of(fact["external_path"]))
    ]
    restores = [
        (annotation["at"], None, directory)
        for annotation in annotations(state.answers, (), state.events)
        if annotation["kind"] == "restore"
        and (directory := directory_of((annotation["detail"] or {}).get("path")))
    ]
    rows, latest = [], None
    # At one instant the restore comes first.
    for at, checkpoint_id, directory in sorted([*completed, *restores], key=rank):
        if checkpoint_id is not None and latest is not None:
            rows.append(
                {
                    "checkpoint_id": checkpoint_id,
                    "trigger_time": at,
                    "directory": directory,
                    "compared_with": latest,
                }
            )
        latest = directory
    return rows
