"""A cycle in one process leaves the rows that Spark leaves, run for run."""

from pathlib import Path

from pyspark.sql import SparkSession

from tests.spark_jobs.instances import Instance, SmallInstance, assert_same_rows, play_in_pieces, play_whole


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
