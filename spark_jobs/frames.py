"""Frames of Parquet files that runs wrote."""

from collections.abc import Iterable, Mapping

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.manifest import Manifest
from spark_jobs.paths import hadoop_path, without_globs
from spark_jobs.schemas import spark_schema

VERIFIED = {"parquet.page.verify-checksum.enabled": "true"}
"""Spark verifies page checksums only on request; a page with a flipped byte may still decode."""


def parquet_frame(
    session: SparkSession,
    files: Iterable[str],
    schema: pa.Schema,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Columns that the files lack are null."""
    paths = [without_globs(hadoop_path(file)) for file in files]
    if not paths:
        return session.createDataFrame([], spark_schema(schema))
    return session.read.options(**options or {}).schema(spark_schema(schema)).parquet(*paths)


def state_frame(
    session: SparkSession, run: Manifest | None, name: str, schema: pa.Schema
) -> DataFrame:
    files = run.state_files(name) if run else ()
    return parquet_frame(session, files, schema, VERIFIED)
