"""Figures of operators and RocksDB: which names are asked for, and what answers come to."""

from urllib.parse import quote

import pytest

from ingest.errors import Skipped
from ingest.flink_rest.limits import MAX_PATH_BYTES
from ingest.flink_rest.metric_names import packed_paths
from ingest.flink_rest.payloads.gauges import (
    MOST_NAMES,
    MOST_PARTITIONS,
    combine,
    gauges,
    listed_names,
    names_to_request,
)


def names(*ids: str) -> list[dict[str, object]]:
    return [{"id": one} for one in ids]


def figure(name: str, least: float, greatest: float, total: float) -> dict[str, object]:
    return {"id": name, "min": least, "max": greatest, "sum": total}


def test_only_names_that_feed_a_figure_are_asked_for() -> None:
    told = names(
        "busyTimeMsPerSecond",
        "enrich.count.rocksdb_is-write-stopped",
        "rocksdb_is-write-stopped-not",
        "estimatedTimeToConsumeBuffersMs",
        "join.currentInput2Watermark",
        "a,b.rocksdb.is-write-stopped",
        "currentInputWatermark",
        "enrich.count.rocksdb.num-files-at-level1",
    )
    assert names_to_request(listed_names(told)) == [
        "join.currentInput2Watermark",
        "enrich.count.rocksdb_is-write-stopped",
    ]
    assert names_to_request(listed_names([])) == []
    assert (
        len(names_to_request([f"op.s{number}.rocksdb.background-errors" for number in range(1000)]))
        == MOST_NAMES
    )
    for bad in ({}, [1], [{"name": "x"}]):
        with pytest.raises(Skipped):
            listed_names(bad)


def test_figures_of_all_states_of_a_vertex_are_put_together() -> None:
    first = gauges(
        [
            figure("op.a.rocksdb.is-write-stopped", 0, 1, 2),
            figure("op.b.rocksdb.is-write-stopped", 0, 1, 1),
            figure("op.a.rocksdb.num-files-at-level0", 3, 36, 70),
            figure("op.b.rocksdb.num-files-at-level0", 1, 4, 7),
        ]
    )
    second = gauges(
        [
            figure("op.c.rocksdb.is-write-stopped", 0, 0, 0),
            figure("j.currentInput1Watermark", 1_790_000_000_001, 2e12, 4e12),
        ]
    )
    assert combine([first, second]) == {
        "writes_stopped": 3,
        "level0_files": 36,
        "input1_watermark_ms": 1_790_000_000_001,
    }


def test_a_watermark_that_has_not_come_is_unknown() -> None:
    assert gauges([figure("j.currentInput1Watermark", -9.223372036854775808e18, 1.79e12, 0)]) == {}
    assert (
        gauges(
            [
                {"id": "j.currentInput1Watermark", "min": "NaN"},
                {"id": "op.a.rocksdb.is-write-stopped"},
            ]
        )
        == {}
    )


def test_requests_are_short_enough_and_ask_for_everything() -> None:
    asked = [f"op {number}.state.rocksdb.is-write-stopped" for number in range(MOST_NAMES)]
    head = "/jobs/x/vertices/y/subtasks/metrics?agg=min,max,sum&get="
    paths = packed_paths(head, map(quote, asked), 100)
    assert all(len(path) + 100 <= MAX_PATH_BYTES for path in paths)
    got = [
        name.replace("%20", " ") for path in paths for name in path.partition("&get=")[2].split(",")
    ]
    assert got == asked


def offsets(partition: int, read: float, committed: float) -> list[dict[str, object]]:
    head = f"Source__log.KafkaSourceReader.topic.orders.eu.partition.{partition}"
    return [
        figure(f"{head}.currentOffset", read, read, read),
        figure(f"{head}.committedOffset", committed, committed, committed),
    ]


def test_records_after_the_commits_of_kafka_are_counted_by_partition_over_all_answers() -> None:
    read, committed = offsets(0, 99, 60)
    assert combine([gauges([read, *offsets(1, 9, 10)]), gauges([committed])]) == {
        "uncommitted_records": 40
    }


def test_a_partition_without_a_record_since_its_task_began_has_none_after_its_commit() -> None:
    parts = [gauges([*offsets(0, -1, 5_000), *offsets(1, 9, 5), *offsets(2, -1, -1)])]
    assert combine(parts) == {"uncommitted_records": 5}


def test_what_is_not_committed_is_unknown_until_each_partition_that_was_read_has_a_commit() -> None:
    assert combine([gauges([*offsets(0, 99, 60), *offsets(1, 9, -1)])]) == {}
    assert combine([gauges(offsets(0, -1, -1)[1:])]) == {}


def test_offsets_of_very_many_partitions_are_not_asked_for() -> None:
    def asked(partitions: int) -> list[str]:
        return names_to_request(
            [str(one["id"]) for number in range(partitions) for one in offsets(number, 0, 0)]
        )

    assert len(asked(MOST_PARTITIONS)) == 2 * MOST_PARTITIONS
    assert asked(MOST_PARTITIONS + 1) == []
