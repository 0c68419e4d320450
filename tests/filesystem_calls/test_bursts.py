"""Bursts of random small fleets, against every second."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.filesystem_calls.bursts import Burst, calls_by_second

SECONDS = 24
WRITTEN = st.builds(Burst, st.floats(-5, 30), st.floats(0, 9), st.integers(0, 100))


@settings(deadline=None)
@given(st.lists(WRITTEN, max_size=8))
def test_calls_of_each_second_are_those_of_the_checkpoints_under_way(checkpoints):
    found = calls_by_second(checkpoints, SECONDS)
    for second in range(SECONDS):
        told = 0.0
        for one in checkpoints:
            lasts = max(1, -int(-one.duration_s // 1))
            began = int(one.start_s // 1)
            told += one.calls / lasts if began <= second < began + lasts else 0
        assert found[second] == pytest.approx(told)
