"""How much of its state each checkpoint uploaded, and which come right after a savepoint. From 1.15
on REST reports the full size and the uploaded one; before, an incremental checkpoint reports its
upload alone, and the full size is that of the newest savepoint or of the files of its `_metadata`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from spark_jobs.diagnosis.checkpoint_history import INCREMENTAL_SIZE_SINCE, by_time
from spark_jobs.diagnosis.samples import CheckpointSample, JobWindow, UploadedFiles

BREAKS = frozenset({"restore", "restart", "rescale", "deploy"})
"""After these, the first upload has reasons of its own."""


@dataclass(frozen=True, slots=True)
class Upload:
    """One completed checkpoint. ``savepoint``: the last one between its predecessor and its
    trigger. ``ratio``: uploaded over full. ``follows_break``: the first one ever, or after a
    restore, restart or rescaling. ``one_size``: the full size is the savepoint's, or that of its
    files.
    """

    checkpoint: CheckpointSample
    uploaded_bytes: int | None
    full_bytes: int | None
    savepoint: CheckpointSample | None
    follows_break: bool
    one_size: bool

    @property
    def ratio(self) -> float | None:
        return (
            self.uploaded_bytes / self.full_bytes
            if self.uploaded_bytes is not None and self.full_bytes
            else None
        )


def uploads_of(window: JobWindow) -> list[Upload]:
    done = sorted(
        (checkpoint for checkpoint in window.checkpoints if checkpoint.outcome == "completed"),
        key=by_time,
    )
    savepoints = [sample for sample in done if sample.is_savepoint]
    one_size = _reports_one_size(window, done)
    breaks = [annotation.at_ms for annotation in window.annotations if annotation.kind in BREAKS]
    uploads: list[Upload] = []
    before: CheckpointSample | None = None
    for sample in (sample for sample in done if not sample.is_savepoint):
        earlier = [point for point in savepoints if point.ended_ms <= sample.trigger_time_ms]
        full = sample.state_bytes
        if full is None and one_size:
            full = _savepoint_bytes(earlier, savepoints) or _file_bytes(window, sample)
        uploads.append(
            Upload(
                sample,
                sample.checkpointed_bytes,
                full,
                earlier[-1]
                if before and earlier and earlier[-1].ended_ms > before.trigger_time_ms
                else None,
                before is None
                or any(
                    before.trigger_time_ms < at_ms <= sample.trigger_time_ms for at_ms in breaks
                ),
                one_size,
            )
        )
        before = sample
    return uploads


def _reports_one_size(window: JobWindow, done: Sequence[CheckpointSample]) -> bool:
    if window.version is not None:
        return window.version < INCREMENTAL_SIZE_SINCE
    own = [sample for sample in done if not sample.is_savepoint]
    # Of some, their file may have given the full size besides.
    return all(sample.state_bytes is None for sample in own) or any(
        sample.state_bytes is None and sample.checkpointed_bytes is not None for sample in own
    )


def files_of(window: JobWindow, checkpoint: CheckpointSample) -> UploadedFiles | None:
    key = (checkpoint.checkpoint_id, checkpoint.trigger_time_ms)
    return next(
        (files for files in window.uploads if (files.checkpoint_id, files.trigger_time_ms) == key),
        None,
    )


def _file_bytes(window: JobWindow, checkpoint: CheckpointSample) -> int | None:
    """Of all its RocksDB files, where its `_metadata` has been read: a little less than its
    state.
    """
    files = files_of(window, checkpoint)
    return (
        (files.kept_bytes or 0) + (files.same_name_bytes or 0) + (files.new_name_bytes or 0) or None
        if files
        else None
    )


def _savepoint_bytes(
    earlier: Sequence[CheckpointSample], all_savepoints: Sequence[CheckpointSample]
) -> int | None:
    sizes = [point.state_bytes for point in earlier if point.state_bytes][-1:] or [
        point.state_bytes for point in all_savepoints if point.state_bytes
    ]
    return sizes[0] if sizes else None
