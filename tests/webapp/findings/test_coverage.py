"""Which minutes of a stretch were judged: what no data covers is never called fine."""

from datetime import UTC, datetime, timedelta

import pytest

from webapp.findings.coverage import coverage, tolerated_gap

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)
S0 = int(T0.timestamp())


def at(minute: float) -> datetime:
    return T0 + timedelta(minutes=minute)


def run(first: int, last: int) -> dict[str, int]:
    """Minutes ``first`` to ``last``, both judged."""
    return {"first": S0 + 60 * first, "last": S0 + 60 * last}


def gaps(runs: list[dict[str, int]], start: float, end: float) -> list[tuple[float, float]]:
    found = coverage(runs, at(start), at(end)).gaps
    return [
        ((since - T0) / timedelta(minutes=1), (until - T0) / timedelta(minutes=1))
        for since, until in found
    ]


def test_a_stretch_whose_every_minute_was_judged_is_whole() -> None:
    found = coverage([run(0, 59)], at(10), at(60))
    assert found.is_whole
    assert found.judged == timedelta(minutes=50)


def test_nothing_judged_is_a_gap_from_end_to_end() -> None:
    assert gaps([], 0, 60) == [(0, 60)]
    assert gaps([run(-90, -30)], 0, 60) == [(0, 60)]
    assert coverage([run(-90, -30)], at(0), at(60)).is_empty


def test_gaps_are_before_between_and_after() -> None:
    assert gaps([run(10, 19), run(40, 49)], 0, 60) == [(0, 10), (20, 40), (50, 60)]


def test_runs_may_come_in_any_order_and_overlap() -> None:
    assert gaps([run(40, 59), run(0, 20), run(10, 42)], 0, 60) == []


def test_what_passes_between_two_answers_is_no_gap() -> None:
    pause_min = int(tolerated_gap() / timedelta(minutes=1))
    assert gaps([run(0, 9), run(10 + pause_min, 59)], 0, 60) == []
    assert gaps([run(0, 9), run(11 + pause_min, 59)], 0, 60) == [(10, 11 + pause_min)]


@pytest.mark.parametrize("end", [0, -5])
def test_no_time_at_all_was_not_judged(end: int) -> None:
    assert not coverage([run(0, 59)], at(0), at(end)).is_whole
