"""pressure.root, .outbound and .skew on graphs made by hand."""

from dataclasses import replace

import pytest

from spark_jobs.diagnosis.samples import CheckpointSample
from tests.diagnosis.graphs import AT_MS, found, held, hot, job, unknown, vertex

ROOT = "pressure.root"
OUTBOUND = "pressure.outbound"
SKEW = "pressure.skew"
CHAIN = "source>parse parse>enrich enrich>sink"


def slow_enrich(**values):
    windows = (
        held("source", 0.95, 0.95),
        held("parse", 0.9, 0.9),
        hot("enrich", 0.99, 0.98),
        vertex("sink"),
    )
    return job(*windows, edges=CHAIN, **values)


def test_it_blames_the_vertex_below_the_blocked_ones():
    root = found(slow_enrich(), ROOT)["enrich"]
    assert (root.severity, root.confidence, root.data["hot_subtasks"]) == (
        "critical",
        "high",
        [0, 1],
    )
    assert ("source", "parse", "enrich") in [related.path for related in root.related]
    assert root.evidence[0].name == "enrich busy"


def test_a_busy_source_without_an_upstream_is_never_an_origin():
    assert not found(
        job(vertex("source", (1.0, 1.0)), vertex("sink", (0.9, 0.9)), edges="source>sink"), ROOT
    )


def test_a_busy_vertex_that_nobody_waits_for_is_no_origin():
    assert not found(
        job(vertex("source", (0.5, 0.5), (0.3, 0.3)), hot("sink", 1.0, 1.0), edges="source>sink"),
        ROOT,
    )


def test_one_hot_subtask_of_five_thousand_is_enough():
    busy = [0.1] * 5000
    busy[4711] = 1.0
    full = tuple(float(one == 1.0) for one in busy)
    window = job(
        held("source", *[0.9] * 8), vertex("agg", busy, floating_usage=full), edges="source>agg"
    )
    assert found(window, ROOT)["agg"].data["hot_subtasks"] == [4711]
    assert found(window, SKEW)["agg"].data["hot_subtasks"] == [4711]


def test_only_subtasks_on_the_held_channels_of_a_pointwise_edge_count():
    windows = (held("map", 0.9, 0.0), hot("sink", 0.1, 1.0))
    assert not found(job(*windows, edges="source>map map=sink"), ROOT)
    assert found(
        job(held("map", 0.0, 0.9), hot("sink", 0.1, 1.0), edges="source>map map=sink"), ROOT
    )["sink"].data["hot_subtasks"] == [1]


def test_of_two_in_a_row_the_one_downstream_wins_where_it_holds_the_other():
    window = job(
        held("source", 0.95),
        vertex("a", (0.8,), (0.2,), in_pool_usage=(1.0,)),
        hot("b", 1.0),
        edges="source>a a>b",
    )
    assert list(found(window, ROOT)) == ["b"]


def test_both_of_two_in_a_row_are_origins_where_each_has_its_own_busy_subtasks():
    both = vertex("a", (1.0, 0.1), (0.0, 0.9), in_pool_usage=(1.0, 1.0))
    window = job(held("source", 0.9, 0.9), both, hot("b", 0.1, 1.0), edges="source>a a=b")
    assert set(found(window, ROOT)) == {"a", "b"}


def test_an_origin_that_waits_now_and_then_is_named_where_its_consumers_have_time_to_spare():
    window = job(
        held("source", 0.9),
        vertex("agg", (0.85,), (0.1,), in_pool_usage=(1.0,)),
        vertex("sink", (0.3,)),
        edges="source>agg agg>sink",
    )
    assert list(found(window, ROOT)) == ["agg"]


def test_of_two_branches_the_one_with_a_full_input_is_the_origin():
    busy_but_empty = vertex("quick", (0.92,), taskmanager_id=("tm-source-0",), in_pool_usage=(0.0,))
    window = job(
        held("source", 0.95), busy_but_empty, hot("slow", 1.0), edges="source>quick source>slow"
    )
    assert list(found(window, ROOT)) == ["slow"]


