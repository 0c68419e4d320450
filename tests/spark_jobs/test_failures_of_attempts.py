"""A failure belongs to the attempt that ran it, where recorded jobs of one name follow each other."""

from pathlib import Path

import pytest

from spark_jobs.serving import FINDING_OCCURRENCE, JOB_CURRENT, JOB_EXCEPTION, JOB_START
from tests.first_cycles import served_tables

FIXTURES = Path(__file__).parent.parent / "fixtures"
TWO_ATTEMPTS = (
    "incidents/1.20.5/lost-file",
    "incidents/2.3.0/lost-file",
    "incidents/1.20.5/lost-checkpoint",
)


@pytest.mark.parametrize("recording", TWO_ATTEMPTS)
def test_failures_starts_and_findings_lie_within_the_life_of_their_attempt(
    recording: str, tmp_path: Path
) -> None:
    jobs, failures, starts, findings = served_tables(
        FIXTURES / recording, tmp_path, JOB_CURRENT, JOB_EXCEPTION, JOB_START, FINDING_OCCURRENCE
    )
    lives = {job["job_id"]: (job["start_time"], job["end_time"]) for job in jobs}
    dated = [
        *((row["job_id"], row["ts"]) for row in failures),
        *((row["job_id"], row["at"]) for row in starts),
        *((row["job_id"], row["began_at"]) for row in findings if row["job_id"]),
    ]

    assert len(lives) == 2
    assert failures
    assert [
        (job_id, at)
        for job_id, at in dated
        if at < lives[job_id][0] or (lives[job_id][1] and at > lives[job_id][1])
    ] == []
