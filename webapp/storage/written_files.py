"""How many files a checkpoint of a job writes, as an audit saw its newest ones."""

import re

from django.db.models import QuerySet

from webapp.storage.models import CheckpointStorage

_CHECKPOINT = re.compile(r"/chk-(\d+)/_metadata$")


def files_by_job(checkpoints: "QuerySet[CheckpointStorage]") -> dict[tuple[str, str], float]:
    """By (cluster, job id), beside its ``_metadata``: what is new in its newest checkpoint against the retained one before, shared
    over the checkpoints between; all that it refers to where there is none before.
    """
    found: dict[tuple[str, str], tuple[int, float]] = {}
    names = ("cluster", "job_id", "checkpoint_id", "files", "new_files", "previous_path")
    for cluster, job_id, checkpoint, files, new, before in checkpoints.filter(is_savepoint=False).values_list(*names):
        earlier = _CHECKPOINT.search(before or "")
        between = max((checkpoint or 0) - int(earlier[1]), 1) if earlier else 1
        if (checkpoint or 0) >= found.get((cluster, job_id), (-1, 0.0))[0]:
            found[cluster, job_id] = (checkpoint or 0, files if new is None else new / between)
    return {job: files for job, (_checkpoint, files) in found.items()}
