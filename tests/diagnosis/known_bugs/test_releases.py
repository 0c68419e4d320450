"""Which releases have a bug: by branches, with what nobody looked at left open."""

import pytest

from spark_jobs.diagnosis.known_bugs.releases import Releases, is_before

BACKPORTED = Releases(("1.15.0",), ("1.16.2", "1.18.0"))
"""Fixed in 1.16 and in 1.18, never in 1.15 nor 1.17."""


@pytest.mark.parametrize(
    ("version", "affected"),
    [
        ("1.15.0", "yes"),
        ("1.15.4", "yes"),
        ("1.16.1", "yes"),
        ("1.16.2", "no"),
        ("1.16.3", "no"),
        ("1.17.2", "yes"),
        ("1.18.0", "no"),
        ("2.3.0", "no"),
        ("1.14.6", "unknown"),
        ("1.15", "yes"),
        ("1.16", "unknown"),
        ("1.18", "no"),
        ("1.19-SNAPSHOT", "no"),
        ("1.18-SNAPSHOT", "unknown"),
        ("1.20.1-stream1", "no"),
        ("1.17.1-stream1", "unknown"),
        ("1.15.2.1", "unknown"),
        ("<unknown>", "unknown"),
        (None, "unknown"),
    ],
)
def test_a_release_is_held_against_its_own_branch_else_against_the_newest_fix(version, affected):
    assert BACKPORTED.affect(version) == affected


def test_releases_before_it_came_are_free_only_where_that_is_known():
    assert Releases(("1.20.0",), is_introduced=True).affect("1.19.3") == "no"
    assert Releases(("1.20.0",)).affect("1.19.3") == "unknown"


def test_what_came_with_a_patch_is_in_that_patch_and_later_branches():
    came = Releases(("1.20.1", "2.0.0"), is_introduced=True)
    assert [came.affect(one) for one in ("1.20.0", "1.20.1", "2.1.0")] == ["no", "yes", "yes"]


def test_releases_after_those_that_were_looked_at_are_open_until_it_is_fixed():
    assert Releases(("1.20.0",)).affect("2.3.0") == "yes"
    assert Releases(("1.20.0",)).affect("2.3.1") == "unknown"
    assert Releases(("1.20.0",), ("2.3.0",)).affect("2.3.1") == "no"


def test_people_read_where_it_is_and_where_it_is_not():
    assert BACKPORTED.text == "since 1.15.0, fixed in 1.16.2 and 1.18.0"
    assert Releases(("2.0.0",)).text == "since 2.0.0, not fixed"
    assert BACKPORTED.way_out == "Upgrade to 1.16.2 or 1.18.0."


@pytest.mark.parametrize(
    ("version", "is_earlier"),
    [("1.13.2", True), ("1.13-SNAPSHOT", True), ("1.20.3", False), ("2.0.0", False), (None, True)],
)
def test_a_release_comes_before_another_by_its_numbers(version, is_earlier):
    assert is_before(version, "1.20.3") is is_earlier