def test_a_busy_remote_vertex_with_an_empty_input_is_blamed_last():
    empty = vertex("empty", (0.99,), in_pool_usage=(0.0,), floating_usage=(0.0,))
    local = vertex("local", (0.97,), in_pool_usage=(0.0,), taskmanager_id=("tm-source-0",))
    assert list(
        found(job(held("source", 0.95), empty, local, edges="source>empty source>local"), ROOT)
    ) == ["local"]
    assert (
        found(job(held("source", 0.95), empty, edges="source>empty"), ROOT)["empty"].confidence
        == "low"
    )


def test_figures_that_do_not_agree_yet_still_name_the_busy_vertex_with_less_confidence():
    window = job(held("source", 0.95), hot("sink", 0.6), edges="source>sink")
    assert found(window, ROOT)["sink"].confidence == "medium"
    assert not found(window, OUTBOUND)


def test_a_local_channel_shows_no_buffers_and_still_holds():
    local = vertex("enrich", (0.99,), in_pool_usage=(0.0,), taskmanager_id=("tm-source-0",))
    root = found(job(held("source", 0.95), local, edges="source>enrich"), ROOT)["enrich"]
    assert root.confidence == "medium"


def test_two_local_branches_that_are_both_busy_cannot_be_told_apart():
    branches = [
        vertex(name, (0.97,), in_pool_usage=(0.0,), taskmanager_id=("tm-source-0",))
        for name in ("left", "right")
    ]
    window = job(held("source", 0.95), *branches, edges="source>left source>right")
    assert not found(window, ROOT)
    assert "left and right" in unknown(window, ROOT)


def told_by_one_subtask(*sink_busy):
    """Subtask 0 of enrich is busy and never waits; nothing is known of subtask 1, which feeds
    subtask 1 of the sink alone.
    """
    local = vertex(
        "enrich",
        (0.7, None),
        (0.0, None),
        in_pool_usage=(0.0, None),
        taskmanager_id=("tm-source-0",),
    )
    return job(
        held("source", 0.7), local, vertex("sink", sink_busy), edges="source>enrich enrich=sink"
    )


def test_a_busy_subtask_is_not_blamed_while_a_silent_one_beside_it_may_wait_for_something_further_on():
    window = told_by_one_subtask(0.1, 1.0)
    assert not found(window, ROOT)
    assert "enrich" in unknown(window, ROOT)


def test_a_silent_subtask_changes_nothing_where_all_that_follows_it_has_time_to_spare():
    assert found(told_by_one_subtask(1.0, 0.1), ROOT)["enrich"].data["hot_subtasks"] == [0]


def test_of_two_branches_the_busier_one_is_not_blamed_while_a_subtask_of_the_other_is_silent():
    left, *rights = (
        vertex(
            name,
            busy,
            [None if one is None else 0.0 for one in busy],
            in_pool_usage=(0.0,) * len(busy),
            taskmanager_id=("tm-source-0",),
        )
        for name, busy in (("left", (0.97,)), ("right", (0.86, 0.1)), ("right", (0.86, None)))
    )
    told, silent = (
        job(held("source", 0.95), left, right, edges="source>left source>right") for right in rights
    )
    assert list(found(told, ROOT)) == ["left"]
    assert not found(silent, ROOT)
    assert "left and right" in unknown(silent, ROOT)


def test_all_buffers_together_do_not_prove_that_no_channel_queues():
    """Ten buffers of one hot channel among hundreds."""
    slow = vertex("slow", (1.0,), in_pool_usage=(0.05,))
    quick = vertex("quick", (0.87,), in_pool_usage=(0.0,), taskmanager_id=("tm-source-0",))
    window = job(held("source", 0.95), slow, quick, edges="source>slow source>quick")
    assert list(found(window, ROOT)) == ["slow"]
    told = replace(slow, floating_usage=(0.05,))
    window = job(held("source", 0.95), told, quick, edges="source>slow source>quick")
    assert list(found(window, ROOT)) == ["quick"]


def test_two_origins_on_two_branches_are_both_named():
    window = job(
        held("source", 0.95), hot("left", 1.0), hot("right", 1.0), edges="source>left source>right"
    )
    assert set(found(window, ROOT)) == {"left", "right"}


