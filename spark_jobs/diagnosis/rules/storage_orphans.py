from collections.abc import Iterator

from ingest.messages import list_text, message
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, Related
from spark_jobs.diagnosis.rule import rule, sample_finding
from spark_jobs.diagnosis.storage_samples import TWO_DAYS_S, Share, StorageRootSample
from spark_jobs.diagnosis.storage_space import (
    clean_up_step,
    severity_of_space,
    space_evidence,
    space_thresholds,
)

RULE = "storage.orphans"

KIND_WORDS = {
    "unacknowledged": message("TaskManagers that died or lost a task before acknowledging"),
    "failed_checkpoint": message("checkpoints that expired, were declined or aborted"),
    "dead_job": message("jobs that ended without a retained snapshot"),
    "ended_attempt": message("ForSt databases of attempts that ended"),
    "unfinished_metadata": message("unfinished _metadata of JobManagers that died"),
    "merging_remainder": message("merged files of jobs that ended"),
    "undeleted": message("discarded checkpoints that were not deleted completely"),
}


@rule(
    RULE,
    message("Orphaned files"),
    message("Files below a root that no checkpoint, savepoint or running job refers to use space."),
    fed_by="audits/1.20.5-I",
    hold_s=TWO_DAYS_S,
    judges=StorageRootSample,
    thresholds=space_thresholds(
        RULE,
        share=0.01,
        share_reason=message(
            "A hundredth of the root is what a few lost TaskManagers leave; below it nobody would "
            "see a difference on the bill."
        ),
        high_share=0.2,
        high_share_reason=message(
            "A fifth of the storage unused means that something leaves files behind repeatedly."
        ),
    ),
)
def judge(sample: StorageRootSample, limits: Limits) -> Iterator[Finding]:
    orphans = sample.orphans
    severity = severity_of_space(sample, orphans, limits, RULE)
    if severity is None:
        return
    kinds = sorted(sample.orphan_kinds, key=lambda pair: -pair[1].bytes)
    left_by = list_text(
        message(
            "{kind_words:message} ({bytes:bytes})", kind_words=KIND_WORDS[kind], bytes=part.bytes
        )
        for kind, part in kinds
        if kind in KIND_WORDS
    )
    yield sample_finding(
        sample,
        RULE,
        severity,
        title=message(
            "{bytes:bytes} in {files:message} that nothing refers to",
            bytes=orphans.bytes,
            files=orphans.files_text,
        ),
        cause=message("Left by {left_by:name}.", left_by=left_by)
        if left_by
        else message("Their origin is no longer known."),
        next_step=clean_up_step(sample, message("the orphans")),
        evidence=_evidence(sample, kinds, limits),
        related=tuple(
            Related("job", name, message("orphans in its directory"))
            for name in sample.jobs_with_most_orphans
        ),
        data={"root": sample.root},
    )


def _evidence(
    sample: StorageRootSample, kinds: list[tuple[str, Share]], limits: Limits
) -> Iterator[Evidence]:
    yield from space_evidence(sample, sample.orphans, limits, RULE, message("orphaned"))
    for kind, part in kinds:
        share = part.bytes / sample.orphans.bytes if sample.orphans.bytes else 0.0
        yield Evidence(
            message("of kind {kind:name}", kind=kind),
            part.bytes,
            "bytes",
            note=message("{files:message}, {of_all:share}", files=part.files_text, of_all=share),
        )
    if sample.kept.files:
        note = message(
            "{bytes:bytes} that may be needed, or about which nothing is known",
            bytes=sample.kept.bytes,
        )
        yield Evidence(message("kept in doubt"), sample.kept.files, "count", note=note)
