"""One pass over one job: nothing depends on the order of rows, on replays, or on the run in which a
row came.
"""

import json
import zlib
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from zstandard import ZstdCompressor

from spark_jobs.fold.checkpoint_log import KINDS_OF_CHECKPOINT
from spark_jobs.fold.job import JobResult
from spark_jobs.fold.job_update import JobUpdate
from spark_jobs.fold.rows import Row
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.fold.state import JobState, unpacked
from spark_jobs.fold.triggers import key_of
from tests.attacks.scale import examples
from tests.fold.pieces import PARTS, in_two_runs, split
from tests.fold.pieces import told as told_by
from tests.fold.recorded import recorded_jobs
from tests.fold.rows import noon
from tests.fold.told import NEWS

NEW = JobState()
RECORDED = ("1.12.5/G", "1.20.5/H", "1.20.5/J")
patient = settings(
    max_examples=examples(15, 100), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def told(job: JobUpdate, before: JobState = NEW) -> JobResult:
    return told_by(job, before, Settings())


def rows(result: JobResult) -> dict[str, Any]:
    """All that is told of the job, in one order."""
    return lasting(result) | {
        "facts": sorted(result.facts, key=key_of),
        "judgement": result.judgement
        and result.judgement | {"occurrences": sorted(result.judgement["occurrences"], key=str)},
        "windows": result.windows,
    }


def lasting(result: JobResult) -> dict[str, Any]:
    """What does not depend on which windows are judged."""
    return {
        "annotations": sorted(result.annotations, key=str),
        "current": result.current,
        "trend": result.trend,
    }


def shuffled(job: JobUpdate, chance: Random) -> JobUpdate:
    """In another order, and some of it twice."""
    parts = {name: list(getattr(job, name)) for name in PARTS}
    for part in parts.values():
        part += chance.sample(part, len(part) // 3)
        chance.shuffle(part)
    return replace(job, **parts)


def is_about_a_checkpoint(row: Row) -> bool:
    return (
        row["kind"] in KINDS_OF_CHECKPOINT
        if "kind" in row
        else "trigger_time" in row or "metadata_path" in row
    )


def is_lucky(row: Row, salt: int) -> bool:
    """Of all rows about half, the same ones whenever asked."""
    return zlib.crc32(f"{salt} {row}".encode()) % 2 == 0


def with_one_trigger_for_each_id(job: JobUpdate) -> JobUpdate:
    """Of an id that repeats, a trigger that comes late takes lines from a fact that is not told
    again.
    """

    def dated(row: Row) -> Row:
        known = (
            is_about_a_checkpoint(row)
            and row.get("trigger_time") is not None
            and row["checkpoint_id"] is not None
        )
        return {**row, "trigger_time": noon(60 * row["checkpoint_id"])} if known else row

    return replace(job, **{name: [dated(row) for row in getattr(job, name)] for name in PARTS})


@cache
def recorded() -> tuple[JobUpdate, ...]:
    return tuple(job for name in RECORDED for job in recorded_jobs(name))


recorded_job = st.deferred(lambda: st.sampled_from(recorded()))


@patient
@given(NEWS, st.randoms(use_true_random=False))
def test_order_and_replays_of_anything_do_not_matter(job: JobUpdate, chance: Random) -> None:
    assert rows(told(shuffled(job, chance))) == rows(told(job))


@settings(patient, max_examples=8)
@given(recorded_job, st.randoms(use_true_random=False))
def test_order_and_replays_of_a_recorded_life_do_not_matter(job: JobUpdate, chance: Random) -> None:
    assert rows(told(shuffled(job, chance))) == rows(told(job))


@patient
@given(NEWS, st.integers(0, 99))
def test_rows_of_checkpoints_that_come_late_in_any_order_are_as_if_they_had_come_at_once(
    job: JobUpdate, salt: int
) -> None:
    job = with_one_trigger_for_each_id(job)
    once = told(job)
    twice = in_two_runs(
        *split(job, lambda row: not is_about_a_checkpoint(row) or is_lucky(row, salt)), Settings()
    )
    assert twice.facts == {key_of(fact): fact for fact in once.facts}
    assert lasting(twice.second) == lasting(once)


@patient
@given(NEWS, st.integers(0, 99))
def test_what_is_told_of_a_life_may_come_late_in_any_order(job: JobUpdate, salt: int) -> None:
    life = replace(
        split(job, lambda row: not is_about_a_checkpoint(row))[0],
        uploads=job.uploads,
        snapshots=job.snapshots,
    )
    assert lasting(
        in_two_runs(*split(life, lambda row: is_lucky(row, salt)), Settings()).second
    ) == lasting(told(life))


@settings(patient, max_examples=10)
@given(recorded_job, st.floats(0, 1))
def test_a_life_that_is_read_while_it_goes_on_is_as_read_at_once(
    job: JobUpdate, part: float
) -> None:
    instants = sorted(event["ts"] for event in job.events)
    now = instants[round(part * (len(instants) - 1))]
    once = told(job)
    twice = in_two_runs(
        *split(job, lambda row: row.get("ts", row.get("observed_at")) < now), Settings()
    )
    assert twice.facts == {key_of(fact): fact for fact in once.facts}
    assert lasting(twice.second) == lasting(once)
    windows = {window.window_start_ms: window for window in once.windows}
    assert all(window == windows[window.window_start_ms] for window in twice.second.windows)


@patient
@given(NEWS)
def test_what_comes_again_in_a_later_run_changes_nothing(job: JobUpdate) -> None:
    once = told(job)
    again = in_two_runs(job, job, Settings()).second
    assert rows(again)["facts"] == rows(once)["facts"]
    assert lasting(again) == lasting(once)
    assert again.new_annotations == []
    assert again.state == unpacked(again.state.packed())


@patient
@given(NEWS)
def test_what_is_remembered_survives_packing(job: JobUpdate) -> None:
    state = told(job).state
    assert unpacked(state.packed()) == state


def test_nothing_told_is_a_job_without_anything() -> None:
    result = told(JobUpdate("c", "0" * 32))
    assert (result.facts, result.annotations, result.trend, result.judgement, result.windows) == (
        [],
        [],
        None,
        None,
        [],
    )
    assert set(result.current.values()) == {None}


def test_state_of_another_version_of_weir_is_read_as_far_as_it_is_known() -> None:
    written = {"judged_to": 5, "something_new": [1], "older": {"something_older": 2}}
    other = ZstdCompressor().compress(json.dumps(written).encode())
    assert unpacked(other) == JobState(judged_to=5)
    assert unpacked(None) == JobState()


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_jobs_keep_a_few_kilobytes(name: str) -> None:
    assert all(len(told(job).state.packed()) < 64 * 1024 for job in recorded_jobs(name))
