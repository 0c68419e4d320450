from collections.abc import Iterator

from ingest.messages import message
from spark_jobs.diagnosis.checkpoint_history import checkpoints_are_off, savepoints
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, NotJudged, Threshold
from spark_jobs.diagnosis.rule import job_finding, rule
from spark_jobs.diagnosis.samples import JobWindow

RULE = "checkpoint.deleted_on_cancel"
SAVEPOINT_AGE = f"{RULE}.savepoint_s"


@rule(
    RULE,
    message("Deleted on cancel"),
    message(
        "The checkpoints of the job are deleted when it is cancelled, and no savepoint is fresh."
    ),
    fed_by="incidents/2.3.0/short-ask",
    thresholds=(
        Threshold(
            SAVEPOINT_AGE,
            86_400,
            "s",
            60,
            31_536_000,
            message("A savepoint of today holds the state of a job that is cancelled by mistake."),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    config = window.config
    if window.terminal or checkpoints_are_off(window) or config.externalized is False:
        return
    if config.retained_on_cancellation is None:
        raise NotJudged(
            message("whether its checkpoints are retained when it is cancelled has not been seen")
        )
    ages_ms = (window.at_ms - sample.ended_ms for sample in savepoints(window.checkpoints))
    age_ms = min(ages_ms, default=None)
    if config.retained_on_cancellation or (
        age_ms is not None and age_ms <= limits[SAVEPOINT_AGE] * 1000
    ):
        return
    evidence = [
        Evidence(
            message("when cancelled"),
            message("checkpoints are deleted"),
            note="DELETE_ON_CANCELLATION",
        )
    ]
    if age_ms is not None:
        evidence.append(
            limits.evidence(
                message("age of the newest savepoint"), age_ms / 1000, SAVEPOINT_AGE, comparison=">"
            )
        )
    yield job_finding(
        window,
        RULE,
        "info",
        "high",
        title=message("Cancelling this job deletes its checkpoints"),
        cause=message(
            "With DELETE_ON_CANCELLATION Flink removes its checkpoints as soon as it is "
            "CANCELED; they survive only failures. "
        )
        + (
            message("Its newest savepoint is {age_ms:duration} old.", age_ms=age_ms)
            if age_ms is not None
            else message("No savepoint of it is known.")
        ),
        next_step=message(
            "Set execution.checkpointing.externalized-checkpoint-retention to "
            "RETAIN_ON_CANCELLATION, and remove checkpoints of ended jobs with a clean-up "
            "plan. Until then, end it only by stop with savepoint."
        ),
        evidence=evidence,
    )
