"""A real heap that is nearly full holds a real job back: ``pressure.root`` names the collections,
recounted from Flink's answers.
"""

from itertools import pairwise

import pytest

from tests.played import answers, evidence, of_rule

RULE = "pressure.root"


@pytest.mark.parametrize("played", ["1.20.5/collecting", "2.3.0/collecting"])
def test_collections_are_the_cause_where_flink_counted_them(played):
    told = [one for one in of_rule(played, RULE) if "collected garbage for" in one["cause"]]
    assert told
    counted = collected_by_minute(played)
    for one in told:
        assert one["subject"] == "enrich"
        [(name, share)] = [
            (part["name"], part["value"])
            for part in one["evidence"]
            if part["name"].endswith(" in collections")
        ]
        assert evidence(one, "parse back-pressured") > 0.9
        [of_taskmanager] = [
            shares for key, shares in counted.items() if key.startswith(name.partition(" in ")[0])
        ]
        assert any(share == pytest.approx(ratio, rel=0.02) for ratio in of_taskmanager)
        assert share > 0.4


@pytest.mark.parametrize("played", ["1.20.5/slow-network", "2.3.0/write-stall"])
def test_jobs_whose_heap_is_well_are_held_back_by_no_collections(played):
    assert not [one for one in of_rule(played, RULE) if "collected garbage for" in one["cause"]]


def collected_by_minute(recording):
    """TaskManager → share of the time in collections from the last answer of one minute to that of
    the next, as Flink answered.
    """
    last = {}
    for one in answers(recording, "/taskmanagers/([^/?]+)"):
        if one.body["metrics"]["heapCommitted"]:
            ms = sum(
                gc["time"] for gc in one.body["metrics"]["garbageCollectors"] if gc["name"] != "All"
            )
            last.setdefault(one.found[0], {})[int(one.at // 60)] = one.at, ms
    return {
        name: [
            (after[1] - before[1]) / (after[0] - before[0]) / 1000
            for before, after in pairwise(of_minutes.values())
        ]
        for name, of_minutes in last.items()
    }
