"""checkpoint.stalled, .unprotected, .size_growth, .too_frequent and .savepoint_timeout."""

from dataclasses import replace

import pytest

from spark_jobs.diagnosis.samples import CheckpointConfig, RecoveryPoint, SizeTrend, VertexState
from tests.diagnosis.jobs import (
    MINUTELY,
    chain,
    checkpoint,
    evidence,
    found,
    minutely,
    ms,
    past,
    pressed,
    savepoint,
    unknown,
    window,
)

GIB = 1 << 30


# checkpoint.stalled: an interval of one minute and a time-out of ten make ten minutes.


def test_no_success_for_longer_than_the_time_out_is_a_stall():
    lost = [checkpoint(id, 60 * id, "expired", took=600) for id in (4, 15)]
    [finding] = found(window(*minutely(3), *lost, at=1_600), "checkpoint.stalled")
    assert finding.evidence[0].value == 1_479_000
    assert evidence(finding, "last success") == "checkpoint 3"
    assert (finding.severity, finding.confidence) == ("warning", "high")


@pytest.mark.parametrize("at", [130, 400, 720])
def test_within_the_time_out_it_may_still_complete(at):
    assert not found(window(*minutely(3), at=at), "checkpoint.stalled")


def test_a_long_interval_counts_three_times():
    slow = replace(MINUTELY, interval_ms=1_800_000)
    assert not found(window(checkpoint(1, 0), at=5_000, config=slow), "checkpoint.stalled")
    assert found(window(checkpoint(1, 0), at=5_500, config=slow), "checkpoint.stalled")


def test_very_old_recovery_points_are_critical():
    [finding] = found(window(*minutely(3), at=3_000), "checkpoint.stalled")
    assert finding.severity == "critical"


def test_a_savepoint_is_no_recovery_point():
    assert found(window(*minutely(3), savepoint(4, 600), at=800), "checkpoint.stalled")


@pytest.mark.parametrize(
    "values",
    [{"terminal": True}, {"state": "FINISHED"}, {"state": "INITIALIZING"}, {"state": "CANCELLING"}],
)
def test_a_job_that_ended_or_has_not_begun_never_stalls(values):
    assert not found(window(*minutely(3), at=9_000, **values), "checkpoint.stalled")


def test_a_recording_that_ended_does_not_stall():
    assert not found(window(*minutely(3)), "checkpoint.stalled")


def test_checkpoints_that_are_off_do_not_stall():
    assert not found(
        window(at=9_000, start_time_ms=ms(0), config=replace(MINUTELY, interval_ms=None)),
        "checkpoint.stalled",
    )


def test_a_job_that_never_completed_one_stalls_from_its_start():
    [finding] = found(window(at=700, start_time_ms=ms(0)), "checkpoint.stalled")
    assert evidence(finding, "age of the recovery point") == 700_000
    assert "None was even started" in finding.cause


def test_a_success_before_all_known_checkpoints_is_known_by_its_state():
    lost = [checkpoint(id, 500 + 5 * id, "declined") for id in range(2, 60)]
    state = VertexState("a", 1, ms(0), (GIB,))
    [finding] = found(window(*lost, vertex_states=(state,)), "checkpoint.stalled")
    assert evidence(finding, "last success") == "checkpoint 1"


def test_a_job_of_which_nothing_is_known_cannot_be_judged():
    assert "start of the job" in unknown(window(at=9_000), "checkpoint.stalled")
    assert "interval" in unknown(
        window(checkpoint(1, 0), at=9_000, config=CheckpointConfig()), "checkpoint.stalled"
    )


def test_where_no_setting_is_known_the_triggers_tell_the_interval():
    [finding] = found(
        window(*minutely(6), at=2_000, config=CheckpointConfig()), "checkpoint.stalled"
    )
    assert evidence(finding, "last success") == "checkpoint 6"


# checkpoint.unprotected


@pytest.mark.parametrize(
    ("config", "title"),
    [
        (replace(MINUTELY, interval_ms=None), "Periodic checkpoints are off"),
        (replace(MINUTELY, externalized=False), "Checkpoints are not retained"),
    ],
)
def test_what_is_switched_off_is_told(config, title):
    [finding] = found(window(config=config), "checkpoint.unprotected")
    assert (finding.title, finding.severity) == (title, "warning")


