"""data.skew of records, as a real Flink played it: counted from its raw answers."""

from statistics import mean

import pytest

from tests.diagnosis.test_played_pressure import measured
from tests.played import answers, evidence, of_rule, vertices

RATIO = 3
"""What the rule asks for: the largest over the typical subtask."""


@pytest.fixture(params=["1.20.5/burst", "2.3.0/burst"])
def burst(request: pytest.FixtureRequest) -> str:
    return request.param


def source(burst: str) -> tuple[str, str]:
    """Name and id."""
    (found,) = [
        (name, vertex_id)
        for name, vertex_id in vertices(burst).items()
        if name.startswith("Source")
    ]
    return found


def emitted(burst: str) -> list[tuple[float, list[int]]]:
    """Time, and records that both subtasks of the source had emitted by then; only answers that
    Flink calls complete.
    """
    found = answers(burst, rf".*/vertices/{source(burst)[1]}")
    told = [(one.at, [subtask["metrics"] for subtask in one.body["subtasks"]]) for one in found]
    whole = [
        (at, metrics)
        for at, metrics in told
        if all(one["write-records-complete"] for one in metrics)
    ]
    return [(at, [one["write-records"] for one in metrics]) for at, metrics in whole]


def of_minute(burst: str, begin: float) -> list[tuple[float, list[int]]]:
    return [(at, counts) for at, counts in emitted(burst) if begin <= at < begin + 60]


def by_counters(burst: str, begin: float) -> list[float]:
    """Records a second of both subtasks from the first to the last answer of a minute."""
    (since, before), *_, (until, after) = of_minute(burst, begin)
    return [(now - then) / (until - since) for then, now in zip(before, after, strict=True)]


def by_meters(burst: str, begin: float) -> list[float]:
    """The same as Flink's meters say, a mean over the minute's answers."""
    told = measured(burst, source(burst)[0], "numRecordsOutPerSecond")
    return [
        mean(rate for at, rate in told[subtask] if begin <= at < begin + 60) for subtask in (0, 1)
    ]


def minutes(burst: str) -> list[float]:
    """Starts of the whole minutes that were recorded."""
    known = [at for at, _ in emitted(burst)]
    first = -(-known[0] // 60) * 60
    return [first + 60 * number for number in range(int((known[-1] - first) // 60))]


def test_a_burst_is_uneven_in_its_minute_and_no_more_when_it_is_over(burst):
    uneven = [
        begin
        for begin in minutes(burst)
        if max(by_counters(burst, begin)) >= RATIO * min(by_counters(burst, begin))
    ]
    assert len(uneven) == 1
    assert [one["window_start"].timestamp() for one in of_rule(burst, "data.skew")] == uneven


def test_the_meter_went_on_to_show_it_for_a_minute(burst):
    (found,) = of_rule(burst, "data.skew")
    after = found["window_start"].timestamp() + 60
    assert max(by_meters(burst, after)) >= RATIO * min(by_meters(burst, after))
    even = by_counters(burst, after)
    assert max(even) < 1.1 * min(even)


def test_its_figures_are_differences_of_flinks_counters(burst):
    (found,) = of_rule(burst, "data.skew")
    begin = found["window_start"].timestamp()
    typical, hottest = by_counters(burst, begin)
    assert (found["subject_id"], found["data"]["hot_subtasks"], found["severity"]) == (
        source(burst)[1],
        [1],
        "info",
    )
    assert abs(evidence(found, "records of the hottest subtask") - hottest) < 0.001 * hottest
    assert abs(found["data"]["share"] - hottest / (hottest + typical)) < 0.001
    (since, _), *_, (until, _) = of_minute(burst, begin)
    notes = {
        one["note"].rpartition("; ")[2]
        for one in found["evidence"]
        if one["name"].startswith("records")
    }
    assert notes == {f"counted over {until - since:.1f} s"}
