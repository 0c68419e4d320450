"""rocksdb.write_stall and join.slow_input: by hand, and by a real Flink's own answers."""

from typing import Any

import pytest

from ingest.messages import bytes_text, ms_text
from spark_jobs.diagnosis.samples import Edge, Vertex, VertexGauges, VertexState, VertexWindow
from tests.diagnosis.jobs import found, ms, window
from tests.played import answers, evidence, of_rule, vertices

STALL, SLOW = "rocksdb.write_stall", "join.slow_input"
PLAN = {"vertices": (Vertex("v", "enrich", 2), Vertex("w", "other", 2))}


def sampled(*values: dict[str, Any], vertex: str = "v") -> tuple[VertexGauges, ...]:
    """One every 30 s."""
    return tuple(VertexGauges(vertex, ms(30 * place), **one) for place, one in enumerate(values))


def judged(rule: str, *values: dict[str, Any], **windows: Any) -> Any:
    return found(window(at=30 * len(values), gauges=sampled(*values), **PLAN, **windows), rule)


STOPPED = {"writes_stopped": 2}
SLOWED = {"writes_stopped": 0, "delayed_write_bytes_per_s": 900_000}
WELL = {"writes_stopped": 0}


def test_writes_that_are_stalled_in_half_of_the_samples_are_told() -> None:
    (stopped,) = judged(STALL, WELL, WELL, STOPPED, SLOWED, STOPPED | {"level0_files": 36})
    assert (stopped.severity, stopped.subject_id, stopped.data["stalled"]) == ("critical", "v", 3)
    assert "36 files lie in level 0" in stopped.cause
    (slowed,) = judged(STALL, SLOWED, SLOWED, SLOWED | {"flushes_pending": 1})
    assert (slowed.severity, "write buffers fill faster" in slowed.cause) == ("warning", True)


@pytest.mark.parametrize(
    "values",
    [
        (STOPPED, STOPPED),
        (WELL, WELL, STOPPED, STOPPED, STOPPED, WELL, WELL),
        ({}, {}, {}),
        (WELL,) * 9,
    ],
)
def test_few_stalls_or_none_or_metrics_that_are_off_say_nothing(
    values: tuple[dict[str, Any], ...],
) -> None:
    assert not judged(STALL, *values)


def test_a_failed_flush_is_told_at_once() -> None:
    (said,) = judged(STALL, {"background_errors": 1})
    assert (said.severity, said.title) == (
        "critical",
        "RocksDB of enrich failed 1 flush or compaction",
    )


def inputs(first_s: float, second_s: float) -> dict[str, int]:
    return {"input1_watermark_ms": ms(first_s), "input2_watermark_ms": ms(second_s)}


def test_an_input_far_behind_the_other_is_told_with_the_state_that_waits() -> None:
    state = (VertexState("v", 7, ms(0), (3_000_000, None, 1_000_000)),)
    (said,) = judged(SLOW, inputs(0, -100), inputs(30, -90), inputs(60, -80), vertex_states=state)
    assert said.title == "The second input of enrich is 2.3 min behind the other"
    assert (said.data["apart_ms"], said.confidence) == (140_000, "high")
    assert "It holds 4 MB of state." in said.cause
    (other,) = judged(SLOW, inputs(-100, 0), inputs(-70, 30), inputs(-40, 60))
    assert other.title.startswith("The first input of enrich is 100 s behind")


@pytest.mark.parametrize(
    "values",
    [
        (inputs(0, -59),) * 5,
        (inputs(0, -99), inputs(0, 99), inputs(0, -99)),
        (inputs(0, -99),) * 2,
        ({},) * 5,
    ],
)
def test_inputs_close_to_each_other_or_in_turns_say_nothing(
    values: tuple[dict[str, Any], ...],
) -> None:
    assert not judged(SLOW, *values)


def told(played: str, vertex: str, end: str, aggregate: str) -> list[float]:
    """What Flink answered of the figures of a vertex whose names end so, put together by sample;
    nothing of Weir's readers in it.
    """
    found = []
    for answer in answers(
        played, f"/jobs/[0-9a-f]{{32}}/vertices/{vertices(played)[vertex]}/subtasks/metrics[?].*"
    ):
        of_end = [
            one[aggregate] for one in answer.body if one["id"].endswith(end) and aggregate in one
        ]
        if of_end:
            found.append(sum(of_end) if aggregate == "sum" else max(of_end))
    return found


