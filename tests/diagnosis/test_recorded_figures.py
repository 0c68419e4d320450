"""One thing has one figure, and a figure of few samples claims no more than they prove: findings of
recordings.
"""

import re
from dataclasses import replace

import pytest

from spark_jobs.diagnosis.registry import diagnose, limits
from tests.windows import recorded_windows

FULL, LIMITS = "checkpoint.full_after_savepoint", limits({})


def found(name, own=LIMITS, **changes):
    for window in recorded_windows(name):
        yield from diagnose(replace(window, **changes), own).findings


@pytest.mark.parametrize("name", ["1.20.5-B", "1.20.5-C2", "1.20.5-F", "1.20.5-L2"])
def test_processors_used_are_the_same_in_cause_and_evidence(name):
    compared = 0
    for one in found(name):
        in_words = re.findall(r"used (\S+) processors", one.cause)
        used = [it.value for it in one.evidence if it.name.endswith("processors used")]
        if in_words:
            assert [f"{value:.2f}" for value in used] == in_words
            assert min(used) > 0
            compared += 1
    assert compared


def test_names_of_files_prove_it_and_no_chance_stands_beside_them():
    judged = [one for one in found("1.12.5-G") if one.rule == FULL]
    assert {one.confidence for one in judged} == {"high"}
    assert not [it for one in judged for it in one.evidence if it.name.startswith("chance")]
