"""The effect of another inline threshold (``execution.checkpointing.data-inline-threshold``): fewer
files, but more heap of the JobManager, which holds the handles and inline state of every retained
checkpoint.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spark_jobs.filesystem_calls.checkpoint_files import KEPT, NOT_IN_FILE, CheckpointFiles

DEFAULT_BYTES = 20_480
LARGEST_BYTES = 1 << 20
"""Flink takes no higher one."""
MOST_POINTS = 200


@dataclass(frozen=True)
class Inlined:
    """One threshold: files that a checkpoint writes besides its ``_metadata``, bytes of the
    ``_metadata``, bytes of state on the JobManager's heap.
    """

    threshold_bytes: int
    files: int
    metadata_bytes: int
    heap_bytes: int


def inlined(files: CheckpointFiles, retained: int) -> list[Inlined]:
    """Thresholds at which anything changes, ascending, at most ``MOST_POINTS``. Streams of unknown
    writer count as written. Empty if files are merged.
    """
    if files.merged.any() or not len(files.bytes):
        return []
    sizes = np.unique(files.bytes[files.bytes <= LARGEST_BYTES])
    if len(sizes) > MOST_POINTS:
        sizes = np.unique(np.quantile(sizes, np.linspace(0, 1, MOST_POINTS), method="nearest"))
    return [
        inlined_at(files, retained, int(size))
        for size in (0, *sizes.tolist())
        if size or 0 not in sizes
    ]


def inlined_at(files: CheckpointFiles, retained: int, threshold_bytes: int) -> Inlined:
    # A handle of the JobManager, such as a coordinator's, is inline at any size.
    of_task = (files.subtask != NOT_IN_FILE) | (files.file_of != NOT_IN_FILE)
    inline = ~of_task | (files.bytes <= threshold_bytes)
    written = files.written != KEPT
    in_metadata = int(files.bytes[inline].sum())
    return Inlined(
        threshold_bytes,
        int((~inline & written).sum()),
        files.metadata_bytes - files.inline_bytes + in_metadata,
        int(files.bytes[inline & written].sum()) * (retained + 1)
        + int(files.bytes[inline & ~written].sum()),
    )


def knee(curve: Sequence[Inlined]) -> Inlined | None:
    """The best trade-off: the point farthest below the straight line from the first to the last
    point, on axes from 0 to 1. None if there is none, such as if all thresholds write equally many
    files.
    """
    if len(curve) < 3:
        return None
    heap, count = (
        np.array([getattr(point, name) for point in curve], float)
        for name in ("heap_bytes", "files")
    )
    if heap[-1] == heap[0] or count[0] == count[-1]:
        return None
    below = (
        1 - (heap - heap[0]) / (heap[-1] - heap[0]) - (count - count[-1]) / (count[0] - count[-1])
    )
    best = int(below.argmax())
    return curve[best] if below[best] > 0 else None


THREADS = 4
"""``state.backend.rocksdb.checkpoint.transfer.thread.num`` if nobody set it."""
LARGEST_FILE_BYTES = 32 << 20
"""``execution.checkpointing.file-merging.max-file-size`` if nobody set it."""


def most_merged_files(
    files: CheckpointFiles, threads: int = THREADS, largest_file_bytes: int = LARGEST_FILE_BYTES
) -> int:
    """The most files that a checkpoint with file merging would write besides its ``_metadata``: one
    for each concurrent upload. Streams of unknown writer count as written. Inline state of tasks
    also goes into files.
    """
    mine = (files.subtask != NOT_IN_FILE) & (files.written != KEPT)
    subtasks = int(files.subtask.max(initial=NOT_IN_FILE)) + 1
    incremental = mine & files.incremental
    streams = np.bincount(files.subtask[incremental], minlength=subtasks)
    sizes = np.bincount(files.subtask[incremental], files.bytes[incremental], minlength=subtasks)
    whole = np.minimum(np.maximum(-(-sizes // largest_file_bytes), 1), streams).astype(np.int64)
    others = len(np.unique(files.subtask[mine & ~files.incremental]))
    return int(np.maximum(np.minimum(streams, threads), whole).sum()) + others
