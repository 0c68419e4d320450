"""What file merging (1.20 and later) would make of a checkpoint: a file for each TaskManager, one
for each subtask whose state is incremental, and one more for who finds all open ones in use.
"""

import numpy as np

from spark_jobs.filesystem_calls.checkpoint_files import KEPT, NOT_IN_FILE, CheckpointFiles

THREADS = 4
"""``state.backend.rocksdb.checkpoint.transfer.thread.num`` where nobody set it."""
LARGEST_FILE_BYTES = 32 << 20
"""``execution.checkpointing.file-merging.max-file-size`` where nobody set it."""


def most_merged_files(
    files: CheckpointFiles, threads: int = THREADS, largest_file_bytes: int = LARGEST_FILE_BYTES
) -> int:
    """Files that a checkpoint would write at most beside its ``_metadata``: all that upload at once
    open one each. Streams of which it is not known whether this checkpoint wrote them count as
    written. Inline ones of tasks go into files, too.
    """
    mine = (files.subtask != NOT_IN_FILE) & (files.written != KEPT)
    subtasks = int(files.subtask.max(initial=NOT_IN_FILE)) + 1
    incremental = mine & files.incremental
    streams = np.bincount(files.subtask[incremental], minlength=subtasks)
    sizes = np.bincount(files.subtask[incremental], files.bytes[incremental], minlength=subtasks)
    whole = np.minimum(np.maximum(-(-sizes // largest_file_bytes), 1), streams).astype(np.int64)
    others = len(np.unique(files.subtask[mine & ~files.incremental]))
    return int(np.maximum(np.minimum(streams, threads), whole).sum()) + others
