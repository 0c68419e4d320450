"""Restarts of the adaptive scheduler without a failure, each with another parallelism. The rule
``restart.loop`` leaves them out.
"""

from collections.abc import Iterator

from ingest.messages import list_text, message, plural
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, Threshold
from spark_jobs.diagnosis.restart_episodes import READS, RESCALE_SEEN_MS, episodes, is_rescaling
from spark_jobs.diagnosis.rule import job_finding, rule
from spark_jobs.diagnosis.samples import JobWindow

RULE = "restart.rescale_loop"
RESCALES, WINDOW = f"{RULE}.rescales", f"{RULE}.window_s"


@rule(
    RULE,
    message("Rescale loop"),
    message("The parallelism of the job was changed four times within half an hour, by restarts."),
    hold_s=1_800,
    reads=READS,
    needs=("annotations",),
    thresholds=(
        Threshold(
            RESCALES,
            4,
            "count",
            2,
            1_000,
            message("A new size of the cluster takes one or two rescales, as its nodes arrive."),
        ),
        Threshold(
            WINDOW,
            1_800,
            "s",
            60,
            86_400,
            message("The autoscaler measures for a quarter of an hour before it scales again."),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    since_ms = window.at_ms - round(limits[WINDOW] * 1000)
    changes = [
        annotation
        for annotation in window.annotations
        if annotation.kind == "rescale" and annotation.at_ms >= since_ms
    ]
    if window.terminal or len(changes) < limits[RESCALES]:
        return
    rescales = [
        episode
        for episode in episodes(window, since_ms)
        if not episode.failures and not episode.lost and is_rescaling(window, episode)
    ]
    if len(rescales) < limits[RESCALES]:
        return
    begun_ms = rescales[0].begun_ms
    names = dict.fromkeys(window.brief_name(change.subject) for change in changes)
    sizes = [str(change.detail["to"]) for change in changes if "to" in change.detail]
    lost_ms = [
        start.total_ms
        for start in window.starts
        if begun_ms - RESCALE_SEEN_MS <= start.at_ms and start.total_ms is not None
    ]
    yield job_finding(
        window,
        RULE,
        "warning",
        "high",
        title=message(
            "{rescales:message} within {within:duration} and no failure",
            rescales=plural(len(rescales), "{count:count} rescale", "{count:count} rescales"),
            within=window.at_ms - begun_ms,
        ),
        cause=message(
            "Something changes the wanted or the possible parallelism again and again: {names:name} "
            "({sizes:text}). No task runs during each restart, and what is not in a checkpoint is "
            "read again.",
            names=list_text(names),
            sizes=" → ".join(sizes[-10:]),
        ),
        next_step=message(
            "See who asks for it: the autoscaler's reports, or TaskManagers that come and go. Then "
            "raise job.autoscaler.stabilization.interval, or the adaptive scheduler's "
            "scaling-interval and stabilization timeouts, and keep the number of TaskManagers steady."
        ),
        seen_at_ms=rescales[-1].restarts[-1],
        began_at_ms=begun_ms,
        evidence=(
            limits.evidence(message("rescales"), len(rescales), RESCALES),
            Evidence(message("time lost"), sum(lost_ms) if lost_ms else None, "ms"),
        ),
        data={"sizes": sizes},
    )
