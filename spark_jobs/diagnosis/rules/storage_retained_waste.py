from collections.abc import Iterator

from ingest.messages import message
from spark_jobs.diagnosis.findings import Finding, Limits, Related
from spark_jobs.diagnosis.rule import rule, sample_finding
from spark_jobs.diagnosis.storage_samples import TWO_DAYS_S, StorageRootSample
from spark_jobs.diagnosis.storage_space import (
    clean_up_step,
    severity_of_space,
    space_evidence,
    space_thresholds,
)

RULE = "storage.retained_waste"


@rule(
    RULE,
    message("Superseded checkpoints"),
    message("Retained checkpoints of ended jobs, whose successors no longer need them, use space."),
    fed_by="audits/1.20.5-H",
    hold_s=TWO_DAYS_S,
    judges=StorageRootSample,
    thresholds=space_thresholds(
        RULE,
        share=0.02,
        share_reason=message(
            "One superseded checkpoint after a deployment is usual; a fiftieth of the root is more "
            "than that."
        ),
        high_share=0.3,
        high_share_reason=message(
            "Where a third of the storage is superseded, deployments usually leave their "
            "checkpoints behind."
        ),
    ),
)
def judge(sample: StorageRootSample, limits: Limits) -> Iterator[Finding]:
    waste = sample.waste
    severity = severity_of_space(sample, waste, limits, RULE)
    if severity is None:
        return
    yield sample_finding(
        sample,
        RULE,
        severity,
        title=message(
            "{bytes:bytes} of retained checkpoints that nobody will restore", bytes=waste.bytes
        ),
        cause=message(
            "Their jobs have ended, and each job that was restored from them has since "
            "completed a checkpoint that is whole and refers to nothing of theirs. Flink "
            "deletes a retained checkpoint by itself only after a restore in CLAIM mode."
        ),
        next_step=clean_up_step(sample, message("the superseded checkpoints too (--waste)")),
        evidence=space_evidence(sample, waste, limits, RULE, message("superseded")),
        related=tuple(
            Related("job", name, message("superseded checkpoints in its directory"))
            for name in sample.jobs_with_most_waste
        ),
        data={"root": sample.root},
    )
