"""Facts of every checkpoint of every recording against an independent recount of its raw answers
and logs.
"""

import json
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from spark_jobs.fold.rule_evaluation import Settings
from tests.acceptance.recount import (
    Key,
    Mentioned,
    counters,
    figures,
    has_one_size,
    recount,
    refusals,
)
from tests.fold.pieces import in_two_runs, split
from tests.fold.recorded import recorded_job, recorded_jobs
from tests.fold.test_recorded_lives import told
from tests.ingest.recorded import ALL, RECORDINGS
from tests.selections import mostly_long

LOST = ("declined", "expired", "failed", "aborted", "subsumed")
"""What Flink calls failed, whoever wanted it."""


@cache
def facts(recording: str) -> dict[Key, dict[str, Any]]:
    found: dict[Key, dict[str, Any]] = {}
    for job in recorded_jobs(recording):
        found |= {
            (job.job_id, fact["checkpoint_id"], fact["trigger_time"]): fact
            for fact in told(job).facts
        }
    return found


@cache
def recounted(recording: str) -> dict[Key, Mentioned]:
    return recount(RECORDINGS / recording)


@pytest.mark.parametrize("recording", mostly_long(ALL, short=8))
def test_every_checkpoint_has_the_outcome_of_the_recount(recording: str) -> None:
    assert {key: fact["outcome"] for key, fact in facts(recording).items()} == {
        key: known.outcome for key, known in recounted(recording).items()
    }


@pytest.mark.parametrize("recording", ALL)
def test_completed_and_failed_add_up_to_flinks_own_counters(recording: str) -> None:
    """Flink counts refusals before the start among the failed; they have no id and are no
    checkpoints.
    """
    for job_id, (at, counts) in counters(RECORDINGS / recording).items():
        # REST's last answer is up to three seconds old: what it found in progress is in no counter
        # yet.
        ended = [
            fact["outcome"]
            for key, fact in facts(recording).items()
            if key[0] == job_id
            and fact["end_time"] <= at * 1000
            and not recounted(recording)[key].was_in_progress
        ]
        assert ended.count("completed") == counts["completed"], job_id
        lost = sum(outcome in LOST for outcome in ended)
        assert lost + refusals(RECORDINGS / recording, job_id, at) == counts["failed"], job_id


@pytest.mark.parametrize("recording", ALL)
def test_figures_of_every_checkpoint_are_those_of_the_last_word(recording: str) -> None:
    every = facts(recording)
    for key, known in recounted(recording).items():
        wanted = figures(known, is_one_size=has_one_size(recording))
        assert {name: every[key][name] for name in wanted} == wanted, key


@pytest.mark.parametrize("recording", ["1.20.5/B", "1.20.5/F", "1.20.5/I", "1.20.5/L2"])
def test_without_final_answers_the_figures_are_those_of_the_log(recording: str) -> None:
    """As where REST was not asked again before it forgot a checkpoint: what it said in
    mid-checkpoint is nobody's figure.
    """
    job = recorded_job(recording)
    is_open = [row for row in job.checkpoints if row["status"] == "IN_PROGRESS"]
    found = {
        fact["checkpoint_id"]: fact
        for fact in told(replace(job, checkpoints=is_open, vertex_checkpoints=[])).facts
    }
    completed = {
        key[1]: known
        for key, known in recounted(recording).items()
        if known.completed_bytes is not None
    }
    seen = {row["checkpoint_id"] for row in is_open} & completed.keys()
    assert seen
    for number in seen:
        fact, known = found[number], completed[number]
        found_figures = [
            fact[name]
            for name in ("state_bytes", "end_to_end_ms", "acknowledged", "checkpointed_bytes")
        ]
        assert found_figures == [known.completed_bytes, known.completed_ms, None, None], number


