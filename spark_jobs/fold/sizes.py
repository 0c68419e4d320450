"""Full size and uploaded size of a checkpoint, each unknown where its release or its source does not tell it.

From Flink 1.15 on REST tells both, and the log the full one. Before, both tell one size, and that is the uploaded one: of an
incremental checkpoint a part of the state, of a savepoint and with a state backend that always writes everything the whole.
"""

from typing import Any, NamedTuple

from ingest.flink_rest.versions import release
from spark_jobs.diagnosis.checkpoint_history import INCREMENTAL_SIZE_SINCE
from spark_jobs.fold.checkpoint_log import CheckpointLog
from spark_jobs.fold.rows import Row

_HEAP = ("hashmap", "memory", "fsstatebackend")
"""In the names of backends that write their whole state into every checkpoint."""


class Sizes(NamedTuple):
    """In bytes; None is unknown."""

    full: int | None
    uploaded: int | None


def sizes(figures: Row, said: CheckpointLog, is_savepoint: bool | None, job: "Writing") -> Sizes:
    """``figures``: what REST reported last."""
    if figures["checkpointed_bytes"] is not None:
        return Sizes(figures["state_bytes"], figures["checkpointed_bytes"])
    size = figures["state_bytes"]
    if size is None:
        size = said.completed_bytes
        if not (said.completed_as_before_1_14 if job.version is None else job.version < INCREMENTAL_SIZE_SINCE):
            return Sizes(size, None)
    return Sizes(size if is_savepoint or job.writes_everything else None, size)


class Writing(NamedTuple):
    """What a job's sizes mean depends on its release, None where that is not known, and on its state backend."""

    version: tuple[int, int] | None = None
    writes_everything: bool = False

    @classmethod
    def of(cls, flink_version: str | None, state_backend: Any) -> "Writing":
        return cls(release(flink_version), any(name in str(state_backend or "").lower() for name in _HEAP))