def test_a_newest_checkpoint_with_missing_files_is_critical():
    torn = RecoveryPoint(9, ms(100), "file:/ck/chk-9", missing_files=2, missing_bytes=1 << 20)
    [finding] = found(window(*minutely(3), recovery_point=torn), "checkpoint.unprotected")
    assert finding.severity == "critical"
    assert "2 files, 1 MB, missing" in finding.title
    assert finding.seen_at_ms == ms(100)


def test_a_protected_job_is_left_alone():
    whole = RecoveryPoint(9, ms(100), missing_files=0)
    assert not found(window(*minutely(3), recovery_point=whole), "checkpoint.unprotected")


def test_settings_nobody_saw_are_unknown():
    assert "settings" in unknown(window(config=CheckpointConfig()), "checkpoint.unprotected")
    assert not found(window(config=replace(MINUTELY, externalized=None)), "checkpoint.unprotected")


# checkpoint.size_growth

DAYS_2 = 2 * 86_400
GROWING = SizeTrend(ms(0), ms(DAYS_2), 2_000, 0.5 * GIB, 0.4 * GIB)


def grown(trend=GROWING, size=40 * GIB, **values):
    return window(checkpoint(9, DAYS_2, state_bytes=size), size_trend=trend, **values)


def test_steady_growth_is_told_with_the_time_to_double():
    [finding] = found(grown(), "checkpoint.size_growth")
    assert finding.evidence[0].value == pytest.approx(0.3)
    assert finding.confidence == "high"


@pytest.mark.parametrize(
    "trend",
    [
        replace(GROWING, to_time_ms=ms(20 * 3_600)),
        replace(GROWING, bytes_per_h_low=-1.0),
        replace(GROWING, bytes_per_h=0.01 * GIB, bytes_per_h_low=0.01 * GIB),
        replace(GROWING, bytes_per_h=-GIB, bytes_per_h_low=-GIB),
        SizeTrend(),
        None,
    ],
    ids=["less than a day", "not sure to grow", "slow", "shrinking", "unknown", "none"],
)
def test_other_trends_are_left_alone(trend):
    assert not found(grown(trend), "checkpoint.size_growth")


def test_small_state_may_grow():
    small = SizeTrend(ms(0), ms(DAYS_2), 2_000, 1 << 20, 1 << 20)
    assert not found(grown(small, 50 << 20), "checkpoint.size_growth")


def test_the_operator_that_holds_most_is_named_and_the_one_that_grows_before_it():
    states = (VertexState("a", 9, ms(60), (GIB, GIB)), VertexState("b", 9, ms(60), (3 * GIB, None)))
    [holds] = found(grown(vertex_states=states, **chain("a", "b")), "checkpoint.size_growth")
    [grows] = found(
        grown(vertex_states=(*states, VertexState("a", 5, ms(0), (0, GIB))), **chain("a", "b")),
        "checkpoint.size_growth",
    )
    assert "; b holds most of it" in holds.cause
    assert "; a grows most" in grows.cause


def test_one_size_of_incremental_checkpoints_says_nothing_of_growth():
    known = grown(flink_version="1.13.6")
    assert found(known, "checkpoint.size_growth")
    uploads_only = replace(
        known, checkpoints=tuple(replace(one, state_bytes=None) for one in known.checkpoints)
    )
    assert "uploaded size" in unknown(uploads_only, "checkpoint.size_growth")


# checkpoint.too_frequent


def long_ones(took=40.0, **values):
    return minutely(
        6, took=took, **{"slowest_end_to_end_ms": 40_000, "slowest_async_ms": 39_000, **values}
    )


CALM = pressed(source="idle", sink="idle")
PLAN = chain("source", "sink")


def test_checkpoints_that_fill_their_interval_get_a_longer_one_advised():
    [finding] = found(window(*long_ones(), vertex_windows=CALM, **PLAN), "checkpoint.too_frequent")
    assert finding.data["advised_interval_ms"] == 120_000
    assert finding.evidence[0].value == pytest.approx(40 / 60)


def test_no_checkpoint_takes_more_than_all_of_its_interval():
    calm = {"vertex_windows": CALM, **PLAN}
    [within] = found(window(*long_ones(54), **calm), "checkpoint.too_frequent")
    assert within.title == "Checkpoints take 90 % of their interval of 60 s"
    [beyond] = found(window(*long_ones(75), **calm), "checkpoint.too_frequent")
    assert beyond.title == "Checkpoints take longer than their interval of 60 s"


def test_a_pause_between_checkpoints_is_enough():
    paused = replace(MINUTELY, min_pause_ms=30_000)
    assert not found(
        window(*long_ones(), vertex_windows=CALM, config=paused, **PLAN), "checkpoint.too_frequent"
    )