@pytest.mark.parametrize("played", ["1.20.5/write-stall", "2.3.0/write-stall"])
def test_a_rocksdb_that_slows_writes_down_is_told_as_flink_measured_it(played: str) -> None:
    *_, newest = [one for one in of_rule(played, STALL) if one["subject"] == "enrich"]
    slowed = told(played, "enrich", "rocksdb_actual-delayed-write-rate", "max")
    files = told(played, "enrich", "num-files-at-level0", "max")
    assert evidence(newest, "writes slowed down to") == bytes_text(slowed[-1]) + "/s"
    assert evidence(newest, "files in level 0 of one state, the most") == files[-1] >= 20
    assert newest["data"]["stalled"] == sum(bool(rate) for rate in slowed) >= 3
    assert not any(told(played, "matched", "rocksdb_actual-delayed-write-rate", "max"))
    assert {one["subject"] for one in of_rule(played, STALL)} == {"enrich"}


def test_level_0_that_does_not_fill_up_while_it_is_watched_is_no_stall() -> None:
    played = "2.3.0/filling-level-0"
    assert 5 <= max(told(played, "enrich", "num-files-at-level0", "max")) < 20
    assert not of_rule(played, STALL)


@pytest.mark.parametrize("played", ["1.20.5/rocksdb-metrics", "2.3.0/rocksdb-metrics"])
def test_a_rocksdb_that_is_well_is_no_finding(played: str) -> None:
    assert len(told(played, "enrich", "rocksdb_is-write-stopped", "sum")) >= 4
    assert not of_rule(played, STALL)


def test_inputs_close_to_each_other_are_no_finding() -> None:
    played = "1.20.5/rocksdb-metrics"
    assert told(played, "matched", "currentInput2Watermark", "min")
    assert not of_rule(played, SLOW)


def test_the_slow_input_is_told_as_flinks_watermarks_lie_apart() -> None:
    played = "1.20.5/write-stall"
    *_, newest = of_rule(played, SLOW)
    assert newest["subject"].startswith("matched")
    assert newest["title"].startswith("The second input of ")
    assert 115_000 < evidence(newest, "watermarks of its inputs apart") < 130_000
    first, second = (
        told(played, "matched", f"currentInput{number}Watermark", "min") for number in (1, 2)
    )
    assert evidence(newest, "watermarks of its inputs apart") in {
        one - other for one, other in zip(first, second, strict=True)
    }


FEEDERS = {
    "first": "Source: Sequence Source -> first -> first times",
    "second": "Source: Sequence Source -> second -> second times",
}


def sent_to_matched(played: str) -> list[tuple[float, float]]:
    """What Flink says that the last operators before ``matched`` sent on, sample by sample."""
    first, second = (
        told(played, vertex, f"{name}_times.currentOutputWatermark", "min")
        for name, vertex in FEEDERS.items()
    )
    return list(zip(first, second, strict=True))


COME = -(2**62)
"""Flink says Long.MIN of a watermark that has not come yet."""


def test_of_a_release_without_the_watermark_of_each_input_it_is_told_by_what_feeds_them() -> None:
    played = "2.3.0/write-stall"
    assert not told(played, "matched", "currentInput1Watermark", "min")
    *_, newest = of_rule(played, SLOW)
    assert newest["subject"] == "matched"
    apart = [
        first - second for first, second in sent_to_matched(played) if min(first, second) > COME
    ]
    assert newest["title"] == (
        f"What matched gets from {FEEDERS['second']} is {ms_text(apart[-1])} behind what it "
        f"gets from {FEEDERS['first']}"
    )
    assert (evidence(newest, "watermarks of its inputs apart"), evidence(newest, "samples")) == (
        apart[-1],
        len(apart),
    )
    assert newest["data"]["apart_ms"] == apart[-1]
    assert newest["data"]["slow_vertex_id"] == vertices(played)[FEEDERS["second"]]


def test_where_flink_tells_the_watermark_of_each_input_what_feeds_them_tells_the_same() -> None:
    """Its REST API renews its figures every ten seconds, of each TaskManager at another moment."""
    played = "1.20.5/write-stall"
    inputs = [told(played, "matched", f"currentInput{number}Watermark", "min") for number in (1, 2)]
    of_inputs, of_feeders = list(zip(*inputs, strict=True)), sent_to_matched(played)
    assert len(of_inputs) == len(of_feeders)
    both = [
        (got, was_sent)
        for got, was_sent in zip(of_inputs, of_feeders, strict=True)
        if min(*got, *was_sent) > COME
    ]
    assert len(both) >= 10
    for got, was_sent in both:
        assert abs((got[0] - got[1]) - (was_sent[0] - was_sent[1])) < 10_000
    by_inputs, by_feeders = of_rule(played, SLOW)[-1], of_rule("2.3.0/write-stall", SLOW)[-1]
    apart = "watermarks of its inputs apart"
    assert abs(evidence(by_inputs, apart) - evidence(by_feeders, apart)) < 10_000


@pytest.mark.parametrize(
    "played", ["2.3.0/rocksdb-metrics", "2.3.0/filling-level-0", "2.3.0/declared-idle"]
)
def test_jobs_whose_feeders_were_not_asked_are_no_finding(played: str) -> None:
    assert not of_rule(played, SLOW)


