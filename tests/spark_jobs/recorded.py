"""Frames of raw lake tables out of a recording, as the importer would write them."""

from functools import cache

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from ingest.lake.rows import group_by_table, to_arrow
from ingest.lake.tables import TABLES
from ingest.recordings.recording import Recording
from spark_jobs.schemas import lake_schema
from tests.ingest.recorded import RECORDINGS


@cache
def _tables(recording: str) -> dict[str, pa.Table]:
    observed = [reading for readings, _ in Recording(RECORDINGS / recording, "c").read() for reading in readings]
    return {name: to_arrow(TABLES[name], rows, 1) for name, rows in group_by_table(observed).items()}


def recorded_rows(spark: SparkSession, recording: str, table: str) -> DataFrame:
    """Empty where the recording has no such rows."""
    rows = _tables(recording).get(table, TABLES[table].schema.empty_table())
    schema = lake_schema(table)
    return spark.createDataFrame([tuple(row[name] for name in schema.names) for row in rows.to_pylist()], schema)
