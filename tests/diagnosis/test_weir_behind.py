"""weir.behind."""

import pytest

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.weir_samples import StageProgress

MINUTE_MS = 60_000


def said(stage: str, minutes: float, error: str = ""):
    return registry.diagnose(StageProgress(stage, int(minutes * MINUTE_MS), 0, error)).findings


@pytest.mark.parametrize(
    ("stage", "what"),
    [("spark/cycle", "interpreted"), ("collect/0", "collected"), ("disk", "collected")],
)
def test_a_stage_that_does_not_get_on_for_five_minutes_is_told_with_its_error(stage, what):
    [finding] = said(stage, 5, "Spark was not started")
    assert (finding.subject_kind, finding.subject_id, finding.severity) == (
        "weir",
        stage,
        "critical",
    )
    assert what in finding.title and "Spark was not started" in finding.cause


def test_a_stage_that_takes_a_few_minutes_is_not():
    assert not said("spark/cycle", 4.9)
