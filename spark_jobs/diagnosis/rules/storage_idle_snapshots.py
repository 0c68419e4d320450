"""Weir cannot know whether somebody wants these snapshots back, so it only names them."""

from collections.abc import Iterator

from ingest.messages import join_messages, message, plural
from spark_jobs.diagnosis.findings import Finding, Limits, Related, Threshold
from spark_jobs.diagnosis.rule import rule, sample_finding
from spark_jobs.diagnosis.storage_samples import TWO_DAYS_S, IdleSnapshots, Share, StorageRootSample
from spark_jobs.diagnosis.storage_space import severity_of_space, space_evidence, space_thresholds

RULE = "storage.idle_snapshots"
DAYS = f"{RULE}.days"
DAY_MS = 86_400_000
MOST_SHOWN = 10


@rule(
    RULE,
    message("Forgotten snapshots"),
    message("Old savepoints, and checkpoints of jobs that ended long ago, use space."),
    fed_by="recordings/1.20.5/G",
    hold_s=TWO_DAYS_S,
    judges=StorageRootSample,
    thresholds=(
        Threshold(
            DAYS,
            30,
            "days",
            1,
            3650,
            message(
                "After a month, a job is started again from newer data; sources no longer "
                "have the old records."
            ),
        ),
        *space_thresholds(
            RULE,
            share=0.05,
            share_reason=message(
                "A few savepoints of releases are usual; a twentieth of the root is more than that."
            ),
            high_share=0.5,
            high_share_reason=message(
                "Where half of the storage is forgotten, nobody looks after it."
            ),
        ),
    ),
)
def judge(sample: StorageRootSample, limits: Limits) -> Iterator[Finding]:
    old = sorted(
        (snapshots for snapshots in sample.idle if snapshots.idle_ms >= limits[DAYS] * DAY_MS),
        key=lambda snapshots: (-snapshots.size.bytes, snapshots.path),
    )
    total = Share(
        sum(snapshots.size.files for snapshots in old),
        sum(snapshots.size.bytes for snapshots in old),
    )
    severity = severity_of_space(sample, total, limits, RULE)
    if severity is None:
        return
    savepoints = sum(snapshots.is_savepoint for snapshots in old)
    oldest_ms = max(snapshots.idle_ms for snapshots in old)
    yield sample_finding(
        sample,
        RULE,
        severity,
        title=message(
            "{bytes:bytes} in {counts:name} not used for {limits:number} days",
            bytes=total.bytes,
            counts=_counts(savepoints, len(old) - savepoints),
            limits=limits[DAYS],
        ),
        cause=(
            message(
                "No job that has not ended was restored from them, and none refers to their "
                "files. Flink keeps savepoints, and checkpoints of jobs that failed or were "
                "cancelled with retention, until somebody deletes them."
            )
        ),
        next_step=(
            message(
                "The retention page of the root lists them with age, size, and whether a "
                "newer snapshot of the same job is whole. Ask the owner of the job, then "
                "dispose of each with flink savepoint -d PATH, or remove the directory of "
                "an ended job that nothing refers to."
            )
        ),
        evidence=(
            *space_evidence(sample, total, limits, RULE, message("forgotten")),
            limits.evidence(message("oldest"), oldest_ms / DAY_MS, DAYS),
        ),
        related=tuple(
            Related(
                "savepoint" if snapshots.is_savepoint else "job", snapshots.path, _note(snapshots)
            )
            for snapshots in old[:MOST_SHOWN]
        ),
        data={"root": sample.root, "savepoints": savepoints},
    )


def _counts(savepoints: int, jobs: int) -> str:
    parts = []
    if savepoints:
        parts.append(plural(savepoints, "{count:count} savepoint", "{count:count} savepoints"))
    if jobs:
        ended = plural(jobs, "{count:count} ended job", "{count:count} ended jobs")
        parts.append(message("checkpoints of {jobs:message}", jobs=ended))
    return join_messages(parts, " and ")


def _note(snapshots: IdleSnapshots) -> str:
    name = f"{snapshots.job_name}, " if snapshots.job_name else ""
    return message(
        "{name:name}{bytes:bytes}, written {idle_ms:duration} before the audit",
        name=name,
        bytes=snapshots.size.bytes,
        idle_ms=snapshots.idle_ms,
    )