def test_checkpoints_that_pressure_makes_long_are_not_too_frequent():
    held = window(*long_ones(), vertex_windows=pressed(source="blocked", sink="busy"), **PLAN)
    assert not found(held, "checkpoint.too_frequent")
    before = window(
        *long_ones(), past=past(120, source="blocked", sink="busy"), vertex_windows=CALM, **PLAN
    )
    assert not found(before, "checkpoint.too_frequent")


def test_checkpoints_that_wait_for_barriers_are_not_too_frequent():
    waiting = long_ones(slowest_async_ms=10, slowest_start_delay_ms=39_000)
    assert not found(window(*waiting, vertex_windows=CALM, **PLAN), "checkpoint.too_frequent")


def test_what_makes_them_long_must_be_known():
    untold = window(*minutely(6, took=40))
    assert "phases" in unknown(untold, "checkpoint.too_frequent")


def test_where_no_settings_were_seen_the_interval_is_unknown_and_where_checkpoints_are_off_there_is_none():
    unseen = window(*long_ones(), vertex_windows=CALM, config=CheckpointConfig(), **PLAN)
    assert "settings" in unknown(unseen, "checkpoint.too_frequent")
    assert not found(
        replace(unseen, config=CheckpointConfig(mode="exactly_once")), "checkpoint.too_frequent"
    )
    assert not found(replace(unseen, terminal=True), "checkpoint.too_frequent")


def test_a_minimum_for_the_fleet_counts_only_where_somebody_set_one():
    quick = window(*minutely(6))
    assert not found(quick, "checkpoint.too_frequent")
    [finding] = found(quick, "checkpoint.too_frequent", fleet_minimum_interval_s=300)
    assert (finding.evidence[0].value, finding.evidence[0].threshold) == (60, 300)
    assert not found(quick, "checkpoint.too_frequent", fleet_minimum_interval_s=60)


def test_a_job_that_took_no_checkpoint_yet_is_below_the_minimum_too():
    both = {"fleet_minimum_interval_s": 90, "fleet_minimum_pause_s": 30}
    [finding] = found(window(at=10), "checkpoint.too_frequent", **both)
    assert finding.next_step == (
        "Raise execution.checkpointing.interval to 90 s, execution.checkpointing.min-pause to "
        "30 s, or ask the operator of the fleet for a lower minimum for this job."
    )


def test_a_pause_longer_than_the_interval_is_the_interval():
    paused = window(*minutely(6), config=replace(MINUTELY, min_pause_ms=300_000))
    both = {"fleet_minimum_interval_s": 300, "fleet_minimum_pause_s": 300}
    assert not found(paused, "checkpoint.too_frequent", **both)


def test_whether_a_pause_that_is_not_known_is_long_enough_is_unknown():
    unseen = window(*minutely(6), config=replace(MINUTELY, min_pause_ms=None))
    assert not found(unseen, "checkpoint.too_frequent")
    assert "minimum pause" in unknown(unseen, "checkpoint.too_frequent", fleet_minimum_pause_s=30)


# checkpoint.deleted_on_cancel

DELETED = replace(MINUTELY, retained_on_cancellation=False)


def test_checkpoints_that_a_cancel_deletes_are_told_where_no_savepoint_is_fresh():
    [finding] = found(window(*minutely(3), config=DELETED), "checkpoint.deleted_on_cancel")
    assert finding.cause.endswith("No savepoint of it is known.")
    [finding] = found(
        window(savepoint(1, 0), *minutely(3), at=90_000, config=DELETED),
        "checkpoint.deleted_on_cancel",
    )
    assert evidence(finding, "age of the newest savepoint") > 86_400


def test_a_fresh_savepoint_or_retention_protects_a_job_that_is_cancelled():
    assert not found(
        window(*minutely(3), savepoint(4, 200), config=DELETED), "checkpoint.deleted_on_cancel"
    )
    assert not found(window(*minutely(3)), "checkpoint.deleted_on_cancel")
    assert not found(
        window(*minutely(3), config=DELETED, terminal=True), "checkpoint.deleted_on_cancel"
    )
    assert not found(
        window(*minutely(3), config=replace(DELETED, externalized=False)),
        "checkpoint.deleted_on_cancel",
    )
    assert "retained" in unknown(
        window(*minutely(3), config=replace(DELETED, retained_on_cancellation=None)),
        "checkpoint.deleted_on_cancel",
    )
