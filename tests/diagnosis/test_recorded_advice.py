"""Advice on jobs of recordings, against durations and settings read from Flink's raw answers."""

import json
from functools import cache
from pathlib import Path

import pytest

from spark_jobs.diagnosis import advice as advising
from spark_jobs.diagnosis.advice import InForce, settings_advice
from spark_jobs.diagnosis.duration_history import durations_of
from tests import windows

RECORDINGS = Path(__file__).parents[1] / "fixtures" / "recordings"


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch):
    """Recordings are minutes long: with the real least history, none of them would get advice."""
    monkeypatch.setattr(advising, "CHECKPOINTS_AT_LEAST", 5)


@cache
def raw(name):
    """(interval, time-out, longest completed checkpoint, longest completed savepoint) of the jobs
    of a recording, in ms.
    """
    config, longest = {}, {False: 0, True: 0}
    for line in (RECORDINGS / name.replace("-", "/") / "rest.jsonl").open(encoding="utf-8"):
        answer = json.loads(line)
        if answer["status"] != 200 or not isinstance(answer["body"], dict):
            continue
        if answer["path"].endswith("/checkpoints/config"):
            config = answer["body"]
        elif answer["path"].endswith("/checkpoints"):
            for one in answer["body"].get("history", ()):
                if one["status"] == "COMPLETED":
                    longest[one["is_savepoint"]] = max(
                        longest[one["is_savepoint"]], one["end_to_end_duration"]
                    )
    return config["interval"], config["timeout"], longest[False], longest[True]


def last_windows(name):
    return {window.job_id: window for window in windows.recorded_windows(name)}.values()


def advised(name):
    """Of each job of a recording, from the last thing that its rules saw."""
    for window in last_windows(name):
        config = window.config
        yield settings_advice(
            window.checkpoints,
            InForce(config.interval_ms, config.min_pause_ms, config.timeout_ms),
        )


@pytest.mark.parametrize("name", windows.recorded())
def test_no_recorded_job_is_asked_for_more_frequent_checkpoints_or_a_time_out_that_fails_them(name):
    interval_ms, timeout_ms, checkpoint_ms, savepoint_ms = raw(name)
    for advice in advised(name):
        if advice.interval is None:
            continue
        assert advice.interval.value_ms >= interval_ms
        assert advice.timeout.value_ms >= max(min(timeout_ms, 60_000), checkpoint_ms, savepoint_ms)


def test_the_healthy_job_keeps_its_interval_and_time_out():
    """1.20.5/A: 3 s, and checkpoints of a third of a second at most."""
    (advice,) = advised("1.20.5-A")
    assert (
        raw("1.20.5-A")[:2]
        == (advice.interval.value_ms, advice.timeout.value_ms)
        == (3_000, 600_000)
    )
    assert 2 * raw("1.20.5-A")[2] < 3_000


def test_three_savepoints_do_not_shorten_the_time_out():
    """1.12.5/G: three savepoints of half a second under Flink's default of ten minutes."""
    (advice,) = advised("1.12.5-G")
    (window,) = last_windows("1.12.5-G")
    savepoints = durations_of(window.checkpoints, None).savepoints
    assert (advice.timeout.value_ms, len(savepoints)) == (raw("1.12.5-G")[1], 3)
    assert max(savepoints) == raw("1.12.5-G")[3]


def test_a_time_out_that_expires_checkpoints_is_lengthened():
    """1.20.5/F: a time-out of 4 s under which ten checkpoints expired."""
    (advice,) = advised("1.20.5-F")
    assert (raw("1.20.5-F")[1], advice.timeout.value_ms) == (4_000, 60_000)
    (window,) = last_windows("1.20.5-F")
    assert durations_of(window.checkpoints, 4_000).expired
