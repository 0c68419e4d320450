"""Starts by their phases, against the raw lines of the JobManager's log, and against tasks made
up.
"""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.fold.start_summary import summary
from spark_jobs.fold.start_tasks import Task
from spark_jobs.fold.starts import PARTS
from spark_jobs.fold.state import JobState, unpacked
from tests.fold.pieces import split, told
from tests.fold.recorded import recorded_job
from tests.fold.rows import VERTEX, events, lake, noon
from tests.raw_starts import by_log

BY_LOG = ["1.20.5/I", "1.20.5/J", "1.20.5/E"]


def starts(job: Any, before: JobState | None = None) -> list[dict[str, Any]]:
    return list(told(job, before or JobState(), Settings()).state.starts)


@pytest.mark.parametrize("recording", BY_LOG)
def test_the_log_tells_the_phases_of_each_start(recording: str) -> None:
    found = starts(replace(recorded_job(recording), vertex_starts=()))
    raw = by_log(f"recordings/{recording}")[-12:]
    assert [(one["running_at"], one["tasks"]) for one in found] == [
        (one["RUNNING"], one["tasks"]) for one in raw
    ]
    for one, lines in zip(found, raw, strict=True):
        assert abs(one["at"] - lines["at"]) <= 50  # REST may have dated it
        assert one["slots_ms"] == max(lines["DEPLOYING"] - one["at"], 0)
        assert one["deploy_ms"] == lines.get("INITIALIZING", lines["RUNNING"]) - lines["DEPLOYING"]
        assert one["restore_ms"] == (
            lines["RUNNING"] - lines["INITIALIZING"] if "INITIALIZING" in lines else None
        )
        assert one["total_ms"] is not None
        assert (
            abs(sum(one[f"{part}_ms"] or 0 for part in PARTS if part != "detect") - one["total_ms"])
            <= 50
        )
        assert one["kind"] == ("start" if one is found[0] else "restart")


@pytest.mark.parametrize("cut", range(0, 70, 14))
def test_a_log_that_comes_in_pieces_tells_the_same(cut: int) -> None:
    job = recorded_job("1.20.5/J")
    at = min(event["ts"] for event in job.events) + cut * 1_000
    early, late = split(job, lambda row: (row.get("ts") or row.get("observed_at")) < at)
    whole = starts(job)
    if cut:
        found = starts(late, unpacked(told(early, JobState(), Settings()).state.packed()))
        assert [one["running_at"] for one in found] == [one["running_at"] for one in whole]
        assert [one["total_ms"] for one in found] == pytest.approx(
            [one["total_ms"] for one in whole], abs=50
        )


def job_with(rows: list[dict[str, Any]], *states: tuple[str, float], seen: float = 200) -> Any:
    since = [{"state": state, "since": noon(at)} for state, at in states]
    answers = lake(
        "jobs",
        [
            {
                "observed_at": noon(seen),
                "start_time": noon(0),
                "state": "RUNNING",
                "state_since": since,
            }
        ],
    )
    return replace(
        recorded_job("1.20.5/E"),
        events=(),
        checkpoints=(),
        vertex_checkpoints=(),
        placements=(),
        answers=answers,
        vertex_starts=rows,
    )


def ran(*subtasks: tuple[int, float, float, float, float], ts: float = 100) -> dict[str, Any]:
    """``subtasks``: attempt, and seconds at which it was scheduled, deployed, initialised and
    ran.
    """
    columns = dict(
        zip(
            ("attempt", "scheduled_at", "deploying_at", "initializing_at", "running_at"),
            zip(*subtasks, strict=True),
            strict=True,
        )
    )
    instants = {
        name: [noon(at) for at in values] for name, values in columns.items() if name != "attempt"
    }
    place = {
        "attempt": list(columns["attempt"]),
        "host": ["a"] * len(subtasks),
        "taskmanager_id": ["tm"] * len(subtasks),
    }
    return {"vertex_id": VERTEX, "ts": noon(ts), "observed_at": noon(ts), **place, **instants}


