"""A job that its JobManager lists no more: over, nobody knows how, and back when it is listed."""

from itertools import permutations
from typing import Any

import pytest

from ingest.flink_rest.payloads import jobs
from ingest.job_states import NOT_LISTED, TERMINAL_STATES
from spark_jobs.diagnosis.window_contents import OVER_STATES
from spark_jobs.fold.job import JobResult
from spark_jobs.fold.job_update import JobUpdate
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.fold.state import JobState, unpacked
from tests.fold.pieces import told
from tests.fold.rows import JOB, Row, events, lake, noon, only, serving
from tests.fold.test_windows import ORDERS, at_s, starts

RUNS: Row = {
    **ORDERS,
    "start_time": noon(-3600),
    "state_since": [{"state": "RUNNING", "since": noon(-3600)}],
    "checkpoint_interval_ms": 10_000,
    "checkpoint_timeout_ms": 600_000,
    "checkpointing_mode": "exactly_once",
}
MISSED: Row = {"state": NOT_LISTED, "end_time": noon(40), "observed_at": noon(100)}
"""Listed last at 40 s, and not at 70 s nor at 100 s."""
PENDING: Row = {"checkpoint_id": 7, "trigger_time": noon(38), "status": "IN_PROGRESS"}


def runs(at: float, **fields: Any) -> Row:
    return {**RUNS, "observed_at": noon(at), **fields}


def folded(answers: list[Row], before: JobState | None = None, **news: Any) -> JobResult:
    update = JobUpdate("c", JOB, answers=lake("jobs", answers), **news)
    return told(update, unpacked(before.packed()) if before else JobState(), Settings())


def state(result: JobResult) -> tuple[Any, ...]:
    return tuple(result.current[name] for name in ("state", "terminal", "end_time"))


def line(kind: str, to_state: str, at: float) -> list[dict[str, Any]]:
    return events([{"kind": kind, "to_state": to_state, "ts": noon(at), "observed_at": noon(200)}])


def test_the_collector_and_the_rules_mean_the_same_states() -> None:
    assert NOT_LISTED not in jobs.TERMINAL
    assert set(TERMINAL_STATES) == jobs.TERMINAL == {*OVER_STATES} - {NOT_LISTED}


def test_it_is_over_but_was_not_seen_to_end_and_stays_what_it_was_otherwise() -> None:
    before = folded([runs(10), runs(40)])
    after = folded([MISSED], before.state)
    assert state(after) == (NOT_LISTED, False, noon(40))
    names = ("name", "start_time", "graph", "checkpoint_config", "first_seen_at", "last_seen_at")
    assert [after.current[name] for name in names] == [before.current[name] for name in names]
    assert after.current["as_of"] == noon(100)


def test_it_runs_again_when_it_is_listed_again() -> None:
    missed = folded([MISSED], folded([runs(40)]).state)
    assert state(folded([runs(130)], missed.state)) == ("RUNNING", False, None)
    for order in permutations([runs(40), MISSED, runs(130)]):
        assert state(folded(list(order))) == ("RUNNING", False, None)


def test_minutes_after_a_job_is_back_are_judged_as_of_one_that_runs() -> None:
    found = folded([runs(40), MISSED, runs(130), runs(190)]).windows
    assert [
        (start, window.state, window.terminal)
        for start, window in zip(starts(found), found, strict=True)
    ] == [
        (0, "RUNNING", False),
        (60, "RUNNING", False),
        (120, "RUNNING", False),
        (180, "RUNNING", False),
    ]


def test_no_minute_after_its_last_listing_is_judged_and_that_one_as_of_one_that_is_over() -> None:
    after = folded([MISSED], folded([runs(40)]).state)
    assert starts(after.windows) == [0]
    window = only(after.windows)
    assert (window.state, window.terminal, at_s(window)) == (NOT_LISTED, True, 60)
    late = folded([], after.state, events=line("job_state", "RUNNING", 90))
    assert starts(late.windows) in ([], [0]) and state(late)[0] == NOT_LISTED


def test_a_later_minute_that_was_judged_before_it_was_missed_is_its_last() -> None:
    before = folded([runs(40)], events=line("checkpoint_triggered", "", 70))
    assert starts(before.windows) == [0, 60]
    after = folded([MISSED], before.state)
    assert [(window.state, window.terminal) for window in after.windows] == [(NOT_LISTED, True)]
    assert starts(after.windows) == [60] and after.judgement


