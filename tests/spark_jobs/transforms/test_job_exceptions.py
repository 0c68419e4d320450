from pyspark.sql import DataFrame, SparkSession

from spark_jobs.transforms.job_exceptions import STACKTRACE_CHARS, job_exceptions
from tests.spark_jobs.rows import Row, collected, lake_rows, noon, only


def exceptions(spark: SparkSession, *rows: Row) -> DataFrame:
    return job_exceptions(lake_rows(spark, "exceptions", rows))


FAILED = {"ts": noon(5), "task": "map (1/2) - execution #0", "exception_name": "java.io.IOException", "is_root": True}


def test_a_global_failure_has_an_empty_task_key_and_an_unnamed_one_a_name(spark: SparkSession) -> None:
    row = only(exceptions(spark, FAILED | {"task": None, "exception_name": None}))
    assert (row["task_key"], row["task"], row["exception_name"]) == ("", None, "unknown")


def test_the_host_is_the_endpoint_without_its_port(spark: SparkSession) -> None:
    rows = [FAILED | {"ts": noon(n), "endpoint": endpoint} for n, endpoint in enumerate(["tm-1:4447", "[::1]:4447", "tm-2"])]
    assert [row["host"] for row in collected(exceptions(spark, *rows).orderBy("ts"))] == ["tm-1", "[::1]", "tm-2"]


def test_a_long_trace_is_cut(spark: SparkSession) -> None:
    assert len(only(exceptions(spark, FAILED | {"stacktrace": "x" * 60_000}))["stacktrace"]) == STACKTRACE_CHARS
