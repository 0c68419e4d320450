"""The first checkpoint after a restore uploads the restored files again under the new job's
directory.

Only `_metadata` shows it: RocksDB's names of the restored snapshot in new files. A first checkpoint
that is large by its size alone may as well be a compaction; without `_metadata` there is no
finding.
"""

from collections.abc import Iterator

from ingest.messages import message
from spark_jobs.diagnosis.findings import Evidence, Finding, NotJudged, Related
from spark_jobs.diagnosis.rule import rule
from spark_jobs.diagnosis.samples import Annotation, JobWindow
from spark_jobs.diagnosis.subjects import checkpoint_finding
from spark_jobs.diagnosis.thresholds import Limits, Threshold
from spark_jobs.diagnosis.uploads import Upload, files_of, uploads_of

RULE = "checkpoint.full_after_restore"


@rule(
    RULE,
    message("Full upload after a restore"),
    message("The first checkpoint after a restore uploads the restored files again."),
    fed_by="windows/1.20.5-H",
    hold_s=900,
    needs=("annotations",),
    thresholds=(
        Threshold(
            f"{RULE}.same_names",
            0.5,
            "ratio",
            0.1,
            1,
            message(
                "A copy of the restored snapshot has mostly its names; after a compaction most "
                "names are new."
            ),
        ),
        Threshold(
            f"{RULE}.look_back_s",
            3_600,
            "s",
            60,
            604_800,
            message(
                "The `_metadata` is read after the checkpoint, so it may be known only some cycles "
                "later."
            ),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    since_ms = window.at_ms - limits[f"{RULE}.look_back_s"] * 1000
    restores = [
        annotation
        for annotation in window.annotations
        if annotation.kind == "restore"
        and annotation.at_ms >= since_ms
        and _is_foreign(window, annotation)
    ]
    if not restores:
        return
    restore = max(restores, key=lambda restore: (restore.at_ms, restore.subject))
    first = next(
        (
            upload
            for upload in uploads_of(window)
            if upload.checkpoint.trigger_time_ms >= restore.at_ms
        ),
        None,
    )
    if first is None:
        return
    files = files_of(window, first.checkpoint)
    if files is None or files.same_name_bytes is None:
        raise NotJudged(
            message(
                "the `_metadata` of checkpoint {checkpoint_id:number}, the first after a restore, "
                "has not been read",
                checkpoint_id=first.checkpoint.checkpoint_id,
            )
        )
    again, fresh = files.same_name_bytes, files.new_name_bytes or 0
    share = again / (again + fresh) if again + fresh else 0.0
    if share >= limits[f"{RULE}.same_names"]:
        yield _finding(window, limits, restore, first, again, share)


def _is_foreign(window: JobWindow, restore: Annotation) -> bool:
    """A job that recovers from its own checkpoint owns the files already.

    Where no path is reported, one that had completed some does.
    """
    path = restore.detail.get("path")
    if path:
        return window.job_id not in str(path)
    return not any(
        checkpoint.outcome == "completed" and checkpoint.trigger_time_ms < restore.at_ms
        for checkpoint in window.checkpoints
    )


def _finding(
    window: JobWindow, limits: Limits, restore: Annotation, first: Upload, again: int, share: float
) -> Finding:
    checkpoint, key = first.checkpoint, f"{RULE}.same_names"
    mode = restore.detail.get("claim_mode") or message("not known")
    at_ms = checkpoint.ended_ms
    evidence = [
        Evidence(
            message("bytes uploaded again"),
            again,
            "bytes",
            at_ms=at_ms,
            note=message("by `_metadata`"),
        ),
        limits.compared(
            message("share under the restored names"), share, "ratio", ">=", key, at_ms
        ),
        Evidence(
            message("claim mode"),
            mode,
            at_ms=restore.at_ms,
            note=message("as far as the log and REST show it"),
        ),
    ]
    if checkpoint.end_to_end_ms is not None:
        evidence.append(
            Evidence(message("end to end"), checkpoint.end_to_end_ms, "ms", at_ms=at_ms)
        )
    return checkpoint_finding(
        window,
        checkpoint,
        RULE,
        "info",
        "high",
        title=message(
            "Checkpoint {checkpoint_id:number} uploaded {again:bytes} of restored files again",
            checkpoint_id=checkpoint.checkpoint_id,
            again=again,
        ),
        cause=message(
            "The job was restored in NO_CLAIM mode: it owns nothing of the restored snapshot, "
            "so its first checkpoint copies every file of it under its own directory. "
            "Afterwards the old snapshot can be deleted."
        ),
        next_step=message(
            "Nothing, if the copy fits into the time-out. Restore in CLAIM mode if the old "
            "job never comes back and its files may be taken over."
        ),
        evidence=evidence,
        related=(
            Related(
                "checkpoint",
                restore.label or message("restore"),
                str(restore.detail.get("path") or ""),
            ),
        ),
        data={
            "checkpoint_id": checkpoint.checkpoint_id,
            "bytes_again": again,
            "claim_mode": mode,
            "restored": dict(restore.detail),
        },
    )
