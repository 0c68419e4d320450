"""The range of a restore, held against restores that do take a fixed time and a time by bytes."""

from hypothesis import given
from hypothesis import strategies as st

from webapp.analyses.recovery.job_restores import restore_range

sizes = st.integers(1, 10**12)


@given(st.lists(sizes, min_size=1, max_size=20), sizes, st.floats(0, 1e5), st.floats(1e-9, 1e-3))
def test_a_restore_of_fixed_time_and_time_by_bytes_lies_in_the_range(
    observed, size, fixed_ms, ms_per_byte
):
    def took(size_bytes):
        return fixed_ms + ms_per_byte * size_bytes

    found = restore_range([(took(one), one) for one in observed], size)
    assert found.least_ms <= took(size) * (1 + 1e-9)
    assert took(size) <= found.most_ms * (1 + 1e-9)
    assert found.least_ms <= found.expected_ms <= found.most_ms


def test_what_is_not_known_gives_no_range():
    assert restore_range([], 7) is None
    assert restore_range([(10, None), (10, 0)], 7) is None
    assert restore_range([(10, 5)], None) is None
