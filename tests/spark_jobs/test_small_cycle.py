"""A cycle in one process leaves the rows that Spark leaves, run for run."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.serving import SERVING_TABLES
from spark_jobs.small import rows
from tests.spark_jobs.instances import Instance, SmallInstance, play_in_pieces, play_whole


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MOST_ROWS", 10**9)
    monkeypatch.setattr(rows, "MOST_BYTES", 10**12)


def test_recordings_leave_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    by_spark, small = Instance(spark, tmp_path / "spark"), SmallInstance(spark, tmp_path / "small")
    for instance in (by_spark, small):
        play_whole(instance)
    assert_same_rows(by_spark, small)


def test_recordings_in_pieces_leave_the_same_rows_run_for_run(spark: SparkSession, tmp_path: Path) -> None:
    by_spark, small = Instance(spark, tmp_path / "spark"), SmallInstance(spark, tmp_path / "small")
    for instance in (by_spark, small):
        play_in_pieces(instance, tmp_path / "pieces")
    assert_same_rows(by_spark, small)


def assert_same_rows(by_spark: Instance, small: Instance) -> None:
    assert by_spark.manifests
    for run in range(1, len(by_spark.manifests) + 1):
        for table in SERVING_TABLES:
            assert small.rows(table, run) == by_spark.rows(table, run), (run, table)
