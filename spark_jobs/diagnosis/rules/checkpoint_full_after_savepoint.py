"""Compaction of RocksDB can cause a full upload, too. Files in `_metadata` show whether a savepoint
or compaction did; without them, the release decides.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from ingest.messages import message, plural
from spark_jobs.diagnosis.checkpoint_history import (
    INCREMENTAL_SIZE_SINCE,
    by_time,
    completed,
    savepoints,
)
from spark_jobs.diagnosis.findings import Confidence, Evidence, Finding, Limits, NotJudged, Related
from spark_jobs.diagnosis.known_bugs import BY_ISSUE
from spark_jobs.diagnosis.rule import job_finding, rule
from spark_jobs.diagnosis.samples import CheckpointSample, JobWindow, UploadedFiles

RULE = "checkpoint.full_after_savepoint"
BUG = BY_ISSUE["FLINK-23949"]
EXCESS_BYTES = 1 << 20
FULL = 0.8
"""A repeated upload lacks only what was compacted or written in between."""
OLD_FILES_SHARE = 0.5
"""If more of the upload is old files, compaction did not cause it."""
INCREMENTAL = 0.5
"""Checkpoints that upload more gain little from being incremental."""
LOOK_BACK_MS = 3_600_000
"""A checkpoint is judged when the next one has completed."""
MOST_BEFORE = 5
LEAST_BEFORE = 2
BREAKS = frozenset({"restore", "restart", "rescale", "deploy"})
"""After these, the first upload may be full for other reasons."""


@dataclass(frozen=True)
class Upload:
    """One completed checkpoint. ``savepoint``: the last one since the previous checkpoint.
    ``follows_break``: the checkpoint is the first ever, or after a restore, restart or rescaling.
    """

    checkpoint: CheckpointSample
    full_bytes: int | None
    savepoint: CheckpointSample | None
    follows_break: bool

    @property
    def uploaded_bytes(self) -> int | None:
        return self.checkpoint.checkpointed_bytes

    @property
    def is_usual(self) -> bool:
        return self.savepoint is None and not self.follows_break and self.uploaded_bytes is not None

    def share_of(self, full_bytes: int) -> float:
        """The uploaded share of the full size, or of ``full_bytes`` if that is unknown."""
        return (self.uploaded_bytes or 0) / (self.full_bytes or full_bytes)


def uploads_of(window: JobWindow) -> list[Upload]:
    all_savepoints = sorted(savepoints(window.checkpoints), key=by_time)
    checkpoints = sorted(completed(window.checkpoints), key=by_time)
    reports_one_size = _reports_one_size(window, checkpoints)
    breaks = [annotation.at_ms for annotation in window.annotations if annotation.kind in BREAKS]
    uploads: list[Upload] = []
    for previous, sample in zip([None, *checkpoints], checkpoints, strict=False):
        earlier = [point for point in all_savepoints if point.ended_ms <= sample.trigger_time_ms]
        full_bytes = sample.state_bytes
        if full_bytes is None and reports_one_size:
            full_bytes = _savepoint_bytes(earlier, all_savepoints) or _file_bytes(window, sample)
        is_after_savepoint = (
            previous and earlier and earlier[-1].ended_ms > previous.trigger_time_ms
        )
        follows_break = previous is None or any(
            previous.trigger_time_ms < at_ms <= sample.trigger_time_ms for at_ms in breaks
        )
        uploads.append(
            Upload(sample, full_bytes, earlier[-1] if is_after_savepoint else None, follows_break)
        )
    return uploads


def _reports_one_size(window: JobWindow, checkpoints: Sequence[CheckpointSample]) -> bool:
    if window.version is not None:
        return window.version < INCREMENTAL_SIZE_SINCE
    # Some full sizes may come from `_metadata`.
    return all(sample.state_bytes is None for sample in checkpoints) or any(
        sample.state_bytes is None and sample.checkpointed_bytes is not None
        for sample in checkpoints
    )


def files_of(window: JobWindow, checkpoint: CheckpointSample) -> UploadedFiles | None:
    key = (checkpoint.checkpoint_id, checkpoint.trigger_time_ms)
    return next(
        (files for files in window.uploads if (files.checkpoint_id, files.trigger_time_ms) == key),
        None,
    )


def _file_bytes(window: JobWindow, checkpoint: CheckpointSample) -> int | None:
    """All RocksDB files by `_metadata`: a little less than the state."""
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


@rule(
    RULE,
    message("Full upload after a savepoint"),
    message(
        "The first checkpoint after a savepoint uploads everything again although checkpoints are "
        "incremental."
    ),
    fed_by="windows/1.12.5-G",
    hold_s=900,
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    if not savepoints(window.checkpoints):
        return
    uploads = uploads_of(window)
    if window.config.mode is None and all(upload.uploaded_bytes is None for upload in uploads):
        raise NotJudged(message("how much each checkpoint uploaded"))
    since_ms = window.at_ms - LOOK_BACK_MS
    for index, upload in enumerate(uploads):
        savepoint = upload.savepoint
        if savepoint is None or upload.follows_break or upload.checkpoint.ended_ms < since_ms:
            continue
        before = [earlier for earlier in uploads[:index] if earlier.is_usual][-MOST_BEFORE:]
        after = next((later for later in uploads[index + 1 :] if later.is_usual), None)
        if not _is_full_among_small(upload, before, after):
            continue
        usual_bytes = median(earlier.uploaded_bytes or 0 for earlier in before)
        excess = int((upload.uploaded_bytes or 0) - usual_bytes)
        confidence = _confidence(window, upload)
        if confidence and excess >= EXCESS_BYTES:
            yield _finding(window, upload, savepoint, before, excess, confidence)


def _is_full_among_small(upload: Upload, before: Sequence[Upload], after: Upload | None) -> bool:
    full = upload.full_bytes
    if not full or upload.uploaded_bytes is None or after is None:
        return False
    return (
        upload.share_of(full) >= FULL
        and len(before) >= LEAST_BEFORE
        and median(earlier.share_of(full) for earlier in before) < INCREMENTAL
        and after.share_of(full) < INCREMENTAL
    )


def _confidence(window: JobWindow, upload: Upload) -> Confidence | None:
    """None if compaction is the better explanation."""
    share = _share_uploaded_again(window, upload)
    if share is not None:
        return "high" if share > OLD_FILES_SHARE else None
    return "medium" if BUG.releases.affect(window.flink_version) == "yes" else None


def _share_uploaded_again(window: JobWindow, upload: Upload) -> float | None:
    """The share of old files in the upload; None if no `_metadata` was read."""
    files = files_of(window, upload.checkpoint)
    if files is None or (files.kept_bytes is None and files.same_name_bytes is None):
        return None
    old_bytes = (files.kept_bytes or 0) + (files.same_name_bytes or 0)
    return old_bytes / max(old_bytes + (files.new_name_bytes or 0), 1)


def _finding(
    window: JobWindow,
    upload: Upload,
    savepoint: CheckpointSample,
    before: Sequence[Upload],
    excess: int,
    confidence: Confidence,
) -> Finding:
    checkpoint = upload.checkpoint
    name = message("checkpoint {checkpoint_id:number}", checkpoint_id=checkpoint.checkpoint_id)
    affected = BUG.releases.affect(window.flink_version)
    return job_finding(
        window,
        RULE,
        "warning",
        confidence,
        subject=("checkpoint", f"{name} @ {checkpoint.trigger_time_ms}", name),
        seen_at_ms=checkpoint.ended_ms,
        began_at_ms=checkpoint.ended_ms,
        title=message(
            "Checkpoint {checkpoint_id:number} uploaded {excess:bytes} too much after savepoint "
            "{checkpoint_id2:number}",
            checkpoint_id=checkpoint.checkpoint_id,
            excess=excess,
            checkpoint_id2=savepoint.checkpoint_id,
        ),
        cause=_cause(window, affected, savepoint),
        next_step=_next_step(affected),
        evidence=_evidence(window, upload, before, excess),
        related=(
            Related(
                "checkpoint",
                message("savepoint {checkpoint_id:number}", checkpoint_id=savepoint.checkpoint_id),
                message("the savepoint before it"),
            ),
        ),
        data={
            "checkpoint_id": checkpoint.checkpoint_id,
            "savepoint_id": savepoint.checkpoint_id,
            "excess_bytes": excess,
        },
    )


def _cause(window: JobWindow, affected: str, savepoint: CheckpointSample) -> str:
    reported = {
        "yes": message(
            "Flink {flink_version:name} has {flink_23949:name}",
            flink_version=str(window.flink_version),
            flink_23949=BUG.issue,
        ),
        "no": message(
            "Flink {flink_version:name} should not have {flink_23949:name} any more, but behaves "
            "like it",
            flink_version=str(window.flink_version),
            flink_23949=BUG.issue,
        ),
        "unknown": message(
            "It behaves like {flink_23949:name}; whether this release of Flink has it is not known",
            flink_23949=BUG.issue,
        ),
    }[affected]
    return message(
        "{reported:message}: when savepoint {checkpoint_id:number} completed, the "
        "RocksDB backend forgot which files it had uploaded, so the next incremental "
        "checkpoint uploaded everything again.",
        reported=reported,
        checkpoint_id=savepoint.checkpoint_id,
    )


def _next_step(affected: str) -> str:
    if affected == "no":
        return message(
            "Read the _metadata of this checkpoint and of the one before: the same file names "
            "uploaded again would prove it."
        )
    return message(
        "{flink_23949:name} is in releases {flink_23949_releases:message}: upgrade. "
        "Until then take fewer savepoints of this job, at low load, or use retained "
        "checkpoints instead, and leave room in the time-out for a full upload.",
        flink_23949=BUG.issue,
        flink_23949_releases=BUG.releases.text,
    )


def _evidence(
    window: JobWindow, upload: Upload, before: Sequence[Upload], excess: int
) -> Iterator[Evidence]:
    full = upload.full_bytes or 1
    yield Evidence(message("bytes uploaded in excess"), excess, "bytes", EXCESS_BYTES, ">=")
    yield Evidence(
        message("uploaded share of the full state"), upload.share_of(full), "ratio", FULL, ">="
    )
    yield Evidence(
        message("usual share"),
        median(earlier.share_of(full) for earlier in before),
        "ratio",
        INCREMENTAL,
        "<",
        note=message(
            "median of the {before:message} before",
            before=plural(len(before), "{count:count} checkpoint", "{count:count} checkpoints"),
        ),
    )
    if (share := _share_uploaded_again(window, upload)) is not None:
        yield Evidence(
            message("old files among those uploaded"), share, "ratio", OLD_FILES_SHARE, ">"
        )
    yield Evidence(message("Flink version"), window.flink_version)
