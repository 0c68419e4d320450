"""How many files fewer a checkpoint would write with another inline threshold
(``execution.checkpointing.data-inline-threshold``), which takes heap of the JobManager for every
retained checkpoint, or with merged files. Streams of unknown writer count as written.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spark_jobs.filesystem_calls.checkpoint_files import KEPT, NO_SUBTASK, Streams

DEFAULT_BYTES = 20_480
LARGEST_BYTES = 1 << 20
"""Flink takes no higher one."""
MOST_POINTS = 200


@dataclass(frozen=True)
class Inlined:
    """One threshold: files that a checkpoint writes besides its ``_metadata``, bytes of state on
    the JobManager's heap.
    """

    threshold_bytes: int
    files: int
    heap_bytes: int


def inlined(streams: Streams, retained: int) -> list[Inlined]:
    """Thresholds at which anything changes, ascending, at most ``MOST_POINTS``. Empty if files are
    merged.
    """
    if streams["merged"].any() or not len(streams):
        return []
    sizes = np.unique(streams["bytes"][streams["bytes"] <= LARGEST_BYTES])
    if len(sizes) > MOST_POINTS:
        sizes = np.unique(np.quantile(sizes, np.linspace(0, 1, MOST_POINTS), method="nearest"))
    return [inlined_at(streams, retained, int(size)) for size in np.union1d([0], sizes)]


def inlined_at(streams: Streams, retained: int, threshold_bytes: int) -> Inlined:
    # A handle of the JobManager, such as a coordinator's, is inline at any size.
    of_task = (streams["subtask"] != NO_SUBTASK) | streams["in_file"]
    inline = ~of_task | (streams["bytes"] <= threshold_bytes)
    written = streams["written"] != KEPT
    return Inlined(
        threshold_bytes,
        int((~inline & written).sum()),
        int(streams["bytes"][inline & written].sum()) * (retained + 1)
        + int(streams["bytes"][inline & ~written].sum()),
    )


def knee(curve: Sequence[Inlined]) -> Inlined | None:
    """The best trade-off: the point farthest below the straight line from the first to the last
    point, on axes from 0 to 1. None if there is none, such as if all thresholds write equally many
    files.
    """
    if len(curve) < 3:
        return None
    heap = np.array([point.heap_bytes for point in curve], float)
    count = np.array([point.files for point in curve], float)
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
    streams: Streams, threads: int = THREADS, largest_file_bytes: int = LARGEST_FILE_BYTES
) -> int:
    """The most files that a checkpoint with file merging would write besides its ``_metadata``: one
    for each concurrent upload. Inline state of tasks also goes into files.
    """
    mine = streams[(streams["subtask"] != NO_SUBTASK) & (streams["written"] != KEPT)]
    incremental = mine[mine["incremental"]]
    uploads = np.bincount(incremental["subtask"])
    sizes = np.bincount(incremental["subtask"], incremental["bytes"])
    whole = np.minimum(np.maximum(-(-sizes // largest_file_bytes), 1), uploads).astype(np.int64)
    others = len(np.unique(mine["subtask"][~mine["incremental"]]))
    return int(np.maximum(np.minimum(uploads, threads), whole).sum()) + others
