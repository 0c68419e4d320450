"""Facts of every checkpoint of every recording against an independent recount of its raw answers and logs."""

from functools import cache
from typing import Any

import pytest

from spark_jobs.fold.judging import Settings
from tests.acceptance.recount import Key, Mentioned, counters, recount, refusals
from tests.fold.pieces import in_two_runs, split
from tests.fold.recorded import recorded_job, recorded_jobs
from tests.fold.test_recorded_lives import told
from tests.ingest.recorded import ALL, RECORDINGS

LOST = ("declined", "expired", "failed", "aborted", "subsumed")
"""What Flink calls failed, whoever wanted it."""


@cache
def facts(recording: str) -> dict[Key, dict[str, Any]]:
    found: dict[Key, dict[str, Any]] = {}
    for job in recorded_jobs(recording):
        found |= {(job.job_id, fact["checkpoint_id"], fact["trigger_time"]): fact for fact in told(job).facts}
    return found


@cache
def recounted(recording: str) -> dict[Key, Mentioned]:
    return recount(RECORDINGS / recording)


@pytest.mark.parametrize("recording", ALL)
def test_every_checkpoint_has_the_outcome_of_the_recount(recording: str) -> None:
    assert {key: fact["outcome"] for key, fact in facts(recording).items()} == {
        key: known.outcome for key, known in recounted(recording).items()
    }


@pytest.mark.parametrize("recording", ALL)
def test_completed_and_failed_add_up_to_flinks_own_counters(recording: str) -> None:
    """Flink counts refusals before the start among the failed; they have no id and are no checkpoints."""
    for job_id, (at, counts) in counters(RECORDINGS / recording).items():
        # REST's last answer is up to three seconds old: what it found in progress is in no counter yet.
        ended = [
            fact["outcome"]
            for key, fact in facts(recording).items()
            if key[0] == job_id and fact["end_time"] <= at * 1000 and not recounted(recording)[key].was_in_progress
        ]
        assert ended.count("completed") == counts["completed"], job_id
        lost = sum(outcome in LOST for outcome in ended)
        assert lost + refusals(RECORDINGS / recording, job_id, at) == counts["failed"], job_id


def test_checkpoints_that_died_with_a_taskmanager_have_failed_for_that_reason() -> None:
    """1.20.5/I: five were pending when a TaskManager was killed, one when the job was cancelled."""
    lost = [fact for fact in facts("1.20.5/I").values() if fact["outcome"] == "failed"]
    assert len(lost) == 5
    assert {fact["reason"] for fact in lost} == {"TASK_FAILURE"}
    assert all("Connection unexpectedly closed by remote task manager" in fact["reason_text"] for fact in lost)
    assert [fact["outcome"] for fact in facts("1.20.5/I").values()].count("aborted") == 1


@pytest.mark.parametrize("late", [("task_state",), ("task_state", "job_state", "job_terminal"), ("checkpoint_failed",)])
def test_a_failure_that_is_read_later_than_what_it_took_still_is_its_reason(late: tuple[str, ...]) -> None:
    job = recorded_job("1.20.5/I")
    early, rest = split(job, lambda row: row.get("kind") not in late)
    runs = in_two_runs(early, rest, Settings())
    at_once = {key[1:]: fact for key, fact in facts("1.20.5/I").items()}
    told = ("outcome", "reason", "reason_text")
    assert {key: [fact[name] for name in told] for key, fact in runs.facts.items()} == {
        key: [fact[name] for name in told] for key, fact in at_once.items()
    }
