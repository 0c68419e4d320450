"""checkpoint.in_flight_share as a real Flink played it, and its limits."""

from dataclasses import replace

import pytest

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.samples import CheckpointConfig, VertexGauges
from tests.diagnosis.jobs import LIMITS
from tests.played import answers, evidence, of_rule
from tests.windows import recorded_windows

RULE = "checkpoint.in_flight_share"
OVERTAKING = ["1.20.5/overtaking", "2.3.0/overtaking"]


def judged(window, limits=LIMITS):
    return registry.diagnose(window, limits, only=(RULE,))


def newest_of_l2():
    return recorded_windows("1.20.5-L2")[-1]


@pytest.mark.parametrize("played", OVERTAKING)
def test_the_share_is_that_of_flinks_own_counters(played):
    told = {}
    for answer in answers(played, r"/jobs/[0-9a-f]{32}/checkpoints"):
        told |= {one["id"]: one for one in answer.body["history"] if one["status"] == "COMPLETED"}
    occurrences = of_rule(played, RULE)
    assert occurrences and {one["severity"] for one in occurrences} == {"info"}
    for occurrence in occurrences:
        counted = [told[number] for number in occurrence["data"]["checkpoints"]]
        share = sum(one["persisted_data"] for one in counted) / sum(
            one["checkpointed_size"] for one in counted
        )
        assert evidence(occurrence, "data in flight of all that was written") == pytest.approx(
            share
        )
        assert share > 0.8
        assert "buffer-debloat.enabled: true" in occurrence["next_step"]


@pytest.mark.parametrize("played", ["1.20.5/summed-merged", "2.3.0/summed-merged"])
def test_unaligned_checkpoints_of_a_job_that_keeps_up_hold_next_to_nothing_in_flight(played):
    *_, last = answers(played, r"/jobs/[0-9a-f]{32}/checkpoints")
    done = [
        one
        for one in last.body["history"]
        if one["status"] == "COMPLETED" and one["checkpoint_type"] == "UNALIGNED_CHECKPOINT"
    ]
    assert len(done) >= 5
    assert (
        0
        < sum(one["persisted_data"] for one in done)
        < 0.1 * sum(one["checkpointed_size"] for one in done)
    )
    assert not of_rule(played, RULE)


@pytest.mark.parametrize("recording", ["1.12.5-G", "1.20.5-B", "1.20.5-F"])
def test_aligned_checkpoints_persist_nothing_however_slow_their_barriers(recording):
    for window in recorded_windows(recording):
        assert not judged(window).findings


def test_where_neither_settings_nor_checkpoints_say_whether_they_are_unaligned_it_is_unknown():
    window = newest_of_l2()
    logged = tuple(replace(one, unaligned=None, persisted_bytes=None) for one in window.checkpoints)
    (lacking,) = judged(replace(window, checkpoints=logged, config=CheckpointConfig())).unknowns
    assert "unaligned" in lacking.missing
    assert not judged(replace(window, checkpoints=logged)).unknowns, (
        "details of some are still to come"
    )


def test_unaligned_checkpoints_that_write_mostly_state_are_well():
    window = newest_of_l2()
    assert judged(window).findings
    larger = tuple(
        replace(
            one, checkpointed_bytes=one.checkpointed_bytes and one.checkpointed_bytes + 4_000_000
        )
        for one in window.checkpoints
    )
    assert not judged(replace(window, checkpoints=larger)).findings


def test_buffers_that_are_debloated_already_are_not_advised_to_be():
    window = newest_of_l2()
    gauge = VertexGauges("v", window.at_ms, debloated_buffer_bytes=32_768)
    (found,) = judged(replace(window, gauges=(gauge,))).findings
    assert "buffer-debloat.enabled" not in found.next_step
    assert "buffer-debloat.target" in found.next_step


def test_from_a_gib_each_it_is_a_warning():
    window = newest_of_l2()
    (found,) = judged(window, registry.limits({f"{RULE}.severe_bytes": 1_000_000})).findings
    assert found.severity == "warning"


def test_before_1_14_it_is_unknown():
    window = newest_of_l2()
    silent = tuple(replace(one, persisted_bytes=None) for one in window.checkpoints)
    (lacking,) = judged(replace(window, checkpoints=silent)).unknowns
    assert "since 1.14" in lacking.missing
