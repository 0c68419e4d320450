"""checkpoint.start_delay, .alignment, .sync and .async."""

from dataclasses import replace

import pytest

from spark_jobs.diagnosis.samples import VertexGauges
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
    unknown,
    window,
)

PHASES = ("start_delay", "alignment", "sync", "async")
PLAN = chain("source", "enrich", "sink")
RULES = {phase: f"checkpoint.{phase}" for phase in PHASES}


def slow(id, at, phase, took=40.0, **values):
    """Its slowest subtask spends nearly all of the time in one phase."""
    parts = {f"slowest_{name}_ms": round(took * 950) if name == phase else 10 for name in PHASES}
    slowest = {
        "slowest_vertex_id": "sink",
        "slowest_vertex_name": "sink",
        "slowest_subtask": 1,
        "slowest_host": "host-3",
    }
    return checkpoint(
        id,
        at,
        took=took,
        **{**parts, **slowest, "slowest_end_to_end_ms": round(took * 1000), **values},
    )


def slow_ones(phase, count=3, **values):
    return tuple(slow(id, 60 * id, phase, **values) for id in range(1, count + 1))


@pytest.mark.parametrize("phase", PHASES)
def test_each_phase_has_its_rule_and_only_that_one_speaks(phase):
    judged = window(*slow_ones(phase))
    assert [rule for rule in RULES.values() if found(judged, rule)] == [RULES[phase]]


@pytest.mark.parametrize("phase", PHASES)
def test_quick_checkpoints_say_nothing(phase):
    assert not found(window(*minutely(10)), RULES[phase])


def test_the_title_has_both_figures_of_one_checkpoint():
    """The one that took longest spent its time in another phase."""
    longest = slow(4, 300, "sync", took=60.0)
    [finding] = found(window(*slow_ones("async"), longest), RULES["async"])
    assert finding.title == ("Checkpoints spend up to 38 s of 40 s in the asynchronous part")


@pytest.mark.parametrize("phase", PHASES)
def test_one_slow_checkpoint_is_chance(phase):
    assert not found(window(slow(1, 0, phase), *minutely(10, 2, 60)), RULES[phase])


@pytest.mark.parametrize(
    ("phase", "tells"),
    [("start_delay", True), ("alignment", True), ("sync", False), ("async", False)],
)
def test_one_slow_checkpoint_is_enough_where_the_holder_of_its_barrier_was_seen(phase, tells):
    held = window(
        slow(1, 0, phase),
        vertex_windows=pressed(source="blocked", enrich="busy", sink="idle"),
        **PLAN,
    )
    assert bool(found(held, RULES[phase])) is tells


@pytest.mark.parametrize("phase", PHASES)
def test_slow_checkpoints_whose_phases_nobody_told_cannot_be_judged(phase):
    untold = [checkpoint(id, 60 * id, took=45) for id in (1, 2, 3)]
    assert "phases" in unknown(window(*untold), RULES[phase])


@pytest.mark.parametrize(
    ("version", "named"), [((2, 4, 0), True), ((2, 3, 0), False), ((1, 20), False), (None, False)]
)
def test_the_time_out_of_the_synchronous_part_is_advised_where_flink_has_it(version, named):
    judged = window(*slow_ones("sync"), version=version)
    [finding] = found(judged, "checkpoint.sync")
    assert ("execution.checkpointing.sync-phase-timeout" in finding.next_step) is named
    [other] = found(window(*slow_ones("async"), version=version), "checkpoint.async")
    assert "sync-phase-timeout" not in other.next_step


def test_the_finding_names_the_slowest_subtask_and_its_host():
    [finding] = found(window(*slow_ones("async")), "checkpoint.async")
    assert evidence(finding, "slowest subtask") == "sink/1"
    assert finding.data["slowest"][-1]["host"] == "host-3"
    assert (finding.evidence[0].name, finding.evidence[0].value) == ("asynchronous part", 38_000)


@pytest.mark.parametrize(
    ("backend", "advised"),
    [("EmbeddedRocksDBStateBackend", True), ("HashMapStateBackend", False), ("ForSt", False)],
)
def test_upload_threads_are_advised_for_rocksdb_alone(backend, advised):
    slow = window(*slow_ones("async"), config=replace(MINUTELY, state_backend=backend))
    [finding] = found(slow, "checkpoint.async")
    assert ("checkpoint.transfer.thread.num" in finding.next_step) == advised


def test_start_delay_points_to_the_origin_of_the_pressure():
    held = window(
        *slow_ones("start_delay"),
        vertex_windows=pressed(source="blocked", enrich="busy", sink="idle"),
        **PLAN,
    )
    [finding] = found(held, "checkpoint.start_delay")
    assert "held by back-pressure from enrich" in finding.title
    assert evidence(finding, "barrier held by") == "enrich"
    assert finding.related[0].path == ("source", "enrich")
    assert finding.confidence == "high"