@pytest.mark.parametrize("recording", ALL)
def test_who_had_not_acknowledged_a_lost_checkpoint_is_who_flink_does_not_count(
    recording: str,
) -> None:
    """Flink lists subtasks whose snapshot was aborted as completed, and does not count them as
    acknowledged.
    """
    for key, known in recounted(recording).items():
        fact = facts(recording)[key]
        if fact["outcome"] in ("completed", "in_progress") or known.final is None:
            assert fact["not_acknowledged"] is None or fact["outcome"] not in (
                "completed",
                "in_progress",
            )
            continue
        entries = fact["not_acknowledged"] or []
        assert (
            sum(one["count"] for one in entries)
            == known.final["num_subtasks"] - known.final["num_acknowledged_subtasks"]
        ), key
        silent = {
            vertex_id: {
                part["index"]
                for part in parts
                if "ack_timestamp" not in part or part.get("aborted")
            }
            for vertex_id, parts in known.subtasks.items()
        }
        named = {
            one["vertex_id"]: set(one["subtasks"]) for one in entries if one["vertex_id"] in silent
        }
        assert named == {vertex_id: indexes for vertex_id, indexes in silent.items() if indexes}, (
            key
        )
        assert all(
            len(one["subtasks"]) == one["count"] for one in entries if one["vertex_id"] in silent
        ), key


def test_checkpoints_that_died_with_a_taskmanager_have_failed_for_that_reason() -> None:
    """1.20.5/I: five were pending when a TaskManager was killed, one when the job was cancelled."""
    lost = [fact for fact in facts("1.20.5/I").values() if fact["outcome"] == "failed"]
    assert len(lost) == 5
    assert {fact["reason"] for fact in lost} == {"TASK_FAILURE"}
    assert all(
        "Connection unexpectedly closed by remote task manager" in fact["reason_text"]
        for fact in lost
    )
    assert [fact["outcome"] for fact in facts("1.20.5/I").values()].count("aborted") == 1


@pytest.mark.parametrize(
    "late", [("task_state",), ("task_state", "job_state", "job_terminal"), ("checkpoint_failed",)]
)
def test_a_failure_that_is_read_later_than_what_it_took_still_is_its_reason(
    late: tuple[str, ...],
) -> None:
    job = recorded_job("1.20.5/I")
    early, rest = split(job, lambda row: row.get("kind") not in late)
    runs = in_two_runs(early, rest, Settings())
    at_once = {key[1:]: fact for key, fact in facts("1.20.5/I").items()}
    told = ("outcome", "reason", "reason_text")
    assert {key: [fact[name] for name in told] for key, fact in runs.facts.items()} == {
        key: [fact[name] for name in told] for key, fact in at_once.items()
    }


@pytest.mark.parametrize("recording", ["1.12.5/G", "1.20.5/A", "1.20.5/B", "1.20.5/F", "1.20.5/M"])
def test_how_late_sources_started_is_what_rest_answered_of_them(recording: str) -> None:
    """Sources are the vertices that no other one of the plan feeds."""
    compared = 0
    for key, known in recounted(recording).items():
        sources = sources_of(recording, key[0])
        done = {
            (vertex, one["index"]): one["start_delay"]
            for vertex, subtasks in known.subtasks.items()
            for one in subtasks
            if vertex in sources and one["status"] == "completed"
        }
        fact = facts(recording)[key]
        if not done or known.final is None or fact["start_delay_ms"] is None:
            continue
        assert fact["source_start_delay_ms"] == max(done.values()), key
        assert done[fact["latest_source_id"], fact["latest_source_subtask"]] == max(
            done.values()
        ), key
        compared += 1
    assert compared


@cache
def sources_of(recording: str, job_id: str) -> frozenset[str]:
    for line in (RECORDINGS / recording / "rest.jsonl").open(encoding="utf-8"):
        answer = json.loads(line)
        if (
            answer["path"] == f"/jobs/{job_id}"
            and answer["status"] == 200
            and answer["body"]["plan"].get("nodes")
        ):
            return frozenset(
                node["id"] for node in answer["body"]["plan"]["nodes"] if not node.get("inputs")
            )
    raise AssertionError(job_id)
