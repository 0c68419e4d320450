"""Every column of a serving table that the fold makes is computed: else it would stay empty for
ever, and nothing else would say so.
"""

import pytest

from spark_jobs.fold.job import JobResult, fold
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.fold.state import JobState
from spark_jobs.serving import (
    CHECKPOINT_FACT,
    FINDING_OCCURRENCE,
    HOST_EVENT,
    JOB_ANNOTATION,
    JOB_CURRENT,
    JOB_HOST,
    JOB_JUDGEMENT,
    JOB_START,
    SIZE_TREND,
    ServingTable,
)
from tests.fold.recorded import recorded_jobs
from tests.ingest.recorded import RECORDINGS

MADE = {
    CHECKPOINT_FACT: lambda result: result.facts,
    JOB_ANNOTATION: lambda result: result.annotations,
    JOB_START: lambda result: result.new_starts,
    JOB_HOST: lambda result: result.new_hosts,
    HOST_EVENT: lambda result: result.host_events,
    JOB_CURRENT: lambda result: [result.current],
    SIZE_TREND: lambda result: [result.trend] if result.trend else [],
    FINDING_OCCURRENCE: lambda result: result.judgement["occurrences"] if result.judgement else [],
    JOB_JUDGEMENT: lambda result: (
        [result.judgement | {"as_of": result.judgement["judged_to"]}] if result.judgement else []
    ),
}


@pytest.fixture(scope="module")
def results() -> list[JobResult]:
    names = sorted(
        str(path.parent.relative_to(RECORDINGS)) for path in RECORDINGS.glob("*/*/rest.jsonl")
    )
    found = [fold(job, JobState(), Settings()) for name in names for job in recorded_jobs(name)]
    return [one for one in found if isinstance(one, JobResult)]


@pytest.mark.parametrize("table", MADE, ids=lambda table: table.name)
def test_every_column_is_computed(table: ServingTable, results: list[JobResult]) -> None:
    rows = [row for result in results for row in MADE[table](result)]
    assert rows
    for row in rows:
        assert set(row) >= set(table.column_names) - {"cluster", "job_id"}
