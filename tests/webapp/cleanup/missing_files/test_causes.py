"""What deleted a file: random storages with a known culprit, and what is known of Flink's own
deletions.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from webapp.cleanup.missing_files.causes import Circumstances, Removals, causes

T0 = datetime(2026, 11, 1, tzinfo=UTC)
FIRST, SECOND = T0 + timedelta(days=30), T0 + timedelta(days=31)
NOTHING = Circumstances(
    moved="",
    owner_ended=True,
    owner_state="CANCELED",
    owner_end=T0,
    retained=True,
    foreign=True,
    claimers=(),
    superseded=False,
    seen_at=FIRST,
    compared=None,
)
worlds = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(0, 29 * 24)),
    min_size=3,
    max_size=40,
    unique=True,
)


def files(world):
    return [
        {"path": f"{job}/{hour}", "modified": T0 + timedelta(hours=hour), "job_id": job}
        for job, hour in world
    ]


def judged(world, left, own="a", **known):
    kept = {f"{job}/{hour}" for job, hour in left}
    compared = Removals.between(files(world), kept, own, FIRST, SECOND)
    return {one.key: one for one in causes(replace(NOTHING, compared=compared, **known))}, compared


@given(worlds, st.integers(1, 30 * 24), st.integers(0, 24))
def test_a_rule_by_age_is_never_ruled_out_and_its_age_lies_in_the_range(world, older_than_h, ran_h):
    """It ran between the two audits and deleted what was older than so many hours."""
    ran = FIRST + timedelta(hours=ran_h)
    left = [
        (job, hour)
        for job, hour in world
        if ran - (T0 + timedelta(hours=hour)) <= timedelta(hours=older_than_h)
    ]
    own = next((job for job, hour in world if (job, hour) not in left), None)
    assume(own is not None)
    found, compared = judged(world, left, own)
    assert found["age_rule"].verdict in ("likely", "possible")
    if compared.least_age is not None:
        assert compared.least_age <= timedelta(hours=older_than_h) <= compared.most_age


@given(worlds, st.data())
def test_deletions_that_spare_older_files_are_no_rule_by_the_age_of_files(world, data):
    gone = data.draw(st.sets(st.sampled_from(sorted(world)), min_size=1, max_size=len(world) - 1))
    left = [file for file in world if file not in gone]
    newest_gone = max(hour for _job, hour in gone)
    spared = [hour for _job, hour in left if hour <= newest_gone]
    found, compared = judged(world, left, min(gone)[0])
    assert compared.out_of_order == len(spared)
    if spared and not compared.idle_went:
        assert "age_rule" not in found


@given(worlds)
def test_a_directory_that_went_alone_is_told(world):
    assume({job for job, _hour in world} > {"a"})
    left = [(job, hour) for job, hour in world if job != "a"]
    found, compared = judged(world, left)
    assert compared.own_gone == compared.own_files == len(world) - len(left)
    assert found["directory_removed"].verdict == "likely"
    assert "age_rule" not in found or found["age_rule"].verdict == "possible"


def test_the_directories_that_were_idle_longest_went_by_a_rule_on_directories():
    """As a script does that removes the directory of each job which has not written for ten days:
    older files of others stay.
    """
    world = [("a", 1), ("a", 50), ("b", 2), ("b", 60), ("c", 0), ("c", 500)]
    found, _compared = judged(world, [("c", 0), ("c", 500)])
    assert found["age_rule"].verdict == "likely"
    assert "whole directories" in found["age_rule"].because


def test_one_file_shows_no_order():
    found, _compared = judged([("a", 1), ("a", 50), ("b", 60)], [("a", 50), ("b", 60)])
    assert found["age_rule"].verdict == "possible"


@pytest.mark.parametrize(
    ("known", "key", "verdict"),
    [
        (
            {"retained": False, "owner_end": FIRST + timedelta(hours=1)},
            "flink_end_of_job",
            "likely",
        ),
        (
            {"retained": False, "owner_end": FIRST - timedelta(hours=1)},
            "flink_end_of_job",
            None,
        ),
        (
            {"retained": False, "owner_end": None, "owner_state": "FAILED"},
            "flink_end_of_job",
            None,
        ),
        ({"retained": None, "owner_end": None}, "flink_end_of_job", None),
        ({"owner_ended": None}, "flink_end_of_job", None),
        ({"owner_ended": False}, "flink_end_of_job", None),
        ({"owner_ended": False, "owner_end": None}, "flink_owner_runs", "possible"),
        ({"owner_ended": False, "foreign": False}, "flink_owner_runs", None),
        ({}, "flink_owner_runs", None),
        ({"claimers": ("b",)}, "flink_claim", "possible"),
        ({"superseded": True}, "flink_claim", "likely"),
        ({"moved": "Plan 1"}, "clean_up", "certain"),
        ({}, "clean_up", None),
        ({}, "age_rule", None),
    ],
)
def test_what_flink_itself_deletes(known, key, verdict):
    found = {one.key: one.verdict for one in causes(replace(NOTHING, **known))}
    assert found.get(key) == verdict


def test_the_best_founded_stands_first():
    assert causes(replace(NOTHING, moved="Plan 1", superseded=True))[0].key == "clean_up"
    assert causes(replace(NOTHING, superseded=True))[0].key == "flink_claim"
