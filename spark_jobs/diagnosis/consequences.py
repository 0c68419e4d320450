"""Which rules' findings follow from which: cause → consequences. ``Tie``: both findings are about
one vertex (``vertex``), name one cause of failures (``cause``), or are of one job at one time
(``job``).
"""

from collections.abc import Mapping
from functools import cache
from typing import Literal

Tie = Literal["vertex", "job", "cause"]

_HELD_BARRIERS: dict[str, Tie] = {
    "checkpoint.start_delay": "vertex",
    "checkpoint.alignment": "vertex",
    "checkpoint.expired": "vertex",
}
_HOT_SUBTASK: dict[str, Tie] = {
    "pressure.skew": "vertex",
    "pressure.root": "vertex",
    "checkpoint.sync": "vertex",
    "checkpoint.async": "vertex",
    **_HELD_BARRIERS,
}
_LOST_CHECKPOINTS: dict[str, Tie] = {"checkpoint.stalled": "job", "sink.transaction_timeout": "job"}
_SLOW_PHASE: dict[str, Tie] = {
    "checkpoint.expired": "vertex",
    "checkpoint.stalled": "job",
    "checkpoint.too_frequent": "job",
}

CONSEQUENCES: Mapping[str, Mapping[str, Tie]] = {
    # Other problems of the ``job`` may have other causes than its bucket.
    "store.faults": {
        "checkpoint.declined": "cause",
        "checkpoint.failed": "cause",
        "restart.loop": "cause",
        "job.failed": "cause",
    },
    # One subtask has most records: it is busy, blocks others, and writes the most state.
    "data.skew": _HOT_SUBTASK,
    "pressure.skew": {"pressure.root": "vertex", **_HELD_BARRIERS},
    "rocksdb.write_stall": _HOT_SUBTASK,
    # Barriers come no faster than the records before them.
    "pressure.root": {"checkpoint.stalled": "job", "source.lag_growing": "job", **_HELD_BARRIERS},
    "pressure.outbound": {"source.lag_growing": "job", **_HELD_BARRIERS},
    "checkpoint.start_delay": _SLOW_PHASE,
    "checkpoint.alignment": _SLOW_PHASE,
    "checkpoint.sync": _SLOW_PHASE,
    "checkpoint.async": _SLOW_PHASE,
    "checkpoint.expired": _LOST_CHECKPOINTS,
    "checkpoint.declined": _LOST_CHECKPOINTS,
    "checkpoint.failed": _LOST_CHECKPOINTS,
    "checkpoint.stalled": {"sink.transaction_timeout": "job", "replication.lag": "job"},
    # A restart drops pending checkpoints, leaves transactions open, and loads user classes again.
    "restart.loop": {
        "checkpoint.failed": "job",
        "start.slow_phase": "job",
        "memory.step_after_restart": "job",
        "job.failed": "job",
        **_LOST_CHECKPOINTS,
    },
    "restart.taskmanager_lost": {"checkpoint.failed": "job", "checkpoint.stalled": "job"},
    "storage.missing_reference": {"restore.missing_file": "job", "checkpoint.unprotected": "job"},
    "restore.missing_file": {
        "restart.loop": "job",
        "job.failed": "job",
        "jobmanager.crash_loop": "job",
        "checkpoint.failed": "job",
        "checkpoint.stalled": "job",
    },
    "start.workers_lost": {"restart.loop": "job", "job.failed": "job", "checkpoint.stalled": "job"},
    "jobmanager.crash_loop": {"job.failed": "job", "checkpoint.stalled": "job"},
    "source.idle": {"source.lag_growing": "vertex", "watermark.stalled": "job"},
    # Windows and joins keep records that wait for event time.
    "watermark.stalled": {"checkpoint.size_growth": "job"},
}


@cache
def all_consequences(cause: str) -> frozenset[str]:
    """Includes indirect consequences."""
    direct = CONSEQUENCES.get(cause, {})
    return frozenset(direct).union(*map(all_consequences, direct))
