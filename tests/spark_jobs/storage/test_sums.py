"""Sizes that storage or a hostile ``_metadata`` report are added up exactly, or to the most that a
column holds.
"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.storage.arrays import sums

MOST = 2**63 - 1
sizes = st.one_of(
    st.integers(0, 1 << 40), st.integers(MOST - 3, MOST), st.sampled_from([2**62, 2**53 + 1])
)


@given(rows=st.lists(st.tuples(st.integers(0, 3), sizes), max_size=20))
def test_a_sum_that_no_column_holds_is_the_largest_that_one_does(
    rows: list[tuple[int, int]],
) -> None:
    at, values = (np.array([row[place] for row in rows], np.int64) for place in (0, 1))
    exact = [sum(size for number, size in rows if number == one) for one in range(4)]
    assert sums(at, values, 4).tolist() == [min(one, MOST) for one in exact]
