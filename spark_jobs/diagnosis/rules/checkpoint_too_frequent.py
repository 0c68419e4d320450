from collections.abc import Iterator
from statistics import median

from ingest.messages import join_messages, message
from spark_jobs.diagnosis import fleet_policy
from spark_jobs.diagnosis.advice import interval_for
from spark_jobs.diagnosis.barrier_holders import newest_holder, pressure_is_known
from spark_jobs.diagnosis.checkpoint_history import checkpoints_are_off, recently_completed
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, NotJudged, Threshold
from spark_jobs.diagnosis.phases import BARRIER_PHASES, dominating_phase
from spark_jobs.diagnosis.rule import job_finding, rule
from spark_jobs.diagnosis.samples import CheckpointSample, JobWindow
from spark_jobs.diagnosis.statistics import quantile

RULE = "checkpoint.too_frequent"
SHARE = f"{RULE}.interval_share"
PAUSE_SHARE = 0.1
"""A minimum pause below a tenth of the interval hardly helps."""
LEAST_COUNT = 5
"""Fewer checkpoints do not show how long they usually take."""


@rule(
    RULE,
    message("Checkpoints too frequent"),
    message(
        "A checkpoint takes more than half of the interval, with no pause between them and no "
        "back-pressure that explains it; or interval or pause are below the minimum of the fleet."
    ),
    fed_by="incidents/1.20.5/unretained",
    hold_s=900,
    thresholds=(
        Threshold(
            SHARE,
            0.5,
            "ratio",
            0.1,
            1,
            message(
                "Beyond half of the interval, the job is more often in a checkpoint than not: "
                "uploads and compactions never pause."
            ),
        ),
        *fleet_policy.THRESHOLDS,
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    interval_ms = window.config.interval_ms
    if window.terminal or checkpoints_are_off(window):
        return
    if not interval_ms:
        raise NotJudged(message("the checkpoint settings of this job have not been seen"))
    breaches = list(fleet_policy.breaches(interval_ms, window.config.min_pause_ms, limits))
    if any(breach.set_ms is None for breach in breaches):
        raise NotJudged(message("the minimum pause of this job is not known"))
    if breaches:
        yield _policy_finding(window, limits, breaches)
        return
    checkpoints = [
        sample for sample in recently_completed(window) if sample.end_to_end_ms is not None
    ]
    durations = [sample.end_to_end_ms or 0 for sample in checkpoints]
    if (
        len(durations) < LEAST_COUNT
        or median(durations) <= limits[SHARE] * interval_ms
        or (window.config.min_pause_ms or 0) > PAUSE_SHARE * interval_ms
        or _is_held(window, limits, checkpoints)
    ):
        return
    if not pressure_is_known(window) and all(
        dominating_phase(sample) is None for sample in checkpoints
    ):
        raise NotJudged(
            message(
                "neither back-pressure nor the phases of the checkpoints are known, so what makes "
                "them slow is not"
            )
        )
    yield _finding(window, limits, interval_ms, checkpoints)


def _is_held(window: JobWindow, limits: Limits, checkpoints: list[CheckpointSample]) -> bool:
    phases = [longest[0] for sample in checkpoints if (longest := dominating_phase(sample))]
    if phases and sum(phase in BARRIER_PHASES for phase in phases) * 2 >= len(phases):
        return True
    return newest_holder(window, limits, checkpoints) is not None


def _policy_finding(
    window: JobWindow, limits: Limits, breaches: list[fleet_policy.Breach]
) -> Finding:
    names = {
        fleet_policy.INTERVAL: message("checkpoint interval"),
        fleet_policy.PAUSE: message("minimum pause"),
    }
    settings = [
        message(
            "{option:name} to {least_ms:duration}", option=breach.option, least_ms=breach.least_ms
        )
        for breach in breaches
    ]
    return job_finding(
        window,
        RULE,
        "warning",
        "high",
        title=message("Its checkpoint settings are below the minimum of the fleet"),
        cause=message("Its operator set a minimum for the shared checkpoint storage."),
        next_step=message(
            "Raise {settings:message}, or ask the operator of the fleet for a lower minimum for "
            "this job.",
            settings=join_messages(settings, ", "),
        ),
        evidence=tuple(
            limits.evidence(
                names[breach.threshold],
                (breach.set_ms or 0) / 1000,
                breach.threshold,
                comparison="<",
            )
            for breach in breaches
        ),
    )


def _finding(
    window: JobWindow, limits: Limits, interval_ms: int, checkpoints: list[CheckpointSample]
) -> Finding:
    durations = [sample.end_to_end_ms or 0 for sample in checkpoints]
    usual_ms, p99_ms = median(durations), quantile(durations, 0.99)
    advised_ms = interval_for(p99_ms)
    share = usual_ms / interval_ms
    title = message(
        "Checkpoints take longer than their interval of {interval_ms:duration}",
        interval_ms=interval_ms,
    )
    if share <= 1:
        title = message(
            "Checkpoints take {share:share} of their interval of {interval_ms:duration}",
            share=share,
            interval_ms=interval_ms,
        )
    return job_finding(
        window,
        RULE,
        "warning",
        "high" if pressure_is_known(window) else "medium",
        title=title,
        cause=message(
            "The next checkpoint is due soon after the last one ends, so that uploads, compactions "
            "and the flush of buffers never pause."
        ),
        next_step=message(
            "Set execution.checkpointing.interval to {advised_ms:duration} (twice the 99th "
            "percentile of the duration) and execution.checkpointing.min-pause to "
            "{advised_ms2:duration}.",
            advised_ms=advised_ms,
            advised_ms2=advised_ms / 2,
        ),
        seen_at_ms=checkpoints[-1].ended_ms,
        evidence=(
            limits.evidence(
                message("duration over interval"),
                share,
                SHARE,
                message("median of {durations:number}", durations=len(durations)),
                comparison=">",
            ),
            Evidence(message("99th percentile of the duration"), p99_ms, "ms"),
            Evidence(message("minimum pause"), window.config.min_pause_ms, "ms"),
        ),
        data={"advised_interval_ms": advised_ms},
    )
