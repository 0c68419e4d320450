"""Number of files that a job's checkpoint writes, by its newest checkpoints in an audit."""

import re

from django.db.models import QuerySet

from webapp.storage.models import CheckpointStorage

_CHECKPOINT = re.compile(r"/chk-(\d+)/_metadata$")


def files_by_directory(checkpoints: "QuerySet[CheckpointStorage]") -> dict[str, float]:
    """By canonical job directory, without ``_metadata``: new files of its newest checkpoint against
    the retained one before, divided by the checkpoints between; all files without one before.
    """
    counts_by_directory: dict[str, tuple[int, float]] = {}
    names = ("metadata_path", "checkpoint_id", "files", "new_files", "previous_path")
    for path, checkpoint, files, new, before in checkpoints.filter(is_savepoint=False).values_list(
        *names
    ):
        directory = _CHECKPOINT.sub("", path)
        earlier = _CHECKPOINT.search(before or "")
        between = max((checkpoint or 0) - int(earlier[1]), 1) if earlier else 1
        if (checkpoint or 0) >= counts_by_directory.get(directory, (-1, 0.0))[0]:
            counts_by_directory[directory] = (
                checkpoint or 0,
                files if new is None else new / between,
            )
    return {directory: files for directory, (_checkpoint, files) in counts_by_directory.items()}
