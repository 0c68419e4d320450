from collections.abc import Iterator

from ingest.messages import message
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits
from spark_jobs.diagnosis.rule import rule, vertex_finding
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.scalings import INEFFECTIVE, Scaling, scalings

RULE = "scaling.ineffective"
LOOK_BACK_MS = 6 * 3_600_000


@rule(
    RULE,
    message("Scaling did not help"),
    message(
        "The autoscaler scaled a vertex up, and measured afterwards that it got less faster than "
        "expected."
    ),
    hold_s=3_600,
    needs=("annotations",),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    if window.terminal or not any(one.subject == INEFFECTIVE for one in window.annotations):
        return
    newest = {
        scaling.vertex_id: scaling
        for scaling in scalings(window.annotations, window.starts)
        if scaling.at_ms >= window.at_ms - LOOK_BACK_MS
    }
    for scaling in newest.values():
        if scaling.was_ineffective:
            yield _finding(window, scaling)


def _finding(window: JobWindow, scaling: Scaling) -> Finding:
    name = window.brief_name(scaling.vertex_id)
    lost = (
        message("The job did not run for {lost:duration} for it.", lost=scaling.lost_ms)
        if scaling.lost_ms is not None
        else message("How long the job did not run for it is not known.")
    )
    return vertex_finding(
        window,
        scaling.vertex_id,
        RULE,
        "warning",
        "medium",
        title=message(
            "{name:name}: scaling from {before:number} to {after:number} did not help",
            name=name,
            before=scaling.before,
            after=scaling.after,
        ),
        cause=message(
            "More subtasks do not make it faster: another vertex or an outside system limits it, its "
            "keys are skewed, or its tasks share the same cores. {lost:message}",
            lost=lost,
        ),
        next_step=message(
            "Look for what limits it: findings on skew, on back-pressure behind it, and the load of "
            "its sink or source. Exclude it from scaling (job.autoscaler.vertex.exclude.ids), or let "
            "the autoscaler block such scalings (job.autoscaler.scaling.effectiveness.detection."
            "enabled)."
        ),
        seen_at_ms=scaling.at_ms,
        evidence=(
            Evidence(message("gain measured"), scaling.gain_per_s, "records/s"),
            Evidence(message("gain expected"), scaling.expected_gain_per_s, "records/s"),
            Evidence(message("time lost"), scaling.lost_ms, "ms"),
        ),
        data={"from": scaling.before, "to": scaling.after, "lost_ms": scaling.lost_ms},
    )
