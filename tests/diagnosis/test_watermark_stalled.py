"""watermark.stalled: event time that stands still while records flow."""

from spark_jobs.diagnosis.samples import JobWindow, VertexPast
from tests.diagnosis.graphs import AT_MS, found, job, unknown, vertex

RULE = "watermark.stalled"
MARK_MS = AT_MS - 3_600_000
MINUTE_MS = 60_000


def past(
    name: str, minutes: int, watermark=lambda minute: MARK_MS, rate=100.0
) -> tuple[VertexPast, ...]:
    """Windows one to ``minutes`` before the judged one."""
    return tuple(
        VertexPast(name, AT_MS - MINUTE_MS * (minute + 1), watermark(minute), rate)
        for minute in range(1, minutes + 1)
    )


def joined(
    minutes=10,
    left=(50.0, 50.0),
    right=(0.0, 0.0),
    marks=(MARK_MS, MARK_MS),
    arriving=100.0,
    edges="left>join right>join",
    **values,
) -> JobWindow:
    windows = (
        vertex("left", records_out_per_s=left),
        vertex("right", records_out_per_s=right),
        vertex("join", watermark_ms=marks, records_in_per_s=(arriving / 2, arriving / 2)),
    )
    values.setdefault("past", past("join", minutes))
    return job(*windows, edges=edges, **values)


def test_an_idle_input_that_holds_event_time_is_named():
    stalled = found(joined(), RULE)["join"]
    assert (stalled.confidence, stalled.data["silent_inputs"]) == (
        "high",
        [{"vertex_id": "right", "vertex_name": "right", "subtasks": []}],
    )
    assert (stalled.evidence[0].value, stalled.evidence[0].threshold) == (10 * MINUTE_MS, 300_000)


def test_one_silent_subtask_of_a_source_is_named():
    stalled = found(joined(left=(50.0, 0.0), right=(10.0, 10.0)), RULE)["join"]
    assert stalled.related[0].subject == "left/1"


def test_inputs_that_all_emit_point_to_timestamps():
    stalled = found(joined(right=(10.0, 10.0)), RULE)["join"]
    assert stalled.confidence == "medium"
    assert "currentOutputWatermark" in stalled.next_step


def test_a_watermark_that_moves_is_not_stalled():
    assert not found(
        joined(past=past("join", 10, lambda minute: MARK_MS - minute * MINUTE_MS)), RULE
    )


def test_a_few_minutes_are_too_short():
    assert not found(joined(minutes=4), RULE)


def test_without_records_nothing_should_move():
    assert not found(joined(arriving=0.0), RULE)
    assert not found(joined(past=past("join", 10, rate=0.0)), RULE)


def test_an_input_that_ended_holds_nobody():
    final = 2**63 - 1
    assert not found(
        joined(marks=(final, final), past=past("join", 10, lambda minute: final)), RULE
    )


def test_the_lowest_subtask_counts():
    assert "join" in found(joined(marks=(MARK_MS, MARK_MS + 600_000)), RULE)


def test_what_stands_still_behind_it_is_listed_and_not_found_again():
    window = joined(
        edges="left>join right>join join>sink", past=(*past("join", 10), *past("sink", 10))
    )
    sink = vertex("sink", watermark_ms=(MARK_MS,), records_in_per_s=(5.0, 5.0))
    both = job(
        *window.vertex_windows, sink, edges="left>join right>join join>sink", past=window.past
    )
    stalled = found(both, RULE)
    assert list(stalled) == ["join"]
    assert stalled["join"].related[-1].subject == "sink"


def test_processing_time_jobs_and_ended_jobs_are_left_alone():
    assert not found(joined(marks=()), RULE)
    assert not found(joined(terminal=True), RULE)
    assert not unknown(joined(marks=()), RULE)
    assert unknown(job(edges="left>join"), RULE)
