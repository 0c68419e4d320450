"""Numbers as people read them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.lib.quantities import (
    bytes_rate_text,
    bytes_text,
    capped_count_text,
    count_text,
    duration_text,
    per_second_text,
    percent_text,
    usage_text,
)


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (530, "530 B"),
        (999, "999 B"),
        (999.6, "1.0 kB"),
        (8_840_000, "8.8 MB"),
        (82_400_000, "82 MB"),
        (1_200_000_000_000, "1.2 TB"),
    ],
)
def test_sizes_have_two_digits_and_a_unit(size_bytes, text):
    assert bytes_text(size_bytes) == text


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [
        (0, "0 ms"),
        (850, "850 ms"),
        (4_000, "4.0 s"),
        (25_924, ("26 s")),
        (59_999, ("1 min")),
        (125_000, ("2 min 5 s")),
        (3_600_000, "1 h"),
        (273_600_000, "3 d 4 h"),
        (-1_500, "−1.5 s"),
    ],
)
def test_durations_have_two_units_at_most(duration_ms, text):
    assert duration_text(duration_ms) == text


def test_a_trend_always_has_a_sign():
    assert bytes_rate_text(3_500_000) == "+3.5 MB/h"
    assert bytes_rate_text(-3_500_000) == "−3.5 MB/h"


def test_a_small_share_does_not_look_like_none():
    assert percent_text(0.001) == "< 1 %"
    assert percent_text(0) == "0 %"


def test_what_is_not_all_is_never_a_hundred_percent():
    assert [percent_text(share) for share in (0.994, 0.996, 0.99999, 1, 1.004)] == [
        "99 %",
        "> 99 %",
        "> 99 %",
        "100 %",
        "100 %",
    ]


def test_a_capped_count_says_that_there_are_more():
    assert capped_count_text(1_001, 1_000) == "1,000+"
    assert capped_count_text(1_000, 1_000) == "1,000"


@pytest.mark.parametrize(
    "words",
    [
        bytes_text,
        bytes_rate_text,
        duration_text,
        percent_text,
        usage_text,
        count_text,
        per_second_text,
    ],
)
@pytest.mark.parametrize("unknown", [None, math.nan, math.inf, ""])
def test_unknown_is_a_dash_and_never_zero(words, unknown):
    assert words(unknown) == "–"


@given(st.floats(min_value=0, max_value=1e18, allow_nan=False))
def test_any_size_stays_short(size_bytes):
    assert len(bytes_text(size_bytes)) <= 7


@given(st.integers(min_value=0, max_value=10**12))
def test_any_duration_stays_short(duration_ms):
    assert len(duration_text(duration_ms)) <= 13
