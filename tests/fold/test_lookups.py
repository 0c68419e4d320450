"""When a job asks the lake for rows that its state does not hold any more, and when it need not."""

from collections.abc import Iterable
from typing import Any

from spark_jobs.fold.checkpoint_rows import HELD_LEAST, HELD_MS
from spark_jobs.fold.checkpoints import FACTS_KEPT, FACTS_KEPT_MOST, Lookup
from spark_jobs.fold.job import JobResult, fold
from spark_jobs.fold.job_update import JobUpdate
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.fold.state import JobState, unpacked
from tests.fold.pieces import told, with_found
from tests.fold.rows import JOB, events, lake, noon

EVERY_S = 60


def answered(numbers: Iterable[int]) -> list[dict[str, Any]]:
    """Checkpoints that completed, one a minute."""
    return lake(
        "checkpoints",
        [
            {
                "checkpoint_id": number,
                "trigger_time": noon(EVERY_S * number),
                "observed_at": noon(EVERY_S * number + 5),
                "status": "COMPLETED",
                "state_bytes": 10,
                "checkpointed_bytes": 1,
                "end_to_end_ms": 900,
            }
            for number in numbers
        ],
    )


def late_line(number: int, at_s: float) -> dict[str, Any]:
    (line,) = events(
        [
            {
                "kind": "late_message",
                "checkpoint_id": number,
                "ts": noon(at_s),
                "observed_at": noon(at_s),
                "task": "map",
                "host": "a",
            }
        ]
    )
    return line


def after(count: int) -> JobState:
    """What is remembered after that many checkpoints, each read in a run of its own but for those
    at first.
    """
    state = told(
        JobUpdate("c", JOB, checkpoints=answered(range(1, count))), JobState(), Settings()
    ).state
    return unpacked(
        told(JobUpdate("c", JOB, checkpoints=answered([count])), state, Settings()).state.packed()
    )


def test_a_line_about_the_newest_checkpoint_needs_nothing_of_the_lake() -> None:
    result = fold(
        JobUpdate("c", JOB, events=[late_line(200, EVERY_S * 200 + 30)]), after(200), Settings()
    )
    assert isinstance(result, JobResult)
    (fact,) = result.facts
    assert (fact["checkpoint_id"], fact["late_message_count"], fact["state_bytes"]) == (200, 1, 10)


def test_a_line_about_a_checkpoint_whose_rows_are_not_held_asks_for_them_and_then_adds_to_its_fact() -> (
    None
):
    before, number = after(200), 200 - HELD_LEAST - HELD_MS // 1000 // EVERY_S - 1
    news = JobUpdate("c", JOB, events=[late_line(number, EVERY_S * 200)])
    lookup = fold(news, before, Settings())
    assert isinstance(lookup, Lookup)
    assert lookup.from_ms < noon(EVERY_S * number) <= lookup.to_ms
    found = with_found(news, JobUpdate("c", JOB, checkpoints=answered(range(1, 201))), lookup)
    (fact,) = told(found, before, Settings()).facts
    assert (fact["checkpoint_id"], fact["late_message_count"], fact["state_bytes"]) == (
        number,
        1,
        10,
    )


def test_a_window_of_long_ago_sees_the_checkpoints_before_it_though_their_facts_are_not_kept() -> (
    None
):
    before, at = after(1000), 600
    failure = {
        "ts": noon(EVERY_S * at),
        "task_key": "",
        "exception_name": "x",
        "is_root": True,
        "as_of": noon(EVERY_S * 1000),
        "stacktrace": None,
        "host": None,
        "taskmanager_id": None,
    }
    news = JobUpdate("c", JOB, exceptions=[failure])
    lookup = fold(news, before, Settings())
    assert isinstance(lookup, Lookup)
    found = with_found(news, JobUpdate("c", JOB, checkpoints=answered(range(1, 1001))), lookup)
    window = told(found, before, Settings()).windows[0]
    assert [one.checkpoint_id for one in window.checkpoints][-3:] == [at - 2, at - 1, at]


def test_what_is_kept_of_a_long_life_is_bounded() -> None:
    states = [after(count) for count in (1000, 3000)]
    assert all(FACTS_KEPT <= len(state.facts) <= FACTS_KEPT_MOST for state in states)
    assert len(states[1].packed()) < 1.2 * len(states[0].packed())