@pytest.mark.parametrize(
    ("unaligned", "debloated", "advised"),
    [
        (False, None, ["unaligned checkpoints (execution.checkpointing.unaligned)", "debloating"]),
        (True, None, ["debloating"]),
        (False, 32_768, ["unaligned checkpoints (execution.checkpointing.unaligned)"]),
        (True, 32_768, []),
    ],
)
def test_what_is_set_already_is_not_advised(unaligned, debloated, advised):
    held = window(
        *slow_ones("start_delay"),
        vertex_windows=pressed(source="blocked", enrich="busy", sink="idle"),
        config=replace(MINUTELY, unaligned=unaligned),
        gauges=(VertexGauges("enrich", ms(180), debloated_buffer_bytes=debloated),),
        **PLAN,
    )
    [finding] = found(held, "checkpoint.start_delay")
    assert finding.next_step.startswith("Relieve enrich")
    _, _, until_then = finding.next_step.partition("Until then, ")
    assert bool(until_then) is bool(advised) and all(word in until_then for word in advised)
    assert ("unaligned" in until_then) is not unaligned


def test_start_delay_after_the_pressure_still_points_to_the_origin_of_that_time():
    over = window(
        *slow_ones("start_delay"),
        past=past(180, source="blocked", enrich="busy", sink="idle"),
        at=400,
        **PLAN,
    )
    [finding] = found(over, "checkpoint.start_delay")
    assert evidence(finding, "barrier held by") == "enrich"


def test_start_delay_without_pressure_suspects_a_busy_thread():
    calm = window(
        *slow_ones("start_delay"),
        vertex_windows=pressed(source="idle", enrich="idle", sink="busy"),
        **PLAN,
    )
    [finding] = found(calm, "checkpoint.start_delay")
    assert "busy task thread of sink" in finding.cause
    assert not finding.related


LATE = {"source_start_delay_ms": 36_000, "latest_source_id": "source", "latest_source_subtask": 2}
CALM = {"source": "idle", "enrich": "idle", "sink": "busy"}


def test_a_source_that_started_late_is_named_though_a_task_behind_it_was_slowest():
    late = window(*slow_ones("start_delay", **LATE), vertex_windows=pressed(**CALM), **PLAN)
    [finding] = found(late, "checkpoint.start_delay")
    assert finding.cause.startswith(
        "source/2 started its part 36 s after the trigger. A source receives the trigger itself"
    )
    assert "Take a thread dump of source" in finding.next_step
    assert evidence(finding, "start delay of the source") == 36_000
    assert finding.data["source"] == {
        "vertex_id": "source",
        "name": "source",
        "subtask": 2,
        "checkpoint_id": 3,
    }


def test_where_sources_started_in_time_none_of_them_is_named():
    in_time = window(
        *slow_ones("start_delay", **{**LATE, "source_start_delay_ms": 900}),
        vertex_windows=pressed(**CALM),
        **PLAN,
    )
    [finding] = found(in_time, "checkpoint.start_delay")
    assert "busy task thread of sink" in finding.cause
    assert finding.data["source"] is None


def test_a_source_that_is_back_pressured_is_late_for_that():
    held = window(
        *slow_ones("start_delay", **LATE),
        vertex_windows=pressed(source="blocked", enrich="busy", sink="idle"),
        **PLAN,
    )
    [finding] = found(held, "checkpoint.start_delay")
    assert evidence(finding, "barrier held by") == "enrich"
    assert finding.data["source"] is None


def test_a_finding_ends_with_the_slow_checkpoints():
    [finding] = found(
        window(*slow_ones("start_delay"), *minutely(4, 4, 240)), "checkpoint.start_delay"
    )
    assert finding.seen_at_ms == ms(180 + 40)


def test_near_the_time_out_it_is_critical():
    [near] = found(
        window(*slow_ones("async"), config=replace(MINUTELY, timeout_ms=45_000)), "checkpoint.async"
    )
    [far] = found(window(*slow_ones("async")), "checkpoint.async")
    assert (near.severity, far.severity) == ("critical", "warning")


def test_the_asynchronous_part_of_an_unaligned_checkpoint_is_taken_without_its_alignment():
    both = {"slowest_alignment_ms": 37_000, "slowest_async_ms": 38_000, "unaligned": True}
    judged = window(*slow_ones("async", **both))
    assert not found(judged, "checkpoint.async")
    [finding] = found(judged, "checkpoint.alignment")
    assert "unaligned" in finding.cause


def test_phases_that_are_only_known_as_the_largest_over_all_subtasks_are_less_certain():
    largest = {"start_delay_ms": 38_000, "alignment_ms": 5, "sync_ms": 5, "async_ms": 5}
    [finding] = found(
        window(*(checkpoint(id, 60 * id, took=40, **largest) for id in (1, 2, 3))),
        "checkpoint.start_delay",
    )
    assert finding.confidence == "medium"
