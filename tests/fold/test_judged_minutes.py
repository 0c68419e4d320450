"""Which minutes count as judged, against the raw answers of real clusters."""

import json
from typing import Any

import pytest

from spark_jobs.fold.rule_evaluation import MOST_RUNS, joined, runs
from tests.fold.recorded import recorded_jobs
from tests.fold.test_recorded_lives import told
from tests.ingest.recorded import RECORDINGS

MINUTE_S = 60


def minutes(spans: list[dict[str, int]]) -> set[int]:
    return {start for span in spans for start in range(span["first"], span["last"] + 1, MINUTE_S)}


def answered_minutes(recording: str, job_id: str) -> set[int]:
    """Minutes in which the JobManager answered for this job while it had not ended, from the raw
    lines.
    """
    found: set[int] = set()
    for line in (RECORDINGS / recording / "rest.jsonl").read_text().splitlines():
        answer: dict[str, Any] = json.loads(line)
        if (
            answer["path"] == f"/jobs/{job_id}"
            and answer["status"] == 200
            and answer["body"]["end-time"] < 0
        ):
            found.add(int(answer["ts"]) // MINUTE_S * MINUTE_S)
    return found


@pytest.mark.parametrize("recording", ["1.20.5/J", "1.20.5/I", "1.12.5/G", "1.20.5/H"])
def test_every_minute_in_which_a_running_job_was_answered_for_is_judged(recording: str) -> None:
    compared = 0
    for job in recorded_jobs(recording):
        life = told(job)
        assert life.judgement is not None
        answered = answered_minutes(recording, job.job_id)
        assert answered <= minutes(life.judgement["covered"])
        compared += len(answered)
    assert compared >= 2


def test_what_was_judged_in_earlier_runs_stays_judged() -> None:
    assert joined([*runs([120_000]), *runs([0, 60_000]), *runs([300_000])]) == [
        {"first": 0, "last": 120},
        {"first": 300, "last": 300},
    ]


def test_runs_are_bounded_and_the_newest_stay() -> None:
    found = joined({"first": 600 * number, "last": 600 * number} for number in range(MOST_RUNS + 7))
    assert (len(found), found[-1]["first"]) == (MOST_RUNS, 600 * (MOST_RUNS + 6))
