from collections.abc import Iterator

from ingest.messages import message, ms_text
from spark_jobs.diagnosis.findings import Finding, Limits, Threshold
from spark_jobs.diagnosis.rule import last_error, rule, sample_finding
from spark_jobs.diagnosis.weir_samples import StageProgress

RULE = "weir.behind"
AFTER = f"{RULE}.after_s"


@rule(
    RULE,
    message("Weir is behind"),
    message(
        "Weir has collected nothing, or interpreted nothing of what it collected, for five minutes."
    ),
    judges=StageProgress,
    thresholds=(
        Threshold(
            AFTER,
            300,
            "s",
            30,
            86_400,
            message(
                "Stages run every few seconds; a first cycle over a large lake, and a restart of "
                "Weir, take minutes."
            ),
        ),
    ),
)
def judge(sample: StageProgress, limits: Limits) -> Iterator[Finding]:
    behind_ms = sample.at_ms - sample.since_ms
    if behind_ms < limits[AFTER] * 1000:
        return
    evidence, error = last_error(sample.error)
    behind = ms_text(behind_ms)
    if sample.stage.startswith("spark/"):
        title = message("Weir has interpreted nothing for {behind:name}", behind=behind)
        cause = message(
            "What was collected since waits in the lake: pages show an older state, and no finding "
            "begins or ends.{error:text}",
            error=error,
        )
    else:
        title = message(
            "Weir has collected nothing in {stage:name} for {behind:name}",
            stage=sample.stage,
            behind=behind,
        )
        cause = message(
            "Weir does not ask these clusters, so the state of their jobs is unknown. The "
            "clusters are not the cause.{error:text}",
            error=error,
        )
    yield sample_finding(
        sample,
        RULE,
        "critical",
        title=title,
        cause=cause,
        next_step=message(
            "Open the page Pipeline: it says which worker is missing, what fails and since "
            "when. Then look into the log of that run: memory, disk, the database or "
            "Spark. Weir catches up by itself, the oldest first."
        ),
        evidence=(limits.evidence(message("behind for"), behind_ms / 1000, AFTER), *evidence),
    )
