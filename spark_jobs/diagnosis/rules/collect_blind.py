"""Only windows that watch the sources of a cluster have ``gaps``."""

from collections.abc import Iterator

from ingest.messages import message, plural
from spark_jobs.diagnosis.findings import Finding, Limits, Threshold
from spark_jobs.diagnosis.rule import job_finding, last_error, rule
from spark_jobs.diagnosis.samples import JobWindow, SourceGap

RULE = "collect.blind"


@rule(
    RULE,
    message("Source silent"),
    message("A source gave no data for three cycles."),
    needs=("gaps",),
    thresholds=(
        Threshold(
            f"{RULE}.cycles",
            3,
            "cycles",
            1,
            1_000,
            message(
                "One missed cycle is a time-out or a restart of the JobManager; three in a row are "
                "not."
            ),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    if window.terminal:
        return
    for gap in sorted(window.gaps, key=lambda gap: (gap.source, gap.since_ms)):
        if gap.cycles >= limits[f"{RULE}.cycles"]:
            yield _finding(window, limits, gap)


def _finding(window: JobWindow, limits: Limits, gap: SourceGap) -> Finding:
    key = f"{RULE}.cycles"
    silent_ms = max(0, window.at_ms - gap.since_ms)
    evidence, error = last_error(gap.error)
    name = message("{cluster:name}: {source:name}", cluster=window.cluster, source=gap.source)
    return job_finding(
        window,
        RULE,
        "critical",
        "high",
        subject=("cluster", gap.source, name),
        title=message(
            "{source:name} of {cluster:name} has been silent for {cycles:message} "
            "({silent_ms:duration})",
            source=gap.source,
            cluster=window.cluster,
            cycles=plural(gap.cycles, "{count:count} cycle", "{count:count} cycles"),
            silent_ms=silent_ms,
        ),
        cause=message(
            "Weir does not see the states of jobs and tasks, checkpoints, back-pressure and "
            "exceptions. Health is unknown, not good.{error:text}",
            error=error,
        ),
        next_step=message(
            "Check that the JobManager (or the directory of this source) can be reached "
            "from Weir's collector with the cluster's settings: address, certificate, "
            "token, firewall. A JobManager that is down shows here first."
        ),
        evidence=(limits.evidence(message("missed cycles"), gap.cycles, key), *evidence),
    )
