import re

from django.db.models import QuerySet

from webapp.storage.models import CheckpointStorage

_CHECKPOINT = re.compile(r"/chk-(\d+)/_metadata$")


def files_by_directory(checkpoints: "QuerySet[CheckpointStorage]") -> dict[str, float]:
    """Canonical job directory → files that a checkpoint writes on average, without ``_metadata``:
    the new files of the newest one, divided by the number of checkpoints since the previous
    retained one; all its files if there is no previous one.
    """
    newest: dict[str, tuple[int, float]] = {}
    names = ("metadata_path", "checkpoint_id", "files", "new_files", "previous_path")
    for path, checkpoint_id, files, new_files, previous_path in checkpoints.filter(
        is_savepoint=False
    ).values_list(*names):
        directory = _CHECKPOINT.sub("", path)
        previous = _CHECKPOINT.search(previous_path or "")
        steps = max((checkpoint_id or 0) - int(previous[1]), 1) if previous else 1
        if (checkpoint_id or 0) >= newest.get(directory, (-1, 0.0))[0]:
            written = files if new_files is None else new_files / steps
            newest[directory] = (checkpoint_id or 0, written)
    return {directory: written for directory, (_id, written) in newest.items()}
