"""`make run` as a newcomer sees it: first start, sign-in, Ctrl-C, second start, a killed program, a
killed whole.
"""

import pytest

from ingest.replay.shipped import PREFIX, RECORDED_ON, SHIPPED
from tests.integration.conftest import Story

pytestmark = pytest.mark.integration

MARK = f"demo, recorded {RECORDED_ON}"


def test_every_shipped_recording_is_played_as_a_cluster_that_answers(story: Story) -> None:
    shipped = SHIPPED if story.has_demo else ()
    assert story.demo_clusters == {PREFIX + one.cluster: True for one in shipped}


def test_the_fleet_page_names_jobs_that_run_and_says_where_they_are_from(story: Story) -> None:
    assert ("payments-enrich" in story.fleet_page) == story.has_demo
    assert (MARK in story.fleet_page) == story.has_demo


def test_a_cause_is_named_on_it(story: Story) -> None:
    assert ("declined" in story.fleet_page) == story.has_demo


def test_the_printed_sign_in_lets_one_in_and_another_does_not(story: Story) -> None:
    assert story.let_in
    assert not story.wrong_password_let_in


def test_the_sign_in_is_kept_for_the_next_run(story: Story) -> None:
    assert story.second_sign_in == story.sign_in


def test_a_second_instance_on_the_same_home_is_refused_in_one_sentence(story: Story) -> None:
    code, said = story.twin
    assert code == 2
    assert "already runs" in said


def test_ctrl_c_ends_it_in_good_order_and_leaves_no_process(story: Story) -> None:
    assert story.first_exit == 0
    assert story.left_after_first == {}


def test_the_second_run_registers_nothing_twice(story: Story) -> None:
    assert story.second_demo_clusters.keys() == story.demo_clusters.keys()


def test_a_killed_part_comes_back(story: Story) -> None:
    assert story.restarted_web


def test_nothing_outlives_what_started_it(story: Story) -> None:
    assert story.left_after_kill == {}


def test_the_database_was_never_locked(story: Story) -> None:
    assert "database is locked" not in story.logs


def test_no_program_ended_by_itself(story: Story) -> None:
    assert story.programs_started == 1
