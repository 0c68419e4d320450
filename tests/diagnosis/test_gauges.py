"""rocksdb.write_stall: by hand, and by a real Flink's own answers."""

from typing import Any

import pytest

from ingest.messages import bytes_text
from spark_jobs.diagnosis.samples import Vertex, VertexGauges
from tests.diagnosis.jobs import found, ms, window
from tests.played import answers, evidence, of_rule, vertices

STALL = "rocksdb.write_stall"
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
    (slowed,) = judged(STALL, SLOWED, SLOWED, SLOWED | {"background_errors": 0})
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
    assert files[-1] >= 20
    assert f"{int(files[-1])} files lie in level 0 of one state" in newest["cause"]
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
