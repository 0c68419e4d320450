"""Weir itself does not get on: it collects nothing, or interprets nothing of what it collects. Then no other rule finds anything.

Judged where Weir watches itself. A cluster that does not answer is ``collect.blind``, and no matter of this rule.
"""

from collections.abc import Iterator

from spark_jobs.diagnosis.findings import Evidence, Finding
from spark_jobs.diagnosis.registry import rule
from spark_jobs.diagnosis.stack_traces import without_middle
from spark_jobs.diagnosis.thresholds import Limits, Threshold
from spark_jobs.diagnosis.weir_samples import StageProgress
from spark_jobs.diagnosis.wording import ms_text

RULE = "weir.behind"
AFTER = f"{RULE}.after_s"


@rule(
    RULE,
    "Weir is behind",
    "Weir has collected nothing, or interpreted nothing of what it collected, for five minutes.",
    judges=StageProgress,
    thresholds=(
        Threshold(
            AFTER, 300, "s", 30, 86_400,
            "Stages run every few seconds; a first cycle over a large lake, and a restart of Weir, take minutes.",
        ),
    ),
)  # fmt: skip
def judge(sample: StageProgress, limits: Limits) -> Iterator[Finding]:
    behind_ms = sample.at_ms - sample.since_ms
    if behind_ms < limits[AFTER] * 1000:
        return
    evidence = [limits.compared("behind for", behind_ms / 1000, "s", ">=", AFTER, sample.at_ms)]
    error = ""
    if sample.error:
        evidence.append(Evidence("last error", without_middle(sample.error, 500), at_ms=sample.at_ms))
        error = f" The error of the last attempt: {without_middle(sample.error, 200)}"
    behind = ms_text(behind_ms)
    if sample.stage.startswith("spark/"):
        title = f"Weir has interpreted nothing for {behind}"
        cause = f"What was collected since waits in the lake: pages show an older state, and no finding begins or ends.{error}"
    else:
        title = f"Weir has collected nothing in {sample.stage} for {behind}"
        cause = f"Weir does not ask these clusters: how their jobs are is unknown, and that is no fault of theirs.{error}"
    yield Finding(
        rule=RULE,
        severity="critical",
        confidence="high",
        subject_kind="weir",
        subject_id=sample.stage,
        subject=f"Weir: {sample.stage}",
        title=title,
        cause=cause,
        next_step="Open the page Pipeline: it says which worker is missing, what fails and since when. Then look into the log of that "
        "run: memory, disk, the database or Spark. Weir catches up by itself, the oldest first.",
        seen_at_ms=sample.at_ms,
        evidence=tuple(evidence),
        data={"stage": sample.stage, "since_ms": sample.since_ms},
    )
