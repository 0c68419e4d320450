from pyspark.sql import DataFrame, SparkSession

from ingest.traces import shortened
from spark_jobs.transforms.exception_batches import STACKTRACE_CHARS
from spark_jobs.transforms.job_exceptions import job_exceptions
from tests.ingest.test_traces import DEEP
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
    early, none = f"a.B: c\n\tat d\nCaused by: e.F: g\n{'x' * 60_000}", "x" * 60_000
    traces = [None, "", "short\nCaused by: a.B: c", none, early, DEEP, DEEP * 3, f"{DEEP}\nCaused by: {none}"]
    rows = exceptions(spark, *(FAILED | {"ts": noon(n), "stacktrace": trace} for n, trace in enumerate(traces)))
    expected = [trace and shortened(trace, STACKTRACE_CHARS) for trace in traces]
    assert [row["stacktrace"] for row in collected(rows.orderBy("ts"))] == expected
    assert "Quota.java:41" in (expected[5] or "")