def test_a_join_names_each_input_it_holds():
    window = job(
        held("orders", 0.9), held("clicks", 0.8), hot("join", 1.0), edges="orders>join clicks>join"
    )
    assert {related.subject for related in found(window, ROOT)["join"].related} == {
        "orders",
        "clicks",
    }


def test_a_cycle_that_waits_for_itself_ends_in_unknown():
    window = job(held("head", 0.9), held("tail", 0.9), edges="head>tail tail>head")
    assert not found(window, ROOT)
    assert "head" in unknown(window, ROOT)


@pytest.mark.parametrize("hidden", ["enrich", "parse"])
def test_where_a_vertex_is_silent_the_origin_is_unknown_and_nobody_is_blamed(hidden):
    whole = slow_enrich()
    window = replace(
        whole, vertex_windows=tuple(one for one in whole.vertex_windows if one.vertex_id != hidden)
    )
    assert not found(window, ROOT)
    assert hidden in unknown(window, ROOT)


def test_a_silent_subtask_may_be_the_hot_one():
    window = job(
        held("source", 0.9), vertex("agg", (0.1, None, 0.2), (0.0, None, 0.0)), edges="source>agg"
    )
    assert not found(window, ROOT)
    assert "agg" in unknown(window, ROOT)


def test_a_silent_vertex_matters_only_where_something_could_hold_it():
    idle = job(vertex("source", (), (None, None)), vertex("sink", (0.1, 0.1)), edges="source>sink")
    busy = job(vertex("source", (), (None, None)), vertex("sink", (0.9, 0.9)), edges="source>sink")
    assert (unknown(idle, ROOT), unknown(busy, ROOT)) == (
        "",
        "back-pressure of source in this window",
    )


def test_without_any_metrics_every_rule_about_pressure_is_unknown():
    assert all(unknown(job(edges=CHAIN), rule) for rule in (ROOT, OUTBOUND, SKEW))


def test_of_a_job_that_ended_nothing_is_lacking_but_its_last_window_counts():
    assert not unknown(job(edges=CHAIN, terminal=True), ROOT)
    assert found(slow_enrich(terminal=True, state="CANCELED"), ROOT)


def test_before_busy_time_the_first_vertex_that_does_not_wait_and_has_full_inputs_is_the_origin():
    gap = vertex("enrich", (), (0.0, 0.0), in_pool_usage=(0.9, 1.0), idle_ratio=(0.05, 0.02))
    above = vertex("source", (), (0.97, 0.95), idle_ratio=(0.98, 0.97))
    window = job(
        above,
        gap,
        vertex("sink", (), (0.0, 0.0), idle_ratio=(0.9, 0.9)),
        edges="source>enrich enrich>sink",
        flink_version="1.12.5",
    )
    root = found(window, ROOT)["enrich"]
    assert (root.confidence, root.evidence[0].name) == ("medium", "source back-pressured")


def test_before_busy_time_an_empty_local_input_leaves_it_unknown():
    gap = vertex(
        "enrich",
        (),
        (0.0,),
        in_pool_usage=(0.0,),
        idle_ratio=(0.05,),
        taskmanager_id=("tm-source-0",),
    )
    window = job(
        vertex("source", (), (0.97,), idle_ratio=(0.98,)),
        gap,
        edges="source>enrich",
        flink_version="1.12.5",
    )
    assert not found(window, ROOT)
    assert "enrich" in unknown(window, ROOT)


def test_one_sample_softens_severity_and_confidence():
    window = slow_enrich()
    once = replace(
        window, vertex_windows=tuple(replace(one, samples=1) for one in window.vertex_windows)
    )
    root = found(once, ROOT)["enrich"]
    assert (root.severity, root.confidence) == ("warning", "medium")


def amplifying(usage, busy=0.2):
    return job(
        held("source", 0.9),
        held("flatMap", 0.9, 0.9, out_pool_usage=usage),
        vertex("sink", (busy, busy)),
        edges="source>flatMap flatMap>sink",
    )


