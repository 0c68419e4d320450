from pyspark.sql import DataFrame, SparkSession

from spark_jobs.transforms.job_exceptions import STACKTRACE_CHARS, job_exceptions
from spark_jobs.transforms.skipped_inputs import skipped_inputs
from tests.spark_jobs.recorded import recorded_rows
from tests.spark_jobs.rows import Row, collected, lake_rows, noon, only


def exceptions(spark: SparkSession, *rows: Row) -> DataFrame:
    return job_exceptions(lake_rows(spark, "exceptions", rows))


FAILED = {"ts": noon(5), "task": "map (1/2) - execution #0", "exception_name": "java.io.IOException", "is_root": True}


def test_an_exception_that_every_poll_repeats_is_one(spark: SparkSession) -> None:
    row = only(exceptions(spark, FAILED | {"observed_at": noon(10)}, FAILED | {"observed_at": noon(40)}))
    assert (row["task"], row["is_root"], row["as_of"]) == ("map (1/2) - execution #0", True, noon(40))


def test_a_root_stays_a_root(spark: SparkSession) -> None:
    assert only(exceptions(spark, FAILED, FAILED | {"is_root": False, "observed_at": noon(99)}))["is_root"] is True


def test_a_global_failure_has_an_empty_task_key_and_an_unnamed_one_a_name(spark: SparkSession) -> None:
    row = only(exceptions(spark, FAILED | {"task": None, "exception_name": None}))
    assert (row["task_key"], row["task"], row["exception_name"]) == ("", None, "unknown")


def test_the_host_is_the_endpoint_without_its_port(spark: SparkSession) -> None:
    rows = [FAILED | {"ts": noon(n), "endpoint": endpoint} for n, endpoint in enumerate(["tm-1:4447", "[::1]:4447", "tm-2"])]
    assert [row["host"] for row in collected(exceptions(spark, *rows).orderBy("ts"))] == ["tm-1", "[::1]", "tm-2"]


def test_a_long_trace_is_cut(spark: SparkSession) -> None:
    assert len(only(exceptions(spark, FAILED | {"stacktrace": "x" * 60_000}))["stacktrace"]) == STACKTRACE_CHARS


def test_recorded_failures_are_there_once(spark: SparkSession) -> None:
    """1.20.5/J fails five times, and every poll lists all failures so far."""
    rows = collected(job_exceptions(recorded_rows(spark, "1.20.5/J", "exceptions")))
    assert len({row["ts"] for row in rows if row["is_root"]}) == 5
    assert {row["exception_name"] for row in rows} == {"java.lang.RuntimeException"}


def test_what_was_skipped_twice_in_one_reading_is_one_row(spark: SparkSession) -> None:
    skip = {"subject": "/jobs/1", "reason": "bad_json", "detail": "expected an object", "observed_at": noon(3)}
    row = only(skipped_inputs(lake_rows(spark, "skips", [skip, skip | {"commit_seq": 2}])))
    assert (row["subject"], row["reason"], row["detail"], row["as_of"]) == ("/jobs/1", "bad_json", "expected an object", noon(3))
