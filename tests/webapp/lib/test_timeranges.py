"""Time ranges as typed into the address."""

from datetime import UTC, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webapp.builders import T0
from webapp.lib.instants import age_text, drawable, from_json, span_text
from webapp.lib.timeranges import LONGEST, BadTimeRange, around, instant, parse


def test_without_parameters_it_is_the_last_six_hours():
    chosen = parse({}, T0)
    assert (chosen.from_time, chosen.to_time, chosen.chosen) == (T0 - timedelta(hours=6), T0, False)


def test_relative_and_absolute_ends_mix_and_are_kept_as_typed():
    chosen = parse({"from": "now-7d", "to": "2026-02-28T04:10:00Z"}, T0)
    assert chosen.to_time == T0 - timedelta(days=1)
    assert chosen.query == "from=now-7d&to=2026-02-28T04%3A10%3A00Z"


@pytest.mark.parametrize("written", ["0001-01-01T00:00Z", "9999-12-31T23:59:59.9Z", "now-700000d"])
def test_an_instant_has_room_for_margins_on_both_sides(written):
    """Pages look for what happened around it."""
    at = instant(written, T0)
    assert at - timedelta(days=9_999) < at < at + timedelta(days=9_999)


def test_an_instant_without_zone_is_utc():
    assert parse({"from": "2026-02-28T04:10"}, T0).from_time == T0 - timedelta(days=1)


@pytest.mark.parametrize(
    "start",
    [
        "yesterday",
        "now+1h",
        "now-1y",
        "9999-99-99",
        "now-999999w",
        "0001-01-01T00:00+14:00",
        "now",
        "now-91d",
        "<script>",
        "now-٣h",
        "NaN",
        "1" + "0" * 30,
    ],
)
def test_nonsense_is_refused_in_one_sentence(start):
    with pytest.raises(BadTimeRange) as refused:
        parse({"from": start}, T0)
    assert len(str(refused.value)) < 200


INSTANTS = st.datetimes(timezones=st.just(UTC))


@given(INSTANTS, INSTANTS, st.timedeltas(timedelta(), timedelta(days=10_000)))
def test_whatever_lasted_from_one_instant_to_another_has_a_range_that_its_link_gives_again(
    first, last, air
):
    found = around(first, last, air)
    assert found.from_time < found.to_time <= found.from_time + LONGEST
    assert found.from_time <= drawable(last) <= found.to_time
    assert bool(found.cut) == (drawable(last) - drawable(first) > LONGEST)
    again = parse({"from": found.from_text, "to": found.to_text}, T0)
    assert again.from_time <= found.from_time and found.to_time - again.to_time < timedelta(
        seconds=1
    )


def test_what_fits_is_shown_from_its_beginning_to_its_end():
    for days in range(90):
        first = T0 - timedelta(days=days)
        assert around(first, T0, timedelta(days=days)).from_time <= first


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_is_a_range_or_refused(start, end):
    try:
        chosen = parse({"from": start, "to": end}, T0)
    except BadTimeRange:
        return
    assert chosen.from_time < chosen.to_time


@pytest.mark.parametrize(
    ("age", "text"),
    [
        (1, "just now"),
        (12, "12 s ago"),
        (380, "6 min ago"),
        (7_500, "2 h 5 min ago"),
        (-600, "in 10 min"),
    ],
)
def test_ages_are_rough(age, text):
    assert age_text(T0 - timedelta(seconds=age), T0) == text


@pytest.mark.parametrize("value", [None, True, "yesterday", {}, 10**30])
def test_what_is_no_instant_inside_json_is_unknown(value):
    assert from_json(value) is None


def test_instants_inside_json_are_iso_text_or_epoch_milliseconds():
    assert from_json(T0.isoformat()) == from_json(int(T0.timestamp() * 1000)) == T0


def test_what_ends_before_it_starts_lasted_nobody_knows_how_long():
    assert span_text(T0, T0 - timedelta(days=1)) == span_text(None, T0) == "–"
    assert span_text(T0 - timedelta(hours=76), T0) == "3 d 4 h"
