"""Records per second as differences of Flink's counters: what is compared with what, and when it is
unknown.
"""

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.diagnosis.samples import VertexWindow
from spark_jobs.fold import retention
from spark_jobs.fold.job_update import JobUpdate
from spark_jobs.fold.record_counters import EarlierReadings, newest_readings, rates
from spark_jobs.fold.rows import Row
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.fold.state import JobState, unpacked
from tests.fold.pieces import told
from tests.fold.rows import JOB, VERTEX, lake, noon

ARRAYS = {name.name for name in fields(VertexWindow)} - {
    "counted_ms",
    "counted_in_per_s",
    "counted_out_per_s",
}


def answer(
    second: float,
    *read: int | None,
    attempts: tuple[int | None, ...] = (0, 0),
    out: tuple[int, ...] = (0, 0),
) -> Row:
    return {
        "at": noon(second),
        "attempt": list(attempts),
        "records_in": list(read),
        "records_out": list(out),
    }


def window(
    newest: Row | None,
    first: Row | None = None,
    meters: tuple[float | None, ...] = (),
    vertex_id: str = VERTEX,
) -> dict[str, Any]:
    """A vertex in the minute of its newest counters."""
    at = newest["at"] if newest else noon(59)
    return {name: [] for name in ARRAYS} | {
        "vertex_id": vertex_id,
        "window_start": at // 60_000 * 60_000,
        "newest_ts": at,
        "as_of": at,
        "samples": 1,
        "parallelism": 2,
        "records_in_per_s": list(meters),
        "counters": {"newest": newest, "first": first},
    }


def counted(judged: Row, *before: Row) -> tuple[int | None, tuple[float | None, ...]]:
    """Over how long, and records in per second by subtask."""
    found = rates(judged, EarlierReadings(newest_readings(before)))
    return found["counted_ms"], found["counted_in_per_s"]


def test_a_minute_with_several_answers_is_counted_from_its_first_to_its_newest() -> None:
    assert counted(window(answer(55, 600, 60), answer(5, 100, 10))) == (50_000, (10.0, 1.0))


def test_a_job_sampled_once_a_minute_is_counted_from_the_minute_before() -> None:
    before = (
        window(answer(-40, 100, 10)),
        window(answer(-100, 0, 0)),
        window(answer(-40, 0, 0), vertex_id="another"),
    )
    assert counted(window(answer(20, 700, 70)), *before) == (60_000, (10.0, 1.0))


def test_what_has_only_begun_looks_back_to_the_window_before_the_last() -> None:
    assert counted(
        window(answer(5, 700, 70)), window(answer(-5, 690, 69)), window(answer(-65, 0, 0))
    ) == (70_000, (10.0, 1.0))


def test_half_a_minute_is_enough_where_there_is_no_more() -> None:
    assert counted(window(answer(35, 300, 30), answer(5, 0, 0))) == (30_000, (10.0, 1.0))
    assert counted(window(answer(34, 300, 30), answer(5, 0, 0))) == (None, ())


def test_after_a_restart_it_is_counted_from_the_first_answer_of_the_new_attempts() -> None:
    begun = window(answer(45, 300, 30, attempts=(1, 1)), answer(10, 20, 2, attempts=(1, 1)))
    assert counted(begun, window(answer(-20, 0, 0))) == (35_000, (8.0, 0.8))


def test_longer_ago_than_three_windows_tells_nothing_of_the_present() -> None:
    assert counted(window(answer(20, 700, 70)), window(answer(-160, 0, 0)))[0] == 180_000
    assert counted(window(answer(20, 700, 70)), window(answer(-161, 0, 0))) == (None, ())


@pytest.mark.parametrize(
    "newest",
    [
        answer(20, 700, 70, attempts=(0, 1)),
        answer(20, 700, 7),
        answer(20, 700, None),
        answer(20, 700, 70, attempts=(0, None)),
    ],
)
def test_another_attempt_or_a_counter_that_fell_leaves_its_subtask_unknown(newest: Row) -> None:
    assert counted(window(newest), window(answer(-40, 100, 10))) == (60_000, (10.0, None))


def test_a_counter_that_stands_still_while_the_meter_moves_was_not_collected() -> None:
    before = window(answer(-40, 100, 10))
    assert counted(window(answer(20, 700, 10), meters=(10.0, 1.0)), before) == (
        60_000,
        (10.0, None),
    )
    assert counted(window(answer(20, 700, 10), meters=(10.0, 0.0)), before) == (60_000, (10.0, 0.0))


def test_without_counters_nothing_is_counted() -> None:
    assert counted(window(None), window(answer(-40, 100, 10))) == (None, ())


def test_of_each_vertex_the_answers_of_the_last_three_minutes_are_kept() -> None:
    every = [
        window(answer(60 * minute, minute, minute), vertex_id=name)
        for minute in range(30)
        for name in ("a", "b")
    ]
    found = retention.counters(newest_readings(every))
    assert sorted((row["vertex_id"], row["records_in"][0]) for row in found) == [
        (name, n) for name in ("a", "b") for n in range(26, 30)
    ]
    assert retention.counters([*found, *found]) == found


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 90), st.integers(0, 500), st.booleans()), min_size=2, max_size=12
    ),
    st.data(),
)
def test_windows_told_in_two_runs_are_counted_as_in_one(
    steps: list[tuple[int, int, bool]], data: st.DataObject
) -> None:
    second, read, attempt, newest = 0, 0, 0, {}
    for pause, records, restarts in steps:
        second += pause
        attempt, read = (attempt + 1, records) if restarts else (attempt, read + records)
        newest[noon(second) // 60_000] = answer(second, read, 0, attempts=(attempt, attempt))
    every = [window(one) for one in newest.values()]
    cut = data.draw(st.integers(0, len(every)))
    # A window may come again, as when its job is asked twice a minute.
    early, late = every[:cut], every[max(0, cut - 1) :]
    whole = told(job(every), JobState(), Settings())
    first = told(job(early), JobState(), Settings())
    second_run = told(job(late), unpacked(first.state.packed()), Settings())
    expected = {one.window_start_ms: one.vertex_windows for one in whole.windows}
    assert all(expected[one.window_start_ms] == one.vertex_windows for one in second_run.windows)
    assert second_run.state.counters == whole.state.counters


def job(vertex_windows: list[Row]) -> JobUpdate:
    jobs = lake(
        "jobs",
        [
            {
                "name": "orders",
                "state": "RUNNING",
                "observed_at": noon(),
                "vertices": [],
                "edges": [],
            }
        ],
    )
    return JobUpdate("c", JOB, answers=jobs, vertex_windows=vertex_windows)
