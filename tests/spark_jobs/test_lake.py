"""Frames of the lake: pinned versions, commit ranges, time, odd file names."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ingest.lake.store import Lake
from ingest.lake.tables import TABLES
from ingest.records import Checkpoint, Observed, Skip
from spark_jobs.lake import pin
from spark_jobs.paths import hadoop_path
from spark_jobs.schemas import lake_schema

START = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)


def checkpoint(number: int, minutes: float = 0) -> Observed:
    at = START + timedelta(minutes=minutes)
    return Observed("c", at, "rest", (Checkpoint("j" * 32, number, at, "COMPLETED"),))


def ids(frame) -> list[int]:
    return sorted(row.checkpoint_id for row in frame.select("checkpoint_id").collect())


@pytest.mark.parametrize("folder", ["plain", "with space", "date=1", "ümlaut,comma"])
def test_files_are_found_whatever_their_folder_is_called(
    spark: SparkSession, tmp_path: Path, folder: str
) -> None:
    lake = Lake(str(tmp_path / folder))
    lake.append([checkpoint(1)])
    assert ids(pin(spark, lake).new_rows("checkpoints", {})) == [1]


def test_rows_come_with_the_declared_types_and_utc_instants(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = Lake(str(tmp_path))
    lake.append([checkpoint(1)])
    frame = pin(spark, lake).new_rows("checkpoints", {})
    assert frame.schema == lake_schema("checkpoints")
    row = frame.selectExpr("unix_millis(trigger_time) AS ms", "string(date) AS day").first()
    assert (row.ms, row.day) == (START.timestamp() * 1000, "2026-11-21")


def test_a_run_sees_its_range_of_commits_and_no_other(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    versions = [lake.append([checkpoint(number)])["checkpoints"] for number in (1, 2, 3)]
    pinned = pin(spark, lake, {"checkpoints": versions[1]})
    assert ids(pinned.new_rows("checkpoints", {"checkpoints": versions[0]})) == [2]
    assert ids(pinned.rows_in("checkpoints", [(START, START)])) == [1, 2]


def test_compaction_brings_nothing_new(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    seen = [lake.append([checkpoint(number)])["checkpoints"] for number in (1, 2, 3)][-1]
    lake.compact("checkpoints")
    pinned = pin(spark, lake)
    assert pinned.versions["checkpoints"] > seen
    assert ids(pinned.new_rows("checkpoints", {"checkpoints": seen})) == []


def test_rows_are_pruned_to_spans_of_time(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    lake.append([checkpoint(number, minutes=60 * number) for number in range(6)])
    hour = timedelta(hours=1)
    spans = [(START, START), (START + 3 * hour, START + 4 * hour)]
    assert ids(pin(spark, lake).rows_in("checkpoints", spans)) == [0, 3, 4]


@pytest.mark.parametrize("table", TABLES)
def test_a_table_that_was_never_written_is_an_empty_frame(
    spark: SparkSession, tmp_path: Path, table: str
) -> None:
    pinned = pin(spark, Lake(str(tmp_path)))
    assert pinned.new_rows(table, {}).schema == lake_schema(table)
    assert pinned.rows_in(table, [(START, START)]).count() == 0


@pytest.mark.long
def test_three_hundred_commits_are_one_frame(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    for number in range(300):
        lake.append([Observed("c", START, "rest", (Skip(str(number), "timeout", ""),))])
    assert pin(spark, lake).new_rows("skips", {"skips": 100}).count() == 200


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("s3://bucket/a/b.parquet", "s3a://bucket/a/b.parquet"),
        ("hdfs://name/a/b.parquet", "hdfs://name/a/b.parquet"),
        ("/a/b.parquet", "file:/a/b.parquet"),
        ("file:///a%20b.parquet", "file:/a b.parquet"),
        ("/a/x[1].parquet", "file:/a/x[1].parquet"),
    ],
)
def test_uris_are_spelled_as_hadoop_wants_them(uri: str, path: str) -> None:
    assert hadoop_path(uri) == path