def test_outbound_names_a_full_output_above_consumers_with_time_to_spare():
    outbound = found(amplifying((0.9, 0.95)), OUTBOUND)["flatMap"]
    assert outbound.evidence[1].threshold == pytest.approx(2 / 12 + 0.5 * 9 / 12)


def test_outbound_is_silent_at_the_idle_floor_and_where_the_sink_is_the_origin():
    assert not found(amplifying((2 / 12, 2 / 12)), OUTBOUND)
    behind_the_sink = job(
        held("flatMap", 0.9, out_pool_usage=(1.0,)),
        hot("sink", 1.0),
        edges="source>flatMap flatMap>sink",
    )
    assert not found(behind_the_sink, OUTBOUND)
    assert list(found(behind_the_sink, ROOT)) == ["sink"]


def test_outbound_without_output_usage_is_unknown():
    assert "output usage of flatMap" in unknown(amplifying(()), OUTBOUND)


def one_waits_for_the_other(*checkpoints):
    """Before an idle sink the first subtask of ``enrich`` waits, and the second is busy."""
    return job(
        vertex("parse"),
        vertex("enrich", (0.0, 1.0), (1.0, 0.0), out_pool_usage=(1.0, 0.1)),
        vertex("sink", (0.01,)),
        edges="parse>enrich enrich>sink",
        checkpoints=checkpoints,
    )


def taken(began_s, ended_s=None, **values):
    """A checkpoint of these seconds before the window's end."""
    ended_ms = None if ended_s is None else AT_MS - 1000 * ended_s
    outcome = "in_progress" if ended_s is None else "completed"
    return CheckpointSample(1, AT_MS - 1000 * began_s, outcome, end_time_ms=ended_ms, **values)


@pytest.mark.parametrize(
    "checkpoint",
    [
        pytest.param(taken(90, 20, alignment_ms=69_000), id="aligned for 40 s of the minute"),
        pytest.param(taken(50), id="is aligned since"),
    ],
)
def test_who_waits_for_the_barrier_of_a_busy_sibling_is_not_held_by_its_channel(checkpoint):
    assert not found(one_waits_for_the_other(checkpoint), OUTBOUND)
    assert not found(one_waits_for_the_other(checkpoint), ROOT)  # nothing above it waits


@pytest.mark.parametrize(
    "checkpoints",
    [
        pytest.param((), id="no checkpoint"),
        pytest.param((taken(50, 10, alignment_ms=10_000),), id="aligned for a part"),
        pytest.param((taken(50, 0, alignment_ms=49_000, unaligned=True),), id="unaligned"),
    ],
)
def test_without_barriers_that_are_waited_for_it_is_the_channel(checkpoints):
    assert list(found(one_waits_for_the_other(*checkpoints), OUTBOUND)) == ["enrich"]


def test_where_no_sibling_is_late_alignment_explains_nothing():
    outbound = replace(amplifying((0.9, 0.95)), checkpoints=(taken(59),))
    assert list(found(outbound, OUTBOUND)) == ["flatMap"]


def skewed(siblings):
    agg = vertex(
        "agg",
        (1.0, *siblings),
        in_pool_usage=(0.5, 0.0, 0.0, 0.0),
        floating_usage=(1.0, 0.0, 0.0, 0.0),
        records_in_per_s=(900.0, 30.0, 40.0, 30.0),
    )
    return job(held("parse", 0.0, 0.95), agg, edges="source>parse parse>agg")


def test_skew_names_hot_subtasks_with_their_share():
    skew = found(skewed((0.1, 0.1, 0.1)), SKEW)["agg"]
    assert (skew.data["hot_subtasks"], skew.data["records_in_share"], skew.data["hosts"]) == (
        [0],
        0.9,
        ["host-0"],
    )


def test_buffers_that_fill_while_tasks_start_are_no_skew():
    window = skewed((0.1, 0.1, 0.1))
    starts = replace(window, start_time_ms=window.window_start_ms + 5_000)
    assert not found(starts, SKEW)
    assert unknown(starts, SKEW) == "a minute in which no task began"
    assert found(replace(window, start_time_ms=window.window_start_ms - 5_000), SKEW)


