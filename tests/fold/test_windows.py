"""Which windows are judged, and what each of them knows."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import pytest

from spark_jobs.diagnosis.samples import CheckpointSample, JobWindow, VertexWindow
from spark_jobs.diagnosis.window_contents import EVENTS
from spark_jobs.fold import windows as judged_windows
from spark_jobs.fold.history import timed
from spark_jobs.fold.job import JobResult
from spark_jobs.fold.job_update import JobUpdate
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.fold.state import JobState
from tests.fold.pieces import told as told_by
from tests.fold.rows import JOB, VERTEX, Row, events, facts, lake, noon, serving

OTHER = "0" * 31 + "2"
NEW = JobState()
NOT_COUNTED = {"newest": None, "first": None}

ORDERS: Row = {
    "name": "orders",
    "state": "RUNNING",
    "vertices": [{"vertex_id": VERTEX, "name": "map", "parallelism": 2}],
    "edges": [],
}


def folded(at: Iterable[int], job: Row = ORDERS, before: JobState = NEW, **news: Any) -> JobResult:
    """The job answers at these instants; ``news`` are other parts of its news, as rows of the
    fold.
    """
    answers = lake("jobs", [{**job, "observed_at": instant} for instant in at])
    return told_by(
        JobUpdate("c", news.pop("job_id", JOB), answers=answers, **news), before, Settings()
    )


def windows(
    at: Iterable[int], job: Row = ORDERS, before: JobState = NEW, **news: Any
) -> list[JobWindow]:
    return folded(at, job, before, **news).windows


def starts(found: Iterable[JobWindow]) -> list[float]:
    """Seconds after noon."""
    return [(window.window_start_ms - noon()) / 1000 for window in found]


def at_s(window: JobWindow) -> float:
    return (window.at_ms - noon()) / 1000


def test_each_minute_into_which_something_new_falls_is_judged_once() -> None:
    assert starts(windows([noon(1), noon(59.9), noon(60), noon(700)])) == [0, 60, 660]


def test_a_window_that_still_runs_is_judged_at_its_newest_data() -> None:
    first, last = windows([noon(1), noon(85)])
    assert (at_s(first), at_s(last)) == (60, 85)


def test_the_window_that_was_running_before_is_judged_again_at_its_end() -> None:
    found = windows([noon(61)], before=JobState(judged_start=noon(0), judged_to=noon(30)))
    assert [at_s(window) for window in found] == [60, 61]


def test_what_comes_late_does_not_touch_the_newest_window() -> None:
    (late,) = windows([noon(5)], before=JobState(judged_start=noon(300), judged_to=noon(330)))
    assert (starts([late]), at_s(late)) == ([0], 60)


def test_nothing_is_judged_after_the_end_of_a_job() -> None:
    ended: Row = {"state": "FINISHED", "end_time": noon(70)}
    found = windows([noon(5), noon(65), noon(4000)], ended)
    assert [
        (start, window.terminal) for start, window in zip(starts(found), found, strict=True)
    ] == [(0, None), (60, True)]


def test_a_job_was_running_in_the_windows_before_its_end() -> None:
    entered = [{"state": "RUNNING", "since": noon(-100)}, {"state": "FINISHED", "since": noon(70)}]
    found = windows(
        [noon(5), noon(65)], {"state": "FINISHED", "end_time": noon(70), "state_since": entered}
    )
    assert [(window.state, window.terminal) for window in found] == [
        ("RUNNING", False),
        ("FINISHED", True),
    ]


def test_a_window_knows_checkpoints_up_to_its_end_and_not_what_became_of_them_later() -> None:
    rows = [
        {"checkpoint_id": 1, "trigger_time": noon(-50), "end_to_end_ms": 1000},
        {
            "checkpoint_id": 2,
            "trigger_time": noon(30),
            "end_to_end_ms": 60_000,
            "outcome": "expired",
            "state_bytes": 5,
        },
        {"checkpoint_id": 3, "trigger_time": noon(61), "end_to_end_ms": 1000},
    ]
    first, second = windows([noon(1), noon(90)], before=JobState(facts=facts(rows)))
    assert [(one.checkpoint_id, one.outcome, one.state_bytes) for one in first.checkpoints] == [
        (1, "completed", None),
        (2, "in_progress", None),
    ]
    assert [(one.checkpoint_id, one.outcome, one.state_bytes) for one in second.checkpoints] == [
        (1, "completed", None), (2, "expired", 5), (3, "completed", None),
    ]  # fmt: skip


def test_only_the_last_checkpoints_are_given_oldest_first() -> None:
    rows = [
        {"checkpoint_id": number, "trigger_time": noon(number - 1000), "end_to_end_ms": 1}
        for number in range(1, 101)
    ]
    (window,) = windows([noon(1)], before=JobState(facts=facts(rows)))
    assert [one.checkpoint_id for one in window.checkpoints] == list(range(41, 101))


def test_a_window_holds_the_events_that_rules_read_and_of_thousands_of_one_kind_the_newest() -> (
    None
):
    deployed = [
        {"kind": "task_deployed", "subtask": index, "ts": noon(10 + index / 1000)}
        for index in range(EVENTS + 50)
    ]
    restarting = {"kind": "job_state", "to_state": "RESTARTING", "ts": noon(-300)}
    running = [
        {"kind": "task_state", "to_state": state, "ts": noon(20)}
        for state in ("RUNNING", "SCHEDULED")
    ]
    archived = {"kind": "job_archived", "ts": noon(-301)}
    window = windows([noon(30)], events=events([archived, restarting, *deployed, *running]))[-1]
    assert [event.rule_kind for event in window.events] == [
        "job_state",
        *["task_deployed"] * EVENTS,
        "task_state RUNNING",
    ]
    assert [event.subtask for event in window.events if event.kind == "task_deployed"] == list(
        range(50, EVENTS + 50)
    )


def test_documents_arrive_as_what_they_hold() -> None:
    declined = {
        "checkpoint_id": 1,
        "trigger_time": noon(1),
        "outcome": "declined",
        "declines": '[{"subtask": 1}]',
    }
    savepoint = {
        "checkpoint_id": 7,
        "trigger_time": noon(2),
        "is_savepoint": True,
        "external_path": "file:/s/7",
        "state_bytes": 5,
    }
    (window,) = windows([noon(1)], before=JobState(facts=facts([declined, savepoint])))
    assert window.checkpoints[0].declines == ({"subtask": 1},)
    assert window.annotations[0].detail == {
        "checkpoint_id": 7,
        "outcome": "completed",
        "end_to_end_ms": None,
        "state_bytes": 5,
        "path": "file:/s/7",
    }


def test_vertices_have_their_means_by_subtask_and_where_these_ran() -> None:
    nothing = dict.fromkeys(name.name for name in fields(VertexWindow))
    row = nothing | {
        "vertex_id": VERTEX,
        "window_start": noon(),
        "newest_ts": noon(31),
        "as_of": noon(31),
        "counters": NOT_COUNTED,
        "samples": 2,
        "parallelism": 2,
        "host": ["a", "b"],
        "taskmanager_id": ["tm-a", "tm-b"],
        "busy_ratio": [0.5, None],
        "backpressured_ratio": [0.5, 0.1],
        "in_pool_usage": [None, None],
    }
    (window,) = windows([noon(1)], vertex_windows=[row])
    (vertex,) = window.vertex_windows
    assert (vertex.busy_ratio, vertex.backpressured_ratio, vertex.in_pool_usage) == (
        (0.5, None),
        (0.5, 0.1),
        (),
    )
    assert (vertex.samples, vertex.parallelism, vertex.host, vertex.taskmanager_id) == (
        2,
        2,
        ("a", "b"),
        ("tm-a", "tm-b"),
    )
    assert window.vertex_name(VERTEX) == "map"


def test_the_windows_before_are_its_past() -> None:
    before = [
        {"vertex_id": VERTEX, "window_start": noon(60 * number), "records_in_per_s": float(number)}
        for number in range(-12, 2)
    ]
    (window,) = windows([noon(1)], pressure=serving("pressure_window", before))
    assert [one.records_in_per_s for one in window.past] == [
        float(number) for number in range(-10, 0)
    ]


def test_the_state_is_that_of_the_newest_completed_checkpoint_by_then() -> None:
    triggered = {1: noon(10), 2: noon(610), 3: noon(1230)}
    done = [
        {"checkpoint_id": number, "trigger_time": at, "status": "COMPLETED"}
        for number, at in triggered.items()
    ]
    parts = [
        one
        | {
            "vertex_id": VERTEX,
            "acknowledged": 2,
            "subtask_state_bytes": [one["checkpoint_id"], 0],
            "subtask_checkpointed_bytes": [1, 0],
        }
        for one in done
    ]
    known = {
        "checkpoints": lake("checkpoints", done),
        "vertex_checkpoints": lake("vertex_checkpoints", parts),
    }
    found = windows([noon(1), noon(601), noon(605), noon(1205)], **known)
    assert [window.vertex_states[0].subtask_state_bytes[0] for window in found] == [1, 2, 3]


def test_a_job_of_which_nothing_else_is_known_is_judged_all_the_same() -> None:
    failed = serving(
        "job_exception", [{"ts": noon(1), "task_key": "", "exception_name": "java.io.IOException"}]
    )
    (window,) = windows([], job_id=OTHER, exceptions=failed)
    assert (window.job_id, window.job_name, window.state, window.checkpoints, window.vertices) == (
        OTHER,
        None,
        None,
        (),
        (),
    )


def test_an_import_of_long_ago_judges_no_more_windows_than_a_run_may(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(judged_windows, "WINDOWS_PER_RUN", 3)
    assert starts(windows([noon(60 * number) for number in range(10)])) == [420, 480, 540]


def test_judgements_name_the_windows_in_runs() -> None:
    judgement = folded([noon(0), noon(60), noon(540), noon(600), noon(900)]).judgement
    assert judgement is not None
    at = noon() // 1000
    runs = [(0, 60), (540, 600), (900, 900)]
    assert judgement["windows"] == [
        {"first": at + first, "last": at + last} for first, last in runs
    ]
    assert judgement["judged_to"] == noon(900)


def test_documents_that_are_remembered_as_text_are_read() -> None:
    fact = {
        "checkpoint_id": 7,
        "trigger_time": 5,
        "outcome": "declined",
        "declines": '[{"subtask": 3}]',
        "late_messages": None,
    }
    (_, (sample,)) = timed(CheckpointSample, [fact], "trigger_time")
    assert (sample.declines, sample.late_messages, sample.not_acknowledged) == (
        ({"subtask": 3},),
        (),
        (),
    )
