"""What holds for every rule: nothing out of nothing, no matter of order, cheap, explained."""

import gc
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.flink_logs.reasons import PREFLIGHT, REASON_OF_TEXT
from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.checkpoint_history import COUNTED_REASONS
from spark_jobs.diagnosis.checkpoint_reasons import REASON_WORDS
from spark_jobs.diagnosis.findings import CONFIDENCES, Diagnosis, Unknown
from spark_jobs.diagnosis.samples import CheckpointConfig, CheckpointSample, JobWindow, SourceGap
from spark_jobs.fold.outcomes import OUTCOME_OF_REASON
from spark_jobs.serving import OUTCOMES
from tests.diagnosis.jobs import LIMITS, START_MS, chain, checkpoint, ms, restart, window
from tests.selections import for_each
from tests.windows import recorded, recorded_windows

RULES = tuple(registry.rules_for(JobWindow))
WITH_NEEDS = tuple(known.id for known in registry.rules_for(JobWindow).values() if known.needs)
LOWEST = registry.limits(
    {threshold.key: threshold.minimum for threshold in registry.all_thresholds()}
)

small = st.none() | st.integers(0, 3_000_000)
CHECKPOINTS = st.builds(
    CheckpointSample,
    checkpoint_id=st.integers(1, 30),
    trigger_time_ms=st.integers(START_MS, START_MS + 1_800_000),
    outcome=st.sampled_from(OUTCOMES),
    is_savepoint=st.sampled_from([None, False, True]),
    reason=st.sampled_from([None, "CHECKPOINT_EXPIRED", "CHECKPOINT_DECLINED", "SOMETHING_NEW"]),
    end_to_end_ms=small,
    state_bytes=small,
    checkpointed_bytes=small,
    slowest_end_to_end_ms=small,
    slowest_start_delay_ms=small,
    slowest_alignment_ms=small,
    slowest_sync_ms=small,
    slowest_async_ms=small,
    unaligned=st.sampled_from([None, True]),
    late_message_count=st.sampled_from([None, 0, 3]),
    subtasks=st.sampled_from([None, 8]),
    acknowledged=st.sampled_from([None, 5]),
)
CONFIGS = st.builds(
    CheckpointConfig,
    mode=st.sampled_from([None, "exactly_once"]),
    interval_ms=st.sampled_from([None, 1_000, 60_000]),
    timeout_ms=st.sampled_from([None, 4_000, 600_000]),
    min_pause_ms=st.sampled_from([None, 0, 60_000]),
    tolerable_failed=st.sampled_from([None, 0, 2, 2**31 - 1]),
    externalized=st.sampled_from([None, False, True]),
)
WINDOWS = st.builds(
    lambda checkpoints, config, version, restarts: replace(
        window(*checkpoints, at=1_900, config=config, flink_version=version),
        annotations=tuple(restart(at) for at in restarts),
    ),
    st.lists(
        CHECKPOINTS, max_size=12, unique_by=lambda one: (one.checkpoint_id, one.trigger_time_ms)
    ),
    CONFIGS,
    st.sampled_from([None, "1.12.5", "1.13.6", "1.20.5"]),
    st.lists(st.integers(1_400, 1_900), max_size=6),
)


def say(judged, rule):
    said = registry.diagnose(judged, LIMITS, only=[rule])
    assert not broken(said)
    return said.findings


def broken(said):
    return [unknown for unknown in said.unknowns if "the rule failed" in unknown.missing]


def in_order(findings):
    return sorted(findings, key=lambda one: one.subject_id)


@for_each(rule=WITH_NEEDS, limits=[LIMITS, LOWEST])
def test_a_rule_says_nothing_and_lacks_what_it_declares_where_all_that_it_needs_is_empty(
    rule, limits
):
    known = registry.RULES[rule]
    empty = {
        one.name: None if one.default is None else ()
        for one in fields(JobWindow)
        if one.name in known.needs
    }
    assert len(empty) == len(known.needs)
    for judged in (one for name in recorded() for one in recorded_windows(name)):
        for terminal in (judged.terminal, not judged.terminal):
            unasked = registry.with_events_read(
                replace(judged, terminal=terminal, **empty), known.reads
            )
            lacking = known.lacking and not terminal
            assert registry.diagnose(unasked, limits, only=[rule]) == Diagnosis(
                (), (Unknown(rule, known.lacking),) if lacking else ()
            )


@for_each(rule=RULES)
def test_no_data_is_no_finding(rule):
    assert not say(JobWindow("prod", "a" * 32, ms(60), ms(0)), rule)


@for_each(rule=RULES, outcome=["completed", "aborted", "subsumed", "preflight", "in_progress"])
def test_checkpoints_of_which_nothing_else_is_known_are_no_finding(rule, outcome):
    hollow = tuple(CheckpointSample(id, ms(60 * id), outcome) for id in range(1, 9))
    assert not say(JobWindow("prod", "a" * 32, ms(600), ms(540), checkpoints=hollow), rule)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(WINDOWS, st.randoms())
