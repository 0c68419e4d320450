"""Figures of RocksDB and of two inputs, as a real Prometheus put them together, beside those that
Flink's REST API answered meanwhile.
"""

import asyncio
import gzip
import json
from datetime import UTC, datetime

import pytest

from ingest.flink_rest.payloads.gauges import GAUGES
from ingest.lake.store import Lake
from ingest.prometheus.collector import read_metrics
from ingest.prometheus.gauges import gauge_rows, gauges_query, parse_gauge_name
from ingest.prometheus.names import TASK
from ingest.prometheus.rows import series
from ingest.recordings.importer import import_recording
from ingest.records import VertexGauges, VertexMetrics
from ingest.sources import ClusterSource, PrometheusSource
from tests.ingest.test_shard_collector import rows
from tests.ways import FOLDER, Series

PLAYED = FOLDER / "1.20.5" / "write-stall"
ANSWERS = json.loads(gzip.decompress((PLAYED / "gauges.json.gz").read_bytes()))
((JOB, ANSWER),) = ANSWERS.items()
VERTEX = "b" * 32


def matrix(result):
    return series({"status": "success", "data": {"resultType": "matrix", "result": list(result)}})


def test_samples_of_subtasks_give_the_rows_of_what_prometheus_put_together():
    of_subtasks = [one for one in Series(PLAYED).all if parse_gauge_name(one["metric"]["__name__"])]
    assert len(of_subtasks) > 1.5 * len(ANSWER), "several subtasks are one series there"
    assert list(gauge_rows(JOB, matrix(of_subtasks))) == list(gauge_rows(JOB, matrix(ANSWER)))


def test_they_are_what_rest_answered_of_the_same_vertices(tmp_path):
    lake = Lake(str(tmp_path / "lake"))
    import_recording(PLAYED, "lab", lake)
    asked = sorted(rows(lake, "vertex_gauges"), key=lambda row: row["ts"])
    scraped = [row for _, row in gauge_rows(JOB, matrix(ANSWER))]
    assert {row["vertex_id"] for row in asked} == {row.vertex_id for row in scraped}
    for column in GAUGES:
        known = {row.vertex_id for row in scraped if getattr(row, column) is not None}
        assert {row["vertex_id"] for row in asked if row[column] is not None} == known, column
    compared = 0
    for row in scraped:
        beside = [one for one in asked if one["vertex_id"] == row.vertex_id]
        before = max(
            (one for one in beside if one["ts"] < row.ts), key=lambda one: one["ts"], default=None
        )
        after = min(
            (one for one in beside if one["ts"] > row.ts), key=lambda one: one["ts"], default=None
        )
        if before and after and row.block_cache_capacity_bytes is not None:
            assert row.block_cache_capacity_bytes == before["block_cache_capacity_bytes"]
            compared += 1
    assert compared > 10


def gauge(name, value, at=0, **labels):
    return {
        "metric": {"__name__": TASK + name, "task_id": VERTEX, **labels},
        "values": [[at, str(value)]],
    }


def told(*found):
    return [row for _, row in gauge_rows(JOB, matrix(found))]


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("operator_currentInput1Watermark", "input1_watermark_ms"),
        ("Shuffle_Netty_Input_1_debloatedBufferSize", "debloated_buffer_bytes"),
        ("Shuffle_Netty_Input_12_estimatedTimeToConsumeBuffersMs", "buffers_consumed_in_ms"),
        ("operator__timer_state_event_user_timers_rocksdb_is_write_stopped", "writes_stopped"),
        ("operator_last_rocksdb_num_files_at_level0", "level0_files"),
        ("operator_last_rocksdb_num_files_at_level1", None),
        ("operator_KafkaSourceReader_commitsFailed", "offset_commits_failed"),
        ("operator_split_watermark_pausedTimeMsPerSecond", "split_paused_ms_per_s"),
        ("estimatedTimeToConsumeBuffersMs", None),
        ("busyTimeMsPerSecond", None),
    ],
)
def test_a_figure_is_known_by_the_end_of_its_name(name, column):
    assert parse_gauge_name(TASK + name) == (column and (column, GAUGES[column][1]))


def test_of_a_subtask_that_was_restarted_the_newest_attempt_counts():
    stopped = "operator_last_rocksdb_is_write_stopped"
    (row,) = told(
        gauge(stopped, 5, subtask_index="0", task_attempt_num="0"),
        gauge(stopped, 1, subtask_index="0", task_attempt_num="1"),
        gauge(stopped, 2, subtask_index="1", task_attempt_num="0"),
    )
    assert row == VertexGauges(JOB, VERTEX, datetime.fromtimestamp(0, UTC), writes_stopped=3)


def test_an_input_without_a_watermark_yet_is_unknown_and_no_row_is_made_of_it():
    assert told(gauge("operator_currentInput1Watermark", -(2**63))) == []


def offset(which, partition, value, subtask="0"):
    name = f"operator_KafkaSourceReader_topic_partition_{which}Offset"
    return gauge(name, value, topic="orders", partition=partition, subtask_index=subtask)


def test_records_after_the_commits_of_kafka_are_counted_by_partition():
    (row,) = told(
        offset("current", "0", 99),
        offset("committed", "0", 60),
        offset("current", "1", -1, subtask="1"),
        offset("committed", "1", 5_000, subtask="1"),
    )
    assert row.uncommitted_records == 40


def test_the_query_is_of_one_job_and_within_the_matchers_of_its_cluster():
    query = gauges_query('{cluster="lab"}', JOB)
    assert query.count(f'job_id="{JOB}",cluster="lab"}}') == query.count("{") == 3


class Refusing(Series):
    """What speaks Prometheus' HTTP API and not all of its language."""

    async def get(self, path):
        if "+by+" in path:
            return {"status": "error", "error": "unsupported: by (__name__)"}
        return await super().get(path)


def test_where_they_are_refused_the_other_samples_are_read_and_it_is_said():
    source = ClusterSource(
        "lab",
        "http://jobmanager",
        prometheus=PrometheusSource("http://prometheus"),
        metrics_interval_s=10,
    )
    client = Refusing(PLAYED)
    at = datetime.fromtimestamp(client.first_s + 60, UTC)
    found = asyncio.run(read_metrics(client, source, {"until_s": client.first_s - 10}, lambda: at))
    assert {type(one) for part in found.observed for one in part.records} == {VertexMetrics}
    assert found.reachable and ["unsupported" in skip.detail for skip in found.skips] == [True]