def test_a_subtask_that_was_deployed_again_unseen_counts_once() -> None:
    rows = [
        ran((0, 1, 2, 3, 5), (0, 1, 2, 3, 5)),
        ran((0, 1, 2, 3, 5), (1, 51, 52, 53, 60), ts=150),
        ran((0, 1, 2, 3, 5), (2, 71, 72, 73, 80), ts=190),
    ]
    job = job_with(lake("vertex_starts", rows), ("RUNNING", 1), ("RESTARTING", 45), ("RUNNING", 51))
    assert [one["tasks"] for one in starts(job)] == [2, 1]


def test_rest_alone_tells_a_start_and_a_restart_of_one_region() -> None:
    first = ran((0, 1, 2, 3, 5), (0, 1, 2.5, 4, 6))
    again = ran((0, 1, 2, 3, 5), (1, 51, 52, 53, 60), ts=150)
    job = job_with(lake("vertex_starts", [first]), ("CREATED", 0.5), ("RUNNING", 1))
    later = job_with(
        lake("vertex_starts", [again]),
        ("CREATED", 0.5),
        ("RESTARTING", 45),
        ("RUNNING", 51),
        seen=300,
    )
    before = unpacked(told(job, JobState(), Settings()).state.packed())
    one, other = starts(later, before)
    assert (
        one["kind"],
        one["tasks"],
        one["graph_ms"],
        one["slots_ms"],
        one["deploy_ms"],
        one["restore_ms"],
    ) == (
        "start",
        2,
        1_000,
        1_500,
        1_500,
        2_000,
    )
    assert (
        other["kind"],
        other["tasks"],
        other["wait_ms"],
        other["slots_ms"],
        other["deploy_ms"],
        other["restore_ms"],
    ) == (
        "restart",
        1,
        6_000,
        1_000,
        1_000,
        7_000,
    )
    assert (one["total_ms"], other["total_ms"]) == (6_000, 15_000)
    assert starts(later, before) == starts(
        replace(later, vertex_starts=[*later.vertex_starts] * 2), before
    )


def test_a_job_of_which_nothing_new_tells_of_a_start_keeps_what_it_has() -> None:
    job = job_with(lake("vertex_starts", [ran((0, 1, 2, 3, 5))]), ("RUNNING", 1))
    first = told(job, JobState(), Settings())
    assert len(first.new_starts) == 1
    quiet = replace(
        job,
        vertex_starts=(),
        events=events([{"kind": "checkpoint_completed", "ts": noon(120), "checkpoint_id": 1}]),
    )
    second = told(quiet, unpacked(first.state.packed()), Settings())
    assert list(second.new_starts) == []
    assert list(second.state.starts) == list(first.state.starts)


tasks = st.lists(
    st.builds(
        lambda vertex, subtask, place, deploying, deploy, restore: Task(
            vertex,
            subtask,
            0,
            f"host {place % 2}",
            (f"tm {place}"),
            0,
            deploying,
            deploying + deploy,
            deploying + deploy + restore,
        ),
        st.sampled_from("abc"),
        st.integers(0, 9),
        st.integers(0, 3),
        *(st.sampled_from([0, 100, 900, 5_000, 40_000]) for _ in range(3)),
    ),
    min_size=1,
    max_size=20,
    unique_by=lambda task: (task.vertex_id, task.subtask),
)


@given(tasks)
def test_figures_of_tasks_are_those_of_a_plain_count(given_tasks: list[Task]) -> None:
    found = summary(given_tasks, {})
    last = max(task.running_at for task in given_tasks)
    slow = set()
    for vertex in "abc":
        own = sorted(task.own_ms for task in given_tasks if task.vertex_id == vertex)
        usual = own[(len(own) - 1) // 2] if own else 0
        slow |= {
            task
            for task in given_tasks
            if task.vertex_id == vertex
            and task.own_ms >= 3 * usual
            and task.own_ms >= usual + 1_000
        }
    others = [task.running_at for task in given_tasks if task not in slow]
    assert found["stragglers"] == len(slow)
    assert found["held_up_ms"] == (max(last - max(others), 0) if slow and others else 0)
    assert found["deploy_ms"] + found["restore_ms"] == last - max(
        task.deploying_at for task in given_tasks
    )
    named = [(one["vertex_id"], one["subtask"]) for one in found["detail"]["slowest"]]
    assert len(named) == min(max(1, len(slow)), 100)
    assert found["detail"]["slowest"][0]["own_ms"] == max(task.own_ms for task in given_tasks)
