from collections.abc import Iterator

from ingest.messages import message
from spark_jobs.diagnosis.findings import Finding, Limits, NotJudged, Threshold
from spark_jobs.diagnosis.replica_samples import ReplicaSample
from spark_jobs.diagnosis.rule import rule, sample_finding
from spark_jobs.diagnosis.stack_traces import without_middle
from spark_jobs.diagnosis.storage_samples import TWO_DAYS_S

RULE = "replication.lag"
BEHIND, FAR_BEHIND = f"{RULE}.behind_s", f"{RULE}.far_behind_s"


@rule(
    RULE,
    message("Copy lies behind"),
    message(
        "The checkpoint in a copy at another place was triggered long ago, or no copy has "
        "completed since it was requested."
    ),
    fed_by="incidents/1.20.5/growing-union",
    hold_s=TWO_DAYS_S,
    judges=ReplicaSample,
    thresholds=(
        Threshold(
            BEHIND,
            900,
            "s",
            10,
            2_592_000,
            message(
                "A check every five minutes, a checkpoint and its copy take less. Set it to "
                "what you may lose with the original."
            ),
        ),
        Threshold(
            FAR_BEHIND,
            7_200,
            "s",
            10,
            2_592_000,
            message(
                "Two hours of input take a job that is sized for its load many hours to process "
                "again."
            ),
        ),
    ),
)
def judge(sample: ReplicaSample, limits: Limits) -> Iterator[Finding]:
    if sample.ended:
        return
    if sample.checkpoint_id is not None and sample.behind_ms is None:
        raise NotJudged(message("When the checkpoint that is copied was triggered is not known."))
    lost_ms = sample.since_request_ms if sample.behind_ms is None else sample.behind_ms
    behind_s = lost_ms / 1000
    if behind_s < limits[BEHIND]:
        return
    yield sample_finding(
        sample,
        RULE,
        "critical" if behind_s >= limits[FAR_BEHIND] else "warning",
        title=message(
            "No copy is complete {lost_ms:duration} after it was requested", lost_ms=lost_ms
        )
        if sample.checkpoint_id is None
        else message("The copy is {lost_ms:duration} behind", lost_ms=lost_ms),
        cause=(
            message(
                "The last attempt failed: {without_middle:text}",
                without_middle=without_middle(sample.trouble, 300),
            )
            if sample.trouble
            else message(
                "Checkpoints of the job complete seldom, or each is replaced by the next one "
                "before it is copied."
            )
        ),
        next_step=(
            message(
                "Fix the error of the last attempt, then run manage.py replicate for the job: "
                "files that are already copied stay."
            )
            if sample.trouble
            else message(
                "Check on the job's page whether its checkpoints complete. If they do, retain "
                "more of them (execution.checkpointing.num-retained) or give Spark more "
                "executors, so that one is copied before it is replaced."
            )
        ),
        evidence=(limits.evidence(message("behind"), behind_s, BEHIND),),
        data={"checkpoint_id": sample.checkpoint_id},
    )
