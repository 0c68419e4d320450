"""data.skew: records or state of one subtask against its siblings."""

from spark_jobs.diagnosis.samples import JobWindow, VertexState
from tests.diagnosis.graphs import found, job, unknown, vertex

RULE = "data.skew"
GIB = 1 << 30


def agg(*rates, busy=0.2, **values) -> JobWindow:
    return job(vertex("source"), vertex("agg", (busy,) * len(rates), records_in_per_s=rates, **values), edges="source>agg")


def test_a_subtask_with_several_times_the_records_is_named_with_its_share():
    skew = found(agg(900.0, 100.0, 110.0, 90.0), RULE)["agg"]
    assert (skew.severity, skew.data["hot_subtasks"], skew.data["share"], skew.data["hosts"]) == ("info", [0], 0.75, ["host-0"])
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
    starting = vertex("agg", (None, 0.5), (0.0, 0.0), records_in_per_s=(0.0, 500.0))
    assert not found(job(vertex("source"), starting, edges="source>agg"), RULE)


def test_too_few_reports_leave_nobody_typical():
    assert not found(agg(900.0, None, None, None, 100.0), RULE)


def test_sources_without_a_partition_are_no_siblings():
    idle = vertex("source", (0.1,) * 4, records_in_per_s=(0.0,) * 4, records_out_per_s=(500.0, 480.0, 0.0, 0.0))
    assert not found(job(idle, vertex("sink"), edges="source>sink"), RULE)
    uneven = vertex("source", (0.9,) * 4, records_out_per_s=(500.0, 40.0, 50.0, 0.0))
    assert found(job(uneven, vertex("sink"), edges="source>sink"), RULE)["source"].severity == "info"


def test_uneven_full_state_is_skew_too():
    window = job(vertex("agg"), edges="source>agg", vertex_states=(VertexState("agg", 7, 1000, (9 * GIB, GIB, GIB)),))
    skew = found(window, RULE)["agg"]
    assert (skew.data["of"], skew.data["state_hot_subtasks"], skew.evidence[0].at_ms) == ("state", [0], 1000)


def test_small_states_say_nothing():
    window = job(vertex("agg"), edges="source>agg", vertex_states=(VertexState("agg", 7, 1000, (9_000_000, 10, 10)),))
    assert not found(window, RULE)


def test_without_records_and_state_it_is_unknown():
    assert unknown(job(edges="source>agg"), RULE)
