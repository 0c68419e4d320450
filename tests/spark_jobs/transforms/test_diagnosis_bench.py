"""What the bench of the diagnosis makes at toy size: benches run seldom, and rot unseen."""

import pytest
from pyspark.sql import SparkSession

from tests.bench import bench_diagnosis


@pytest.mark.long
def test_each_job_of_the_bench_is_judged_and_each_origin_named_in_each_window(
    spark: SparkSession,
) -> None:
    _, (jobs, occurrences, origins) = bench_diagnosis.judged(
        spark, 2 * bench_diagnosis.PRESSURED_EVERY
    )
    assert (jobs, origins) == (2 * bench_diagnosis.PRESSURED_EVERY, 2 * bench_diagnosis.WINDOWS)
    assert occurrences >= origins
