"""Frames out of a recording: raw lake tables as the importer would write them, and located log
events.
"""

from pyspark.sql import DataFrame, SparkSession

from ingest.lake.tables import TABLES
from spark_jobs.schemas import lake_schema
from tests.fold.recorded import lake_tables, located_events
from tests.spark_jobs.rows import events


def recorded_rows(spark: SparkSession, recording: str, table: str) -> DataFrame:
    """Empty where the recording has no such rows."""
    rows = lake_tables(recording).get(table, TABLES[table].schema.empty_table())
    schema = lake_schema(table)
    return spark.createDataFrame(
        [tuple(row[name] for name in schema.names) for row in rows.to_pylist()], schema
    )


def recorded_events(spark: SparkSession, recording: str) -> DataFrame:
    """Every log event, completed with where its task ran."""
    return events(spark, located_events(recording))
