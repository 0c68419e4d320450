"""data.skew of records, as a real Flink played it: counted from its raw answers."""

from statistics import mean

from tests.diagnosis.test_played_pressure import measured
from tests.played import answers, evidence, of_rule, vertices

BURST = "1.20.5/burst"
RATIO = 3
"""What the rule asks for: the largest over the typical subtask."""


def source() -> tuple[str, str]:
    """Name and id."""
    (found,) = [(name, vertex_id) for name, vertex_id in vertices(BURST).items() if name.startswith("Source")]
    return found


def emitted() -> list[tuple[float, list[int]]]:
    """Time, and records that both subtasks of the source had emitted by then; only answers that Flink calls complete."""
    told = [(one.at, [subtask["metrics"] for subtask in one.body["subtasks"]]) for one in answers(BURST, rf".*/vertices/{source()[1]}")]
    whole = [(at, metrics) for at, metrics in told if all(one["write-records-complete"] for one in metrics)]
    return [(at, [one["write-records"] for one in metrics]) for at, metrics in whole]


def by_counters(begin: float) -> list[float]:
    """Records a second of both subtasks from the first to the last answer of a minute."""
    minute = [(at, counts) for at, counts in emitted() if begin <= at < begin + 60]
    (since, before), (until, after) = minute[0], minute[-1]
    return [(now - then) / (until - since) for then, now in zip(before, after, strict=True)]


def by_meters(begin: float) -> list[float]:
    """The same as Flink's meters say, a mean over the minute's answers."""
    told = measured(BURST, source()[0], "numRecordsOutPerSecond")
    return [mean(rate for at, rate in told[subtask] if begin <= at < begin + 60) for subtask in (0, 1)]


def minutes() -> list[float]:
    """Starts of the whole minutes that were recorded."""
    known = [at for at, _ in emitted()]
    first = -(-known[0] // 60) * 60
    return [first + 60 * number for number in range(int((known[-1] - first) // 60))]


def test_a_burst_is_uneven_in_its_minute_and_no_more_when_it_is_over():
    uneven = [begin for begin in minutes() if max(by_counters(begin)) >= RATIO * min(by_counters(begin))]
    assert len(uneven) == 1
    assert [one["window_start"].timestamp() for one in of_rule(BURST, "data.skew")] == uneven


def test_the_meter_went_on_to_show_it_for_a_minute():
    (found,) = of_rule(BURST, "data.skew")
    after = found["window_start"].timestamp() + 60
    assert max(by_meters(after)) >= RATIO * min(by_meters(after))
    even = by_counters(after)
    assert max(even) < 1.1 * min(even)


def test_its_figures_are_differences_of_flinks_counters():
    (found,) = of_rule(BURST, "data.skew")
    typical, hottest = by_counters(found["window_start"].timestamp())
    assert (found["subject_id"], found["data"]["hot_subtasks"], found["severity"]) == (source()[1], [1], "info")
    for name, value in (("records of the hottest subtask", hottest), ("records of a typical sibling", typical)):
        assert abs(evidence(found, name) - value) < 0.001 * value
    assert abs(found["data"]["share"] - hottest / (hottest + typical)) < 0.001
    assert {one["note"].rpartition("; ")[2] for one in found["evidence"] if one["name"].startswith("records")} == {"counted over 50.7 s"}
