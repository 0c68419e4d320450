"""Frames out of a recording: raw lake tables as the importer would write them, and located log events."""

from functools import cache

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from ingest.flink_logs.locating import located
from ingest.flink_logs.recognise import event_of
from ingest.lake.rows import group_by_table, to_arrow
from ingest.lake.tables import TABLES
from ingest.recordings.recording import Recording
from ingest.records import LogRecord, Observed
from spark_jobs.schemas import lake_schema
from tests.ingest.recorded import RECORDINGS
from tests.spark_jobs.rows import Row, events


@cache
def _observed(recording: str) -> tuple[Observed, ...]:
    return tuple(reading for readings, _ in Recording(RECORDINGS / recording, "c").read() for reading in readings)


@cache
def _tables(recording: str) -> dict[str, pa.Table]:
    return {name: to_arrow(TABLES[name], rows, 1) for name, rows in group_by_table(_observed(recording)).items()}


@cache
def _events(recording: str) -> tuple[Row, ...]:
    records = [(record, reading) for reading in _observed(recording) for record in reading.records if isinstance(record, LogRecord)]
    observed_at = {(record.process, record.offset): reading.observed_at for record, reading in records}
    in_order = sorted((record for record, _ in records), key=lambda record: (record.ts, record.process, record.offset))
    found = located(event for record in in_order if (event := event_of(record)))
    return tuple(
        {name: getattr(event, name) for name in event.__slots__} | {"observed_at": observed_at[event.process, event.offset]}
        for event in found
    )


def recorded_rows(spark: SparkSession, recording: str, table: str) -> DataFrame:
    """Empty where the recording has no such rows."""
    rows = _tables(recording).get(table, TABLES[table].schema.empty_table())
    schema = lake_schema(table)
    return spark.createDataFrame([tuple(row[name] for name in schema.names) for row in rows.to_pylist()], schema)


def recorded_events(spark: SparkSession, recording: str) -> DataFrame:
    """Every log event, completed with where its task ran."""
    return events(spark, _events(recording))
