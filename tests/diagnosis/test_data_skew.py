"""data.skew: records or state of one subtask against its siblings."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.samples import (
    Annotation,
    CheckpointConfig,
    CheckpointSample,
    JobWindow,
    VertexState,
)
from tests import windows
from tests.diagnosis.graphs import found, held, hot, job, unknown, vertex

RECORDINGS = Path(__file__).parents[1] / "fixtures" / "recordings"

RULE = "data.skew"
GIB = 1 << 30
LASTED = {"downtime_ms": 40_000}


def agg(*rates, busy=0.2, **values) -> JobWindow:
    """Counted over a minute in which the meters say the same."""
    counted = {"records_in_per_s": rates, "counted_in_per_s": rates, "counted_ms": 60_000}
    return job(
        vertex("source"),
        vertex("agg", (busy,) * len(rates), **counted | values),
        edges="source>agg",
    )


def metered(*rates, busy=(0.9, 0.2, 0.2), **values) -> JobWindow:
    """Without counters: an old lake, or a vertex so large that it is seldom asked for them."""
    return job(
        vertex("source"),
        vertex("agg", busy[: len(rates)], records_in_per_s=rates),
        edges="source>agg",
        **values,
    )


def test_a_subtask_with_several_times_the_records_is_named_with_its_share():
    skew = found(agg(900.0, 100.0, 110.0, 90.0), RULE)["agg"]
    assert (skew.severity, skew.data["hot_subtasks"], skew.data["share"], skew.data["hosts"]) == (
        "info",
        [0],
        0.75,
        ["host-0"],
    )
    assert (skew.evidence[0].value, skew.evidence[0].threshold) == (9.0, 3.0)


def test_it_warns_where_the_hot_subtask_is_busy():
    assert found(agg(900.0, 100.0, busy=0.9), RULE)["agg"].severity == "warning"


def test_twice_is_what_key_groups_explain():
    assert not found(agg(200.0, 100.0, 100.0), RULE)


def test_even_load_and_a_single_subtask_are_no_skew():
    assert not found(agg(500.0, 510.0, 490.0), RULE)
    assert not found(agg(5000.0), RULE)


def test_few_records_say_nothing():
    assert not found(agg(50.0, 0.0, 0.0), RULE)


def test_siblings_without_any_records_leave_no_figure_to_divide_by():
    skew = found(agg(500.0, 0.0, 0.0), RULE)["agg"]
    assert (skew.evidence[0].value, skew.data["share"]) == (None, 1.0)


def test_subtasks_that_have_not_begun_are_no_siblings():
    assert not found(metered(0.0, 500.0, busy=(None, 0.5)), RULE)


def test_too_few_reports_leave_nobody_typical():
    assert not found(agg(900.0, None, None, None, 100.0), RULE)


def test_sources_without_a_partition_are_no_siblings():
    idle = vertex(
        "source",
        (0.1,) * 4,
        records_in_per_s=(0.0,) * 4,
        counted_out_per_s=(500.0, 480.0, 0.0, 0.0),
        counted_ms=60_000,
    )
    assert not found(job(idle, vertex("sink"), edges="source>sink"), RULE)
    uneven = vertex(
        "source", (0.9,) * 4, counted_out_per_s=(500.0, 40.0, 50.0, 0.0), counted_ms=60_000
    )
    assert (
        found(job(uneven, vertex("sink"), edges="source>sink"), RULE)["source"].severity == "info"
    )


def test_uneven_full_state_is_skew_too():
    window = job(
        vertex("agg"),
        edges="source>agg",
        vertex_states=(VertexState("agg", 7, 1000, (9 * GIB, GIB, GIB)),),
    )
    skew = found(window, RULE)["agg"]
    assert (skew.data["of"], skew.data["state_hot_subtasks"]) == ("state", [0])


def test_small_states_say_nothing():
    window = job(
        vertex("agg"),
        edges="source>agg",
        vertex_states=(VertexState("agg", 7, 1000, (9_000_000, 10, 10)),),
    )
    assert not found(window, RULE)


def test_without_records_and_state_it_is_unknown():
    assert unknown(job(edges="source>agg"), RULE)


def test_with_checkpoints_but_no_state_of_subtasks_only_records_are_judged():
    """As a Prometheus and logs alone tell them, or Flink before 1.15."""
    completed = (CheckpointSample(7, 1000, "completed"),)
    judged = replace(agg(100.0, 110.0), checkpoints=completed)
    assert "state" in unknown(judged, RULE)
    by_rest = CheckpointConfig(mode="exactly_once", interval_ms=10_000)
    assert "state" in unknown(replace(judged, config=by_rest, at_ms=601_001), RULE)
    assert not unknown(replace(judged, config=by_rest, at_ms=601_000), RULE), (
        "which is still to come"
    )
    assert (
        found(replace(agg(900.0, 100.0), checkpoints=completed), RULE)["agg"].data["of"]
        == "records"
    )
    told = (VertexState("agg", 7, 1000, (0, 0)),)
    assert not unknown(replace(agg(100.0, 110.0), checkpoints=completed, vertex_states=told), RULE)


def counted(recording, vertex_id, from_ms, to_ms):
    """Records by subtask between two instants, by the counters of Flink's own answers: out of
    sources, into the others.
    """
    rows, is_source = [], True
    for line in (RECORDINGS / recording / "rest.jsonl").open(encoding="utf-8"):
        answer = json.loads(line)
        path = answer["path"].split("?")[0].strip("/").split("/")
        if (
            len(path) == 4
            and path[2:] == ["vertices", vertex_id]
            and answer["status"] == 200
            and from_ms <= answer["ts"] * 1000 <= to_ms
        ):
            metrics = [subtask["metrics"] for subtask in answer["body"]["subtasks"]]
            is_source = all(one["read-records"] == 0 for one in metrics)
            rows.append(metrics)
    name = "write-records" if is_source else "read-records"
    # The first answers of a job come before it has begun.
    rows = [row for row in rows if any(one[name] for one in row)]
    return [last[name] - first[name] for first, last in zip(rows[0], rows[-1], strict=True)]


@pytest.mark.parametrize("name", windows.recorded())
def test_every_recorded_skew_of_records_is_one_by_flinks_counters(name):
    for window in windows.recorded_windows(name):
        said = registry.diagnose(window, registry.limits(), only=[RULE]).findings
        for finding in (one for one in said if one.data["of"] == "records"):
            records = counted(
                name.replace("-", "/"), finding.subject_id, window.window_start_ms, window.at_ms
            )
            others = sorted(records)[:-1]
            assert max(records) >= 3 * others[len(others) // 2], (finding.title, records)
            assert records.index(max(records)) in finding.data["hot_subtasks"]


def test_a_burst_at_the_start_is_no_skew_of_now():
    """1.20.5/G: one source subtask began with a backlog of 80,000 records; ever since, both read
    250 records/s.
    """
    window = windows.recorded_windows("1.20.5-G")[-1]
    [source] = [
        one
        for one in window.vertex_windows
        if window.vertex_name(one.vertex_id).startswith("Source")
    ]
    assert max(source.records_out_per_s) > 3 * min(source.records_out_per_s), (
        "the meter still shows the burst"
    )
    first, second = counted("1.20.5/G", source.vertex_id, window.window_start_ms, window.at_ms)
    assert abs(first - second) < 0.05 * first
    assert not found(window, RULE)


def test_the_hot_key_of_a_young_job_is_found_by_what_it_counted():
    """1.20.5/C2."""
    finding = found(windows.recorded_windows("1.20.5-C2")[-1], RULE)
    [hot] = [one for one in finding.values() if one.subject == "slow-enrich"]
    assert (hot.severity, hot.data["hot_subtasks"]) == ("warning", [0])
    assert hot.cause.endswith("sets the pace: what feeds it is back-pressured.")


def test_a_busy_subtask_that_nobody_waits_for_sets_no_pace():
    assert "sets the pace" not in found(agg(900.0, 100.0, busy=0.9), RULE)["agg"].cause
    busy = vertex(
        "agg",
        (0.9, 0.3),
        counted_in_per_s=(900.0, 100.0),
        counted_ms=60_000,
        in_pool_usage=(1.0, 0.0),
    )
    assert (
        "sets the pace"
        in found(job(held("source", 0.9, 0.9), busy, edges="source>agg"), RULE)["agg"].cause
    )


def test_it_sets_no_pace_where_its_input_waits_for_another_vertex():
    busy = vertex(
        "agg",
        (0.6, 0.1),
        counted_in_per_s=(900.0, 100.0),
        counted_ms=60_000,
        in_pool_usage=(0.0, 0.0),
    )
    both = job(
        held("source", 0.9, 0.9), busy, hot("slow", 1.0, 1.0), edges="source>agg source>slow"
    )
    assert "sets the pace" not in found(both, RULE)["agg"].cause


def test_a_meter_that_remembers_a_burst_is_no_skew_where_the_counters_are_even():
    assert not found(
        agg(200.0, 200.0, 200.0, records_in_per_s=(1_200.0, 200.0, 200.0), busy=0.9), RULE
    )


def test_counters_that_meters_contradict_were_collected_a_while_apart():
    assert not found(agg(600.0, 200.0, 200.0, records_in_per_s=(400.0, 400.0, 400.0)), RULE)
    assert found(agg(600.0, 200.0, 200.0, records_in_per_s=()), RULE)


def test_a_finding_says_over_how_long_the_records_were_counted():
    skew = found(agg(900.0, 100.0, 110.0), RULE)["agg"]
    assert skew.evidence[1].note == "counted over 60 s"
    assert (skew.data["counted_ms"], skew.confidence) == (60_000, "high")


def test_without_counters_the_meter_counts_where_its_hot_subtask_works_more():
    skew = found(metered(900.0, 100.0, 110.0), RULE)["agg"]
    assert (skew.confidence, skew.data["counted_ms"]) == ("medium", None)
    assert skew.evidence[1].note == "Flink's meter, a mean of the last minute"


def test_without_counters_an_uneven_meter_alone_is_unknown():
    as_busy = metered(900.0, 100.0, 110.0, busy=(0.2, 0.2, 0.2))
    assert not found(as_busy, RULE)
    assert "record counters of each subtask of agg" in unknown(as_busy, RULE)
    assert not unknown(metered(100.0, 100.0, 110.0), RULE)
    assert not unknown(replace(as_busy, terminal=True), RULE)


def test_without_counters_a_meter_says_nothing_for_a_minute_after_a_start():
    uneven = metered(900.0, 100.0, 110.0)
    begun = uneven.window_start_ms - 30_000
    for young in (
        replace(uneven, annotations=(Annotation(begun, "restart"),)),
        replace(uneven, start_time_ms=begun),
    ):
        assert not found(young, RULE)
        assert "average over a minute" in unknown(young, RULE)
    assert found(replace(uneven, annotations=(Annotation(begun - 40_000, "restart"),)), RULE)
    assert found(replace(agg(900.0, 100.0, 110.0), start_time_ms=begun), RULE), (
        "counters do not remember"
    )


def test_subtasks_that_begin_within_the_minute_are_not_compared():
    """One that ran before the others, or drained a backlog first, has more for a moment."""
    uneven = agg(900.0, 100.0, 110.0)
    begun = uneven.window_start_ms + 20_000
    for young in (
        replace(uneven, annotations=(Annotation(begun, "restart"),)),
        replace(uneven, annotations=(Annotation(begun - 40_000, "restart", detail=LASTED),)),
        replace(uneven, start_time_ms=begun),
    ):
        assert not found(young, RULE)
        assert unknown(young, RULE) == "records of agg in a minute in which no task began"


def beside_slow(busy, hosts=("host-1", "host-2", "host-7")):
    rates = (300.0, 90.0, 80.0)
    counted = {"records_in_per_s": rates, "counted_in_per_s": rates, "counted_ms": 60_000}
    return job(vertex("source"), vertex("agg", busy, host=hosts, **counted), edges="source>agg")


def test_siblings_that_take_less_since_their_host_is_slow_make_no_uneven_data():
    slow = beside_slow((0.3, 0.95, 0.97), ("host-1", "host-7", "host-7"))
    [skew] = found(slow, RULE).values()
    assert "those with fewer records, on host-7, are busier: that host is slower" in skew.cause
    assert skew.next_step.startswith("Compare host-7 with the other hosts first")
    assert skew.data["hosts"] == ["host-7"]


@pytest.mark.parametrize(
    ("busy", "hosts"),
    [
        pytest.param((0.98, 0.3, 0.3), ("host-1", "host-7", "host-7"), id="the hot one works most"),
        pytest.param((0.2, 0.3, 0.3), ("host-1", "host-7", "host-7"), id="nobody works much"),
        pytest.param((0.3, 0.95, 0.97), ("host-7", "host-7", "host-7"), id="all on one host"),
        pytest.param((0.3, 0.95, None), ("host-1", "host-7", "host-7"), id="one is not known"),
    ],
)
def test_uneven_records_stay_uneven_data_where_no_host_explains_them(busy, hosts):
    [skew] = found(beside_slow(busy, hosts), RULE).values()
    assert "keys or partitions are not spread evenly" in skew.cause
