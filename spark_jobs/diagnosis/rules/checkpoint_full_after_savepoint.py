"""The first checkpoint after a savepoint uploads the whole state again although checkpoints are
incremental. Compaction of RocksDB can cause the same: they are distinguished by the files in
`_metadata`, else by whether the release has the fault.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingest.messages import message, plural
from spark_jobs.diagnosis.checkpoint_history import INCREMENTAL_SIZE_SINCE, by_time
from spark_jobs.diagnosis.findings import (
    Confidence,
    Evidence,
    Finding,
    Limits,
    NotJudged,
    Related,
    Threshold,
)
from spark_jobs.diagnosis.known_bugs import BY_ISSUE
from spark_jobs.diagnosis.rule import checkpoint_finding, rule
from spark_jobs.diagnosis.samples import CheckpointSample, JobWindow, UploadedFiles
from spark_jobs.diagnosis.statistics import median

BREAKS = frozenset({"restore", "restart", "rescale", "deploy"})
"""After these, the first upload may be full for other reasons."""


@dataclass(frozen=True, slots=True)
class Upload:
    """One completed checkpoint. ``savepoint``: the last one since the checkpoint before. ``ratio``:
    uploaded over full size. ``follows_break``: it is the first one ever, or after a restore,
    restart or rescaling. ``one_size``: the full size is the savepoint's, or that of its files.
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
    # The full size of some may come from their `_metadata`.
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
    """Bytes of all its RocksDB files, if its `_metadata` was read: a little less than its state."""
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


RULE = "checkpoint.full_after_savepoint"
BUG = BY_ISSUE["FLINK-23949"]
BEFORE = 5
BEFORE_AT_LEAST = 2


