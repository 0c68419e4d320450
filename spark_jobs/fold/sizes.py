"""The full and the uploaded size of a checkpoint. Before Flink 1.15, only the uploaded size is
reported: a part of an incremental checkpoint, all of a savepoint.
"""

from typing import Any, NamedTuple

from ingest.flink_rest.versions import release
from spark_jobs.diagnosis.checkpoint_history import INCREMENTAL_SIZE_SINCE
from spark_jobs.fold.checkpoint_log import CheckpointLog
from spark_jobs.fold.rows import Row

_HEAP = ("hashmap", "memory", "fsstatebackend")
"""Names of backends that write their whole state into every checkpoint."""


class Sizes(NamedTuple):
    full: int | None
    uploaded: int | None


def sizes(
    figures: Row, logged: CheckpointLog, is_savepoint: bool | None, writing: "Writing"
) -> Sizes:
    is_whole = bool(is_savepoint) or writing.writes_everything
    if figures["checkpointed_bytes"] is not None or figures["state_bytes"] is not None:
        return sizes_in_rest(
            figures["state_bytes"], figures["checkpointed_bytes"], is_whole=is_whole
        )
    if writing.version is None:
        is_old = logged.completed_as_before_1_14
    else:
        is_old = writing.version < INCREMENTAL_SIZE_SINCE
    if is_old:
        return sizes_in_rest(logged.completed_bytes, None, is_whole=is_whole)
    return Sizes(logged.completed_bytes, None)


def sizes_in_rest(
    state_bytes: int | None, checkpointed_bytes: int | None, *, is_whole: bool = False
) -> Sizes:
    """``is_whole``: the whole state was written, so a single size is also the full size."""
    if checkpointed_bytes is not None:
        return Sizes(state_bytes, checkpointed_bytes)
    return Sizes(state_bytes if is_whole else None, state_bytes)


class Writing(NamedTuple):
    """``version``: of Flink. ``writes_everything``: every checkpoint writes the whole state."""

    version: tuple[int, ...] | None = None
    writes_everything: bool = False

    @property
    def may_lack_full_size(self) -> bool:
        return not self.writes_everything and (
            self.version is None or self.version < INCREMENTAL_SIZE_SINCE
        )

    @classmethod
    def of(cls, flink_version: str | None, state_backend: Any) -> "Writing":
        return cls(
            release(flink_version), any(name in str(state_backend or "").lower() for name in _HEAP)
        )
