"""What is remembered: bounded, the same whatever the order of arrival, and no less for being kept
again.
"""

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.diagnosis.window_contents import UPLOADS
from spark_jobs.fold import retention, taskmanagers
from spark_jobs.fold.rows import Row
from tests.fold.rows import VERTEX, events, lake, noon, serving
from tests.fold.told import (
    ANSWERS,
    EVENTS,
    FAILURES,
    PLACEMENTS,
    PRESSURE,
    SNAPSHOTS,
    TASKMANAGERS,
    UPLOADED,
)

Keep = Callable[[Iterable[Row]], list[Row]]
KINDS: dict[str, tuple[Keep, st.SearchStrategy[list[dict[str, Any]]]]] = {
    "answers": (retention.answers, ANSWERS),
    "events": (lambda lines: retention.events(retention.each_once(lines)), EVENTS),
    "placements": (retention.placements, PLACEMENTS),
    "pressure": (retention.pressure, PRESSURE),
    "failures": (retention.failures, FAILURES),
    "uploads": (retention.uploads, UPLOADED),
    "snapshots": (retention.snapshots, SNAPSHOTS),
    "taskmanagers": (
        lambda rows: taskmanagers.TaskManagerHistory(rows, (noon(80), noon(190))).remembered(),
        TASKMANAGERS,
    ),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def same(rows: Iterable[Row]) -> list[str]:
    return sorted(str(sorted(row.items())) for row in rows)


@every_kind
@given(st.data())
def test_what_is_kept_is_kept_whole_again(kind: str, data: st.DataObject) -> None:
    keep, rows = KINDS[kind]
    once = keep(data.draw(rows))
    assert same(keep(once)) == same(once)


@every_kind
@given(st.data(), st.randoms(use_true_random=False))
def test_order_and_replays_of_rows_do_not_matter(
    kind: str, data: st.DataObject, chance: Random
) -> None:
    keep, strategy = KINDS[kind]
    rows = data.draw(strategy)
    again = [*rows, *rows[:3]]
    chance.shuffle(again)
    assert same(keep(again)) == same(keep(rows))


@every_kind
@given(st.data(), st.integers(0, 12))
def test_keeping_in_pieces_is_keeping_at_once(kind: str, data: st.DataObject, cut: int) -> None:
    keep, strategy = KINDS[kind]
    rows = data.draw(strategy)
    assert same(keep([*keep(rows[:cut]), *rows[cut:]])) == same(keep(rows))


def test_answers_in_which_nothing_changes_are_kept_as_the_first_and_the_last() -> None:
    told = [
        {"observed_at": noon(second), "state": "RUNNING" if second < 50 else "CANCELED"}
        for second in range(0, 100, 10)
    ]
    assert [row["observed_at"] for row in retention.answers(lake("jobs", told))] == [
        noon(0),
        noon(40),
        noon(50),
        noon(90),
    ]


def test_of_many_answers_the_newest_are_kept() -> None:
    told = lake(
        "jobs",
        [
            {"observed_at": noon(number), "restarts": number}
            for number in range(retention.JOB_ANSWERS_KEPT + 7)
        ],
    )
    assert [row["restarts"] for row in retention.answers(told)] == list(
        range(7, retention.JOB_ANSWERS_KEPT + 7)
    )


def test_of_the_lines_those_that_tell_of_the_jobs_life_are_kept_and_its_first_and_last() -> None:
    kinds = [
        "tm_registered",
        "task_state",
        "job_state",
        "tm_registered",
        "checkpoint_triggered",
        "tm_registered",
    ]
    lines = events(
        [
            {"kind": kind, "ts": noon(number), "to_state": "FAILED"}
            for number, kind in enumerate(kinds)
        ]
    )
    assert [event["ts"] for event in retention.events(retention.each_once(lines))] == [
        noon(0),
        noon(1),
        noon(2),
        noon(5),
    ]


def test_of_many_lines_the_newest_and_the_first_are_kept() -> None:
    lines = events(
        [{"kind": "job_state", "ts": noon(number)} for number in range(retention.EVENTS_KEPT + 9)]
    )
    assert [event["offset"] for event in retention.events(retention.each_once(lines))] == [
        0,
        *range(9, retention.EVENTS_KEPT + 9),
    ]


def test_a_placement_is_dated_by_its_first_sight() -> None:
    occurrences = ((9, ["a"]), (5, ["a"]), (7, ["b"]), (1, []))
    seen = [
        {"vertex_id": VERTEX, "ts": noon(at), "host": host, "attempt": [0]}
        for at, host in occurrences
    ]
    assert sorted((row["ts"], row["host"]) for row in retention.placements(seen)) == [
        (noon(5), ["a"]),
        (noon(7), ["b"]),
    ]


def test_of_placements_at_one_instant_the_same_is_kept_whatever_their_order() -> None:
    attempts = (None, [])
    seen = [
        {"vertex_id": VERTEX, "ts": noon(), "host": ["a"], "attempt": attempt}
        for attempt in attempts
    ]
    assert retention.placements(seen) == retention.placements(seen[::-1])


def test_of_each_vertex_the_newest_pressure_windows_are_kept_as_last_told() -> None:
    told = [
        {
            "vertex_id": vertex,
            "window_start": noon(60 * number),
            "busy_share": share,
            "as_of": noon(as_of),
        }
        for vertex in "ab"
        for number in range(12)
        for share, as_of in ((0.5, 900), (0.1, 800))
    ]
    windows = retention.pressure(serving("pressure_window", told))
    assert sorted((row["vertex_id"], row["window_start"]) for row in windows) == [
        (one, noon(60 * n)) for one in "ab" for n in range(2, 12)
    ]
    assert {row["busy_share"] for row in windows} == {0.5}


def test_figures_that_an_earlier_version_remembered_are_kept_without_the_newest_ones() -> None:
    (now,) = retention.gauges(
        lake(
            "vertex_gauges",
            [{"vertex_id": VERTEX, "ts": noon(), "writes_stopped": 2, "observed_at": noon()}],
        )
    )
    earlier = {name: value for name, value in now.items() if name != "sent_watermark_ms"} | {
        "ts": noon(-15)
    }
    assert [row["sent_watermark_ms"] for row in retention.gauges([earlier, now])] == [None, None]


def test_what_vertices_did_is_kept_for_two_minutes_and_longer_where_it_is_little() -> None:
    def rows(parallelism: int) -> list[dict[str, object]]:
        return [
            {
                "vertex_id": "a",
                "window_start": noon(60 * n),
                "as_of": noon(60 * n),
                "parallelism": parallelism,
            }
            for n in range(9)
        ]

    assert [row["window_start"] for row in retention.vertex_windows(rows(50_000))] == [
        noon(480),
        noon(420),
    ]
    assert len(retention.vertex_windows(rows(4))) == 9
    assert retention.vertex_windows([*rows(4), *rows(4)]) == retention.vertex_windows(rows(4))


def test_failures_are_kept_newest_first_with_their_traces_cut() -> None:
    told = [
        {"ts": noon(number), "task_key": "", "exception_name": "x", "stacktrace": "y" * 5000}
        for number in range(60)
    ]
    found = retention.failures(serving("job_exception", told))
    assert [row["ts"] for row in found] == [noon(number) for number in range(59, 9, -1)]
    assert {len(row["stacktrace"]) for row in found} == {retention.TRACE_CHARS}


def test_the_newest_uploads_are_kept() -> None:
    told = [
        {"checkpoint_id": number, "trigger_time": noon(number), "as_of": noon(number)}
        for number in range(30)
    ]
    assert [
        row["checkpoint_id"] for row in retention.uploads(serving("checkpoint_upload", told))
    ] == list(range(30 - UPLOADS, 30))