@rule(
    RULE,
    message("Full upload after a savepoint"),
    message(
        "The first checkpoint after a savepoint uploads everything again although checkpoints are "
        "incremental."
    ),
    fed_by="windows/1.12.5-G",
    hold_s=900,
    thresholds=(
        Threshold(
            f"{RULE}.full_ratio",
            0.8,
            "ratio",
            0.5,
            1,
            message(
                "A repeated upload lacks only what was compacted or written in between; four "
                "fifths leave room for that."
            ),
        ),
        Threshold(
            f"{RULE}.incremental_ratio",
            0.5,
            "ratio",
            0.01,
            0.79,
            message(
                "Checkpoints that usually upload half of the state or more gain little from being "
                "incremental: nothing is lost here."
            ),
        ),
        Threshold(
            f"{RULE}.minimum_excess_bytes",
            1 << 20,
            "bytes",
            0,
            1 << 50,
            message("Less than a mebibyte in excess costs nothing that anybody would notice."),
        ),
        Threshold(
            f"{RULE}.look_back_s",
            3_600,
            "s",
            60,
            86_400,
            message(
                "It is judged when the checkpoint after it has completed: an hour covers intervals "
                "of up to 20 minutes."
            ),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    if not any(
        checkpoint.is_savepoint and checkpoint.outcome == "completed"
        for checkpoint in window.checkpoints
    ):
        return
    uploads = uploads_of(window)
    if window.config.mode is None and all(upload.uploaded_bytes is None for upload in uploads):
        raise NotJudged(message("how much each checkpoint uploaded"))
    since_ms = window.at_ms - limits[f"{RULE}.look_back_s"] * 1000
    for index, upload in enumerate(uploads):
        if (
            upload.savepoint is None
            or upload.follows_break
            or upload.checkpoint.ended_ms < since_ms
        ):
            continue
        before = _ordinary(uploads[:index], newest=BEFORE)
        after = _ordinary(uploads[index + 1 :], newest=0)[:1]
        if not _is_full_among_small(upload, before, after, limits):
            continue
        excess = int(
            (upload.uploaded_bytes or 0) - median(upload.uploaded_bytes or 0 for upload in before)
        )
        confidence = _confidence(window, upload)
        if confidence and excess >= limits[f"{RULE}.minimum_excess_bytes"]:
            yield _finding(window, upload, before, excess, confidence, limits)


def _ordinary(uploads: Sequence[Upload], newest: int) -> list[Upload]:
    """Uploads that follow neither a savepoint nor a break; only the ``newest`` last ones, 0 for
    all.
    """
    ordinary = [
        upload
        for upload in uploads
        if upload.savepoint is None
        and not upload.follows_break
        and upload.uploaded_bytes is not None
    ]
    return ordinary[-newest:]


def _is_full_among_small(
    upload: Upload, before: Sequence[Upload], after: Sequence[Upload], limits: Limits
) -> bool:
    full = upload.full_bytes
    if (
        upload.ratio is None
        or not full
        or upload.ratio < limits[f"{RULE}.full_ratio"]
        or len(before) < BEFORE_AT_LEAST
        or not after
    ):
        return False
    small = limits[f"{RULE}.incremental_ratio"]
    return (
        median(_share_of(upload, full) for upload in before) < small
        and _share_of(after[0], full) < small
    )


def _share_of(upload: Upload, full_bytes: int) -> float:
    return upload.ratio if upload.ratio is not None else (upload.uploaded_bytes or 0) / full_bytes


def _confidence(window: JobWindow, upload: Upload) -> Confidence | None:
    """None if compaction is the better explanation."""
    files = _files(window, upload.checkpoint)
    if files is not None:
        return "high" if _uploaded_again(files) else None
    return "medium" if BUG.releases.affect(window.flink_version) == "yes" else None


def _files(window: JobWindow, checkpoint: CheckpointSample) -> UploadedFiles | None:
    files = files_of(window, checkpoint)
    return (
        files
        if files and (files.kept_bytes is not None or files.same_name_bytes is not None)
        else None
    )


def _uploaded_again(files: UploadedFiles) -> bool:
    return (files.kept_bytes or 0) + (files.same_name_bytes or 0) > (files.new_name_bytes or 0)


def _finding(
    window: JobWindow,
    upload: Upload,
    before: Sequence[Upload],
    excess: int,
    confidence: Confidence,
    limits: Limits,
) -> Finding:
    checkpoint, savepoint = upload.checkpoint, upload.savepoint
    if savepoint is None:
        raise ValueError("only checkpoints after a savepoint are judged")
    affected = BUG.releases.affect(window.flink_version)
    return checkpoint_finding(
        window,
        checkpoint,
        RULE,
        "warning",
        confidence,
        title=message(
            "Checkpoint {checkpoint_id:number} uploaded {excess:bytes} too much after savepoint "
            "{checkpoint_id2:number}",
            checkpoint_id=checkpoint.checkpoint_id,
            excess=excess,
            checkpoint_id2=savepoint.checkpoint_id,
        ),
        cause=_cause(window, affected, savepoint),
        next_step=_next_step(affected),
        evidence=_evidence(window, upload, before, excess, limits),
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
            "bug": BUG.issue,
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
            "Read the `_metadata` of this checkpoint and of the one before: the same file names "
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
    window: JobWindow,
    upload: Upload,
    before: Sequence[Upload],
    excess: int,
    limits: Limits,
) -> Iterator[Evidence]:
    minimum = f"{RULE}.minimum_excess_bytes"
    full = f"{RULE}.full_ratio"
    small = f"{RULE}.incremental_ratio"
    yield limits.compared(message("bytes uploaded in excess"), excess, minimum)
    source = (
        message(
            "full state as the savepoint or the `_metadata` has it: this release reports one size "
            "only"
        )
        if upload.one_size
        else ""
    )
    yield limits.compared(message("uploaded share of the full state"), upload.ratio, full, source)
    usual = median(_share_of(sample, upload.full_bytes or 1) for sample in before)
    over = message(
        "median of the {before:message} before",
        before=plural(len(before), "{count:count} checkpoint", "{count:count} checkpoints"),
    )
    yield limits.compared(message("usual share"), usual, small, over, comparison="<")
    if files := _files(window, upload.checkpoint):
        again = (files.kept_bytes or 0) + (files.same_name_bytes or 0)
        share = again / max(again + (files.new_name_bytes or 0), 1)
        yield Evidence(
            message("old files among those uploaded"),
            share,
            "ratio",
            0.5,
            ">",
            note=message("by `_metadata`: {share:share}", share=share),
        )
    yield Evidence(
        message("Flink version"),
        window.flink_version,
        note=message(
            "{flink_23949:name}: {flink_23949_releases:message}",
            flink_23949=BUG.issue,
            flink_23949_releases=BUG.releases.text,
        ),
    )
