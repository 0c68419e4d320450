"""A recording that is collected as it happened, half a minute at a time: what is served, verdicts
among it, is that of one run over all.

A minute is judged again when a checkpoint ends in it, say, and then what was measured in it counts
as before.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ingest.recordings.importer import Recording
from ingest.records import Observed
from spark_jobs.fold import retention
from spark_jobs.serving import SERVING_TABLES
from tests.spark_jobs.instances import Instance, Rows, SmallInstance

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
STEP_S = 30


def observed(recording: str) -> list[Observed]:
    read = Recording(FIXTURES / recording, "played", "UTC", "flink").read(lambda _said: None)
    return [one for of_piece, _size_bytes in read for one in of_piece]


def as_it_happened(recorded: Sequence[Observed]) -> list[list[Observed]]:
    steps: dict[int, list[Observed]] = defaultdict(list)
    for one in recorded:
        steps[int(one.observed_at.timestamp()) // STEP_S].append(one)
    return [steps[step] for step in sorted(steps)]


def logs_last(recorded: Sequence[Observed]) -> list[list[Observed]]:
    """As where logs are shipped late."""
    asked = [one for one in recorded if one.source != "log"]
    return [*as_it_happened(asked), [one for one in recorded if one.source == "log"]]


OF_ONE_RUN = ("job_judgement",)
"""What a run judged, and up to when."""


def played(instance: Instance, steps: Sequence[Sequence[Observed]]) -> Instance:
    for step in steps:
        instance.lake.append(step)
        instance.cycle()
    return instance


def occurrences(instance: Instance, steps: Sequence[Sequence[Observed]]) -> Rows:
    return played(instance, steps).rows("finding_occurrence")


def without_as_of(rows: Rows) -> Rows:
    return {
        key: {name: value for name, value in row.items() if name != "as_of"}
        for key, row in rows.items()
    }


@pytest.mark.parametrize(
    ("recording", "order"),
    [
        ("recordings/1.20.5/B", as_it_happened),
        pytest.param("recordings/1.20.5/F", as_it_happened, marks=pytest.mark.long),
        pytest.param("incidents/1.20.5/burst", as_it_happened, marks=pytest.mark.long),
        pytest.param("incidents/1.20.5/idle-partition", as_it_happened, marks=pytest.mark.long),
        ("incidents/2.3.0/expired", as_it_happened),
        pytest.param("recordings/1.20.5/F", logs_last, marks=pytest.mark.long),
        ("incidents/1.20.5/slow-savepoint", logs_last),
    ],
)
def test_findings_of_each_minute_and_all_else_are_those_of_a_run_over_all(
    tmp_path: Path, recording: str, order: Callable[[Sequence[Observed]], list[list[Observed]]]
) -> None:
    recorded = observed(recording)
    whole = played(SmallInstance(None, tmp_path / "whole"), [recorded])
    steps = played(SmallInstance(None, tmp_path / "steps"), order(recorded))
    assert whole.rows("finding_occurrence")
    assert steps.rows("finding_occurrence") == whole.rows("finding_occurrence")
    for table in SERVING_TABLES.keys() - OF_ONE_RUN:
        assert without_as_of(steps.rows(table)) == without_as_of(whole.rows(table)), table


@pytest.mark.parametrize(
    "recording",
    [
        "recordings/1.20.5/F",
        pytest.param("incidents/1.20.5/slow-savepoint", marks=pytest.mark.long),
    ],
)
def test_what_was_measured_is_looked_up_where_it_is_not_remembered(
    tmp_path: Path, recording: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = observed(recording)
    whole = occurrences(SmallInstance(None, tmp_path / "whole"), [recorded])
    monkeypatch.setattr(retention, "MINUTES_KEPT", 0)
    monkeypatch.setattr(retention, "READINGS_KEPT", 0)
    steps = SmallInstance(None, tmp_path / "steps")
    assert occurrences(steps, logs_last(recorded)) == whole
    assert any(
        "jobs_looked_up" in path
        for manifest in steps.manifests
        for path in manifest.tables["finding_occurrence"].files
    )


@pytest.mark.long
def test_spark_looks_up_what_was_measured_in_minutes_of_long_ago(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Of ten minutes each vertex has remembered windows; logs of before come an hour late."""
    recorded = observed("recordings/1.20.5/F")
    first, *later = logs_last(recorded)
    whole = occurrences(SmallInstance(None, tmp_path / "whole"), [recorded])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retention, "MINUTES_KEPT", 0)
        patch.setattr(retention, "READINGS_KEPT", 0)
        steps = SmallInstance(None, tmp_path / "steps")
        occurrences(steps, [first, *later[:-1]])
    by_spark = Instance(spark, tmp_path / "steps", steps.manifests)
    assert occurrences(by_spark, later[-1:]) == whole