def test_siblings_that_work_too_are_no_skew():
    assert found(skewed((0.7, 0.7, 0.7)), ROOT)
    assert not found(skewed((0.7, 0.7, 0.7)), SKEW)


def on_hosts(busy, records=(), hosts=("host-7", "host-1", "host-2", "host-3")):
    """The job that ``agg`` holds up, whose four subtasks are on these hosts."""
    full = tuple(1.0 if one > 0.5 else 0.0 for one in busy)
    agg = vertex("agg", busy, floating_usage=full, records_in_per_s=records, host=hosts)
    return job(held("parse", 0.95), agg, edges="parse>agg")


EVEN = (50.0, 50.0, 50.0, 50.0)
TWO_BUSY, TWO_ON_ONE = (0.98, 0.97, 0.1, 0.1), ("host-7", "host-7", "host-1", "host-2")


@pytest.mark.parametrize(
    "window",
    [
        pytest.param(on_hosts((0.98, 0.1, 0.1, 0.1), EVEN), id="records are even"),
        pytest.param(on_hosts(TWO_BUSY, EVEN, TWO_ON_ONE), id="two on one host"),
        pytest.param(on_hosts(TWO_BUSY, (), TWO_ON_ONE), id="two on one host, records unknown"),
    ],
)
def test_where_only_the_subtasks_of_one_host_are_busy_hosts_are_compared_first(window):
    skew = found(window, SKEW)["agg"]
    assert "these are all that run on host-7: that host is slower than the others" in skew.cause
    assert skew.next_step.startswith("Compare host-7 with the other hosts first")
    assert [related.subject for related in skew.related] == ["host-7"]
    root = found(window, ROOT)["agg"]
    assert root.next_step.startswith("Compare host-7 with the other hosts first")
    assert "hot keys" not in root.next_step


@pytest.mark.parametrize(
    "window",
    [
        pytest.param(on_hosts((0.98, 0.1, 0.1, 0.1), (500.0, 50.0, 50.0, 50.0)), id="hot key"),
        pytest.param(on_hosts((0.98, 0.1, 0.1, 0.1)), id="records unknown"),
        pytest.param(
            on_hosts((0.98, 0.1, 0.1, 0.1), (500.0, 50.0, 50.0, 50.0), ("host-7",) * 4),
            id="one host",
        ),
        pytest.param(
            on_hosts((0.98, 0.1, 0.1, 0.1), (), TWO_ON_ONE), id="a sibling there has time to spare"
        ),
    ],
)
def test_no_host_is_named_where_records_or_siblings_say_that_it_is_not_the_host(window):
    skew = found(window, SKEW)["agg"]
    assert "the load is uneven" in skew.cause and not skew.related
    assert "Find the hot keys" in skew.next_step
    assert "hot keys" in found(window, ROOT)["agg"].next_step


def test_what_was_back_pressured_itself_is_not_said_never_to_have_waited():
    waits = job(
        held("source", 0.9),
        vertex("agg", (0.85,), (0.1,), in_pool_usage=(1.0,)),
        vertex("sink", (0.3,)),
        edges="source>agg agg>sink",
    )
    assert found(waits, ROOT)["agg"].cause.startswith(
        "The only subtask of agg worked for 85 % of the time and waited for 10 % at most"
    )
    rests = job(held("source", 0.9), hot("agg", 0.85), edges="source>agg")
    assert found(rests, ROOT)["agg"].cause.startswith(
        "The only subtask of agg worked for 85 % of the time, while source"
    )
    never = job(held("source", 0.9), hot("agg", 0.98), edges="source>agg")
    assert "worked without pause and never had to wait" in found(never, ROOT)["agg"].cause


def test_long_names_are_cut_in_sentences_and_whole_in_subject_and_path():
    long = "Source: " + "very long " * 200 + "table"
    window = job(held("source", 0.9), hot("sink", 1.0), edges="source>sink")
    named = replace(window, vertices=(replace(window.vertices[0], name=long), window.vertices[1]))
    root = found(named, ROOT)["sink"]
    assert len(root.title) < 200
    assert root.related[0].path == (long, "sink")
