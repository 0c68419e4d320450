"""`make run` as a newcomer sees it: first start, sign-in, Ctrl-C, second start, a killed part, a killed supervisor."""

import pytest

from tests.integration.conftest import Story
from webapp.supervisor.recordings import shipped

pytestmark = pytest.mark.integration


def test_the_dashboard_is_up_before_the_recordings_are_in(story: Story) -> None:
    assert story.web_after_s < story.first_up_after_s


def test_every_shipped_recording_is_served(story: Story) -> None:
    clusters = {row[0] for row in story.rows["job_current"]}
    assert clusters == {cluster for _folder, cluster in shipped()}
    assert {row[0] for row in story.rows["checkpoint_fact"]} == clusters


def test_the_fleet_page_shows_them(story: Story) -> None:
    assert "demo-1.20.5-E" in story.fleet_page


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


def test_the_second_start_takes_seconds(story: Story) -> None:
    # About 4 s on two idle cores; machines that run tests are rarely idle.
    assert story.second_web_after_s < 30


def test_the_second_run_imports_nothing_twice(story: Story) -> None:
    assert "Recording" not in story.second_output
    assert story.second_writes == story.writes
    assert all(story.writes[table] for table in ("checkpoints", "log_records", "vertex_metrics"))
    assert story.second_rows == story.rows


def test_a_killed_part_comes_back(story: Story) -> None:
    assert story.restarted_web


def test_nothing_outlives_a_killed_supervisor(story: Story) -> None:
    assert story.left_after_kill == {}


def test_the_database_was_never_locked(story: Story) -> None:
    assert "database is locked" not in story.logs


def test_no_part_died_by_itself(story: Story) -> None:
    assert "ended unexpectedly" not in story.first_output