def test_hours_without_a_checkpoint_are_no_stall_of_a_job_that_is_listed_no_more() -> None:
    """It runs for an hour without one: critical, until it is missed."""

    def found(result: JobResult) -> set[str]:
        assert result.judgement
        return {one["rule"] for one in result.judgement["occurrences"]}

    before = folded([runs(40)])
    assert "checkpoint.stalled" in found(before)
    assert "checkpoint.stalled" not in found(folded([MISSED], before.state))


@pytest.mark.parametrize("trigger", [38, 55])
def test_a_pending_checkpoint_is_aborted_and_said_not_to_be_known(trigger: float) -> None:
    """Also one that was triggered after the last listing."""
    pending = {**PENDING, "trigger_time": noon(trigger), "observed_at": noon(56)}
    before = folded([runs(40)], checkpoints=lake("checkpoints", [pending]))
    assert only(before.facts)["outcome"] == "in_progress"
    fact = only(folded([MISSED], before.state).facts)
    assert (fact["outcome"], fact["reason"], fact["final"]) == ("aborted", "JOB_NOT_LISTED", True)
    assert fact["end_time"] == noon(100) and "not known" in fact["reason_text"]


def test_a_failure_just_before_does_not_make_it_a_failed_one() -> None:
    failure = {"ts": noon(39.9), "task_key": "t", "exception_name": "x.Y"}
    before = folded([runs(40)], checkpoints=lake("checkpoints", [PENDING]))
    after = folded([MISSED], before.state, exceptions=serving("job_exception", [failure]))
    assert [fact["outcome"] for fact in after.facts] == ["aborted"]


def test_a_checkpoint_that_is_answered_when_the_job_is_back_is_what_the_answer_says() -> None:
    before = folded([runs(40)], checkpoints=lake("checkpoints", [PENDING]))
    missed = folded([MISSED], before.state)
    completed = {
        **PENDING,
        "status": "COMPLETED",
        "end_to_end_ms": 4_000,
        "observed_at": noon(130),
    }
    back = folded([runs(130)], missed.state, checkpoints=lake("checkpoints", [completed]))
    assert [(fact["outcome"], fact["reason"]) for fact in back.facts] == [("completed", None)]


def test_how_it_ended_is_believed_of_a_log_and_of_a_later_answer() -> None:
    missed = folded([MISSED], folded([runs(40)]).state)
    logged = folded([], missed.state, events=line("job_terminal", "CANCELED", 60))
    assert state(logged) == ("CANCELED", True, noon(60))
    archived = {"state": "FAILED", "end_time": noon(61)}
    for at in (80, 500):
        rows = [{**archived, "observed_at": noon(at)}]
        assert state(folded(rows, missed.state)) == ("FAILED", True, noon(61))


def test_an_end_before_its_last_listing_was_of_an_earlier_run() -> None:
    earlier = {"state": "FINISHED", "end_time": noon(5), "observed_at": noon(6)}
    assert state(folded([earlier, runs(40), MISSED])) == (NOT_LISTED, False, noon(40))
    logged = line("job_terminal", "FINISHED", 5)
    assert state(folded([runs(40), MISSED], events=logged)) == (NOT_LISTED, False, noon(40))


def test_an_answer_that_names_the_state_itself_without_an_end_breaks_nothing() -> None:
    said = {"state": NOT_LISTED, "end_time": None, "observed_at": noon(100)}
    assert state(folded([runs(40), said])) == (NOT_LISTED, False, None)
    both = folded([runs(40), said], events=line("job_terminal", "FAILED", 60))
    assert state(both)[0] == NOT_LISTED


def test_its_tasks_left_their_hosts_when_it_was_listed_last() -> None:
    placed = {"ts": noon(1), "vertex_id": "v", "host": ["a", "b"], "attempt": [0, 0]}
    before = folded([runs(40)], placements=[placed])
    assert {row["host"]: row["left_at"] for row in before.new_hosts} == {"a": None, "b": None}
    after = folded([MISSED], before.state)
    assert {row["left_at"] for row in after.new_hosts} == {noon(40)}
