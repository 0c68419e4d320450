"""Instants in another zone than UTC, held against zoneinfo asked apart; what is typed, read back."""

import re
import zoneinfo
from datetime import UTC, datetime, timedelta

import pytest
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from webapp.charts import theme
from webapp.charts.answers import in_shown_zone
from webapp.lib import shown_zone
from webapp.lib.instants import clock_text, day_and_clock_text, day_text, instant_text
from webapp.lib.timeranges import BadTimeRange, absolute, instant, parse

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
FIRST_0230 = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
SECOND_0230 = datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
PLACES = (
    "Asia/Shanghai",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Pacific/Chatham",
    "America/St_Johns",
)
instants = st.integers(946_684_800, 2_114_380_800).map(lambda s: datetime.fromtimestamp(s, UTC))


@given(instants, st.sampled_from(PLACES))
def test_an_instant_is_shown_as_zoneinfo_has_it_and_typed_again_it_is_the_same(
    at: datetime, place: str
) -> None:
    expected = at.astimezone(zoneinfo.ZoneInfo(place)).isoformat(sep=" ")
    with shown_zone.within(lambda: zoneinfo.ZoneInfo(place)):
        told = instant_text(at)
    assert told == f"{expected[:19]} {expected[19:]}"
    assert instant(told, NOW) == at


@given(instants, st.sampled_from(PLACES), st.sampled_from(("from", "to")))
def test_what_a_form_sends_is_in_the_address_as_utc(at: datetime, place: str, field: str) -> None:
    typed = f"{at.astimezone(zoneinfo.ZoneInfo(place)):%Y-%m-%d %H:%M:%S}"
    asked = absolute(QueryDict(f"{field}={typed}&zone={place}&q=1"))
    read = instant(asked[field], NOW)
    assert asked[field].endswith("Z") and "zone" not in asked and asked["q"] == "1"
    assert f"{read.astimezone(zoneinfo.ZoneInfo(place)):%Y-%m-%d %H:%M:%S}" == typed


@given(instants, st.sampled_from(PLACES))
def test_rows_of_one_day_that_are_two_instants_never_read_alike(at: datetime, place: str) -> None:
    with shown_zone.within(lambda: zoneinfo.ZoneInfo(place)):
        around = [at + timedelta(minutes=30 * step) for step in range(5)]
        assert len({(day_text(one), clock_text(one)) for one in around}) == len(around)


def test_an_hour_that_comes_twice_is_named_by_its_offset() -> None:
    with shown_zone.within(lambda: BERLIN):
        assert (clock_text(FIRST_0230), day_and_clock_text(SECOND_0230)) == (
            "02:30:00 +02:00",
            "10-25 02:30:00 +01:00",
        )
        assert clock_text(SECOND_0230 + timedelta(hours=1)) == "03:30:00"


def test_of_an_hour_that_comes_twice_a_range_covers_both() -> None:
    asked = parse(
        absolute(QueryDict("from=2026-10-25 02:30&to=2026-10-25 02:30&zone=Europe/Berlin")), NOW
    )
    assert (asked.from_time, asked.to_time) == (FIRST_0230, SECOND_0230)


def test_a_time_that_does_not_exist_is_refused_with_the_reason() -> None:
    asked = absolute(QueryDict("from=2026-03-29 02:30&to=now&zone=Europe/Berlin"))
    with pytest.raises(BadTimeRange, match="2026-03-29 02:30 does not exist in Europe/Berlin"):
        parse(asked, NOW)


def test_an_address_without_a_zone_means_utc_to_everybody() -> None:
    with shown_zone.within(lambda: BERLIN):
        assert instant("2026-11-21 04:10", NOW) == datetime(2026, 11, 21, 4, 10, tzinfo=UTC)


def test_a_zone_that_is_none_changes_nothing() -> None:
    assert (
        absolute(QueryDict("from=2026-11-21 04:10&zone=../../etc/passwd"))["from"]
        == "2026-11-21 04:10"
    )
    assert shown_zone.named("right/Europe/Berlin") is None


def test_the_words_of_a_range_name_the_zone_they_are_in() -> None:
    asked = parse({"from": "2026-10-24T20:00:00Z", "to": "2026-10-25T03:00:00Z"}, NOW)
    assert asked.words == "2026-10-24 20:00 – 2026-10-25 03:00 UTC"
    with shown_zone.within(lambda: BERLIN):
        assert asked.words == "2026-10-24 22:00 +02:00 – 2026-10-25 04:00 +01:00"
        assert asked.from_shown == "2026-10-24 22:00:00 +02:00"
    with shown_zone.within(lambda: zoneinfo.ZoneInfo("Asia/Shanghai")):
        assert (asked.words, asked.short_words) == (
            "2026-10-25 04:00 – 11:00 +08:00",
            "10-25 04:00 – 11:00 +08:00",
        )


def test_headings_name_an_offset_or_where_clocks_change_the_place() -> None:
    assert shown_zone.label() == "UTC"
    with shown_zone.within(lambda: zoneinfo.ZoneInfo("Asia/Shanghai")):
        assert shown_zone.label() == "+08:00"
    with shown_zone.within(lambda: BERLIN):
        assert shown_zone.label() == "Europe/Berlin"


def test_a_sentence_made_for_everybody_is_shown_in_the_zone() -> None:
    said = (
        "It is due since 2026-11-21 20:10:31 UTC, and was until 2026-11-21 20:10 UTC; version "
        "1.20.5 UTC."
    )
    assert shown_zone.rewritten(said) == said
    with shown_zone.within(lambda: zoneinfo.ZoneInfo("Asia/Shanghai")):
        moved = (
            "It is due since 2026-11-22 04:10:31 +08:00, and was until 2026-11-22 04:10 "
            "+08:00; version 1.20.5 UTC."
        )
        assert shown_zone.rewritten(said) == moved
        assert (
            shown_zone.rewritten("2026-11-21 04:10:31 – 05:10:00 UTC")
            == "2026-11-21 12:10:31 – 13:10:00 +08:00"
        )
        assert (
            shown_zone.rewritten("2026-11-21 14:10 – 17:10 UTC.")
            == "2026-11-21 22:10 – 2026-11-22 01:10 +08:00."
        )


def test_a_chart_over_a_change_of_the_clocks_keeps_one_offset_and_names_it() -> None:
    edges = [FIRST_0230 + timedelta(hours=step) for step in range(3)]
    axis = theme.time_axis(edges[0], edges[-1])
    line = {"x": [theme.plot_time(edge) for edge in edges], "y": [0, 1, 2]}
    figure = theme.figure([line], 100, xaxis=axis)
    utc = in_shown_zone(figure)
    with shown_zone.within(lambda: BERLIN):
        local = in_shown_zone(figure)
    assert utc["data"][0]["x"] == [
        "2026-10-25 00:30:00.000",
        "2026-10-25 01:30:00.000",
        "2026-10-25 02:30:00.000",
    ]
    assert local["data"][0]["x"] == [
        "2026-10-25 01:30:00.000",
        "2026-10-25 02:30:00.000",
        "2026-10-25 03:30:00.000",
    ]
    axis = local["layout"]["xaxis"]
    assert (axis["title"]["text"], local["layout"]["meta"]["utc_offset_ms"]) == (
        "+01:00",
        3_600_000,
    )
    assert axis["range"] == ["2026-10-25 01:30:00.000", "2026-10-25 03:30:00.000"] and axis[
        "hoverformat"
    ].endswith(" +01:00")
    assert not re.search("UTC", str(local["data"]))