STATE = (VertexState("v", 7, ms(0), (3_000_000, None, 1_000_000)),)
FED = {
    "vertices": (Vertex("v", "enrich", 2), Vertex("a", "orders", 2), Vertex("b", "rates", 2)),
    "edges": (Edge("a", "v", "HASH"), Edge("b", "v", "HASH")),
}
SECONDS = range(0, 150, 30)


def sent(
    vertex: str, behind_s: float | None, received_s: float | None = None, late_s: float = 0
) -> tuple[VertexGauges, ...]:
    """One sample every 30 s; watermarks lie so far behind the clock."""

    def watermark(behind: float | None, at: float) -> int | None:
        return None if behind is None else ms(at - behind)

    return tuple(
        VertexGauges(
            vertex,
            ms(at + late_s),
            sent_watermark_ms=watermark(behind_s, at),
            received_watermark_ms=watermark(received_s, at),
        )
        for at in SECONDS
    )


def judged_by_feeders(*parts: tuple[VertexGauges, ...], **other: Any) -> Any:
    gauges = sorted((one for part in parts for one in part), key=lambda one: one.at_ms)
    return found(
        window(at=150, gauges=tuple(gauges), **{**FED, "vertex_states": STATE, **other}), SLOW
    )


LATE = (sent("a", 1), sent("b", 200, late_s=2), sent("v", 201, 201, late_s=3))


def test_a_feeder_far_behind_the_other_is_told_by_its_name() -> None:
    (said,) = judged_by_feeders(*LATE)
    assert said.title == "What enrich gets from rates is 3.3 min behind what it gets from orders"
    assert (said.data["apart_ms"], said.data["slow_vertex_id"], said.confidence) == (
        199_000,
        "b",
        "medium",
    )
    (other,) = judged_by_feeders(sent("a", 200), sent("b", 1), sent("v", 200, 200))
    assert (other.data["apart_ms"], other.data["slow_vertex_id"]) == (-199_000, "a")


def test_of_three_feeders_the_slowest_is_told_beside_the_fastest() -> None:
    three = (*FED["edges"], Edge("c", "v", "HASH"))
    (said,) = judged_by_feeders(*LATE, sent("c", 90), edges=three)
    assert (said.data["slow_vertex_id"], said.data["fast_vertex_id"]) == ("b", "a")
    assert not judged_by_feeders(*LATE, edges=three), "what the third sent is not known"


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param((sent("a", 1), sent("b", 50), sent("v", 50, 50)), id="close to each other"),
        pytest.param(
            (sent("a", 1), sent("b", 200), sent("v", 2, 201)), id="the slower input is idle"
        ),
        pytest.param(
            (sent("a", 1), sent("b", 200), sent("v", 5, 5)),
            id="a subtask of the slower feeder is idle",
        ),
        pytest.param(
            (sent("a", 1), sent("b", 200), sent("v", 350, 350)),
            id="what was sent is in buffers still",
        ),
        pytest.param(
            (sent("a", None), sent("b", 200), sent("v", 200, 200)),
            id="one has ended, or sent none yet",
        ),
        pytest.param(
            (sent("a", 1), sent("b", 200), sent("v", None, 200)), id="what it sends on is not known"
        ),
        pytest.param(
            (sent("a", 1), sent("b", 200, late_s=14), sent("v", 200, 200)),
            id="samples too far from each other",
        ),
        pytest.param((sent("a", 1), sent("b", 200)), id="nothing of the vertex itself"),
    ],
)
def test_feeders_that_tell_nothing_of_inputs_are_no_finding(
    parts: tuple[tuple[VertexGauges, ...], ...],
) -> None:
    assert not judged_by_feeders(*parts)


def test_a_union_that_holds_no_state_is_no_finding() -> None:
    assert not judged_by_feeders(*LATE, vertex_states=(VertexState("v", 7, ms(0), (0, 0)),))
    assert not judged_by_feeders(*LATE, vertex_states=())


def test_a_faster_feeder_that_is_back_pressured_tells_nothing() -> None:
    assert not judged_by_feeders(
        *LATE, vertex_windows=(VertexWindow("a", 2, backpressured_ratio=(0.3, 0.4)),)
    )
    assert judged_by_feeders(
        *LATE, vertex_windows=(VertexWindow("a", 2, backpressured_ratio=(0.0, 0.1)),)
    )


def test_an_idle_input_is_no_finding_where_flink_tells_both_watermarks_either() -> None:
    idle = [inputs(at, at - 200) | {"sent_watermark_ms": ms(at - 2)} for at in SECONDS]
    late = [inputs(at, at - 200) | {"sent_watermark_ms": ms(at - 201)} for at in SECONDS]
    assert not judged(SLOW, *idle)
    assert judged(SLOW, *late)