def test_the_order_of_what_is_told_does_not_matter(judged, chance):
    def shuffled(values):
        return tuple(chance.sample(values, len(values)))

    other = replace(
        judged, checkpoints=shuffled(judged.checkpoints), annotations=shuffled(judged.annotations)
    )
    for rule in RULES:
        assert say(judged, rule) == say(other, rule)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(WINDOWS)
def test_no_finding_is_dated_after_the_instant_of_judging_and_each_is_explained(judged):
    for rule in RULES:
        for finding in say(judged, rule):
            assert finding.seen_at_ms <= judged.at_ms
            assert finding.evidence
            assert finding.title and finding.cause and finding.next_step


RANK = {confidence: rank for rank, confidence in enumerate(CONFIDENCES)}


@pytest.mark.parametrize("outcome", ["declined", "expired", "failed"])
def test_more_losses_never_make_it_less_sure(outcome):
    lost = [
        CheckpointSample(
            id, ms(20 * id), outcome, reason="CHECKPOINT_EXPIRED", end_time_ms=ms(20 * id + 4)
        )
        for id in range(1, 15)
    ]
    ranks = [
        RANK[say(window(*lost[:count], at=320), f"checkpoint.{outcome}")[0].confidence]
        for count in range(1, 15)
    ]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize("phase", ["start_delay", "alignment", "sync", "async"])
def test_more_slow_checkpoints_never_make_it_less_sure(phase):
    values = {
        f"slowest_{phase}_ms": 59_000,
        "slowest_end_to_end_ms": 60_000,
        "end_to_end_ms": 60_000,
    }
    slow = [
        CheckpointSample(id, ms(60 * id), "completed", end_time_ms=ms(60 * id + 60), **values)
        for id in range(1, 12)
    ]
    ranks = [
        RANK[say(window(*slow[:count]), f"checkpoint.{phase}")[0].confidence]
        for count in range(2, 12)
    ]
    assert ranks == sorted(ranks)


@for_each(rule=tuple(registry.all_rules()))
def test_every_threshold_of_a_rule_carries_its_name_and_a_reason_and_allows_its_default(rule):
    for threshold in registry.all_rules()[rule].thresholds:
        assert threshold.allows(threshold.default)
        assert threshold.key.startswith(f"{rule}.")
        assert threshold.reason.endswith(".")


def test_the_logs_know_the_reasons_that_count_and_of_refusals_only_io_problems_do():
    assert set(REASON_OF_TEXT.values()) > COUNTED_REASONS
    assert {"IO_EXCEPTION", "EXCEPTION"} == COUNTED_REASONS & PREFLIGHT


def test_every_reason_of_a_lost_checkpoint_has_words():
    lost = {
        reason
        for reason in REASON_OF_TEXT.values()
        if OUTCOME_OF_REASON[reason] in ("declined", "failed")
    }
    assert lost == set(REASON_WORDS)


def test_no_rule_breaks_at_its_lowest_thresholds():
    for name in recorded():
        for judged in recorded_windows(name):
            assert not broken(registry.diagnose(judged, LOWEST)), name


def test_recorded_windows_say_the_same_in_any_order():
    chance = random.Random(7)
    for name in recorded():
        for judged in recorded_windows(name):
            parts = {
                field.name: tuple(
                    chance.sample(getattr(judged, field.name), len(getattr(judged, field.name)))
                )
                for field in fields(judged)
                if field.name
                in (
                    "checkpoints",
                    "annotations",
                    "failures",
                    "events",
                    "vertex_windows",
                    "past",
                    "gaps",
                )
            }
            for rule in RULES:
                assert in_order(say(judged, rule)) == in_order(
                    say(replace(judged, **parts), rule)
                ), (name, rule)


def test_a_silent_source_is_no_business_of_other_rules():
    unreachable = window(at=60, gaps=(SourceGap("rest", ms(0), 9),))
    assert [rule for rule in RULES if say(unreachable, rule)] == ["collect.blind"]


def test_what_could_not_be_judged_is_not_held_by_its_error():
    """Workers fold thousands of jobs with the garbage collector off."""
    without_metrics = [
        window(checkpoint(1, 60), at=1_900, **chain("source", f"sink {number}"))
        for number in range(3)
    ]
    registry.diagnose(window(checkpoint(1, 60)), LIMITS)
    gc.collect()
    gc.disable()
    try:
        assert all(registry.diagnose(one, LIMITS).unknowns for one in without_metrics)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_jobs_that_threads_judge_at_one_time_are_not_mixed_up():
    told = [
        judged
        for name in recorded()
        for judged in recorded_windows(name)[-4:]
        if judged.vertex_windows
    ]
    rules = [
        id
        for id in RULES
        if id.startswith(("pressure.", "checkpoint.alignment", "checkpoint.start_delay", "data."))
    ]
    alone = [registry.diagnose(judged, LIMITS, rules) for judged in told]
    switched_after_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            together = list(
                threads.map(lambda judged: registry.diagnose(judged, LIMITS, rules), told * 100)
            )
    finally:
        sys.setswitchinterval(switched_after_s)
    assert together == alone * 100
