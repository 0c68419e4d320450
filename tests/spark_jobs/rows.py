"""Frames of the small builders in :mod:`tests.rows`, and rows out of frames."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, get_args, get_type_hints

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from ingest.flink_logs.events import LogEvent
from spark_jobs.schemas import lake_schema
from tests.rows import (
    AWARE,
    EVENT,
    JOB,
    NOON,
    VERTEX,
    Row,
    event_values,
    fact_values,
    lake_values,
    serving_values,
)
from tests.serving_schemas import serving_schema

__all__ = [
    "JOB",
    "NOON",
    "VERTEX",
    "Row",
    "collected",
    "events",
    "facts",
    "lake_rows",
    "noon",
    "only",
    "serving_frame",
]

noon = AWARE


def lake_rows(spark: SparkSession, table: str, rows: Iterable[Row]) -> DataFrame:
    return _frame(spark, lake_values(table, rows, AWARE), lake_schema(table))


def facts(spark: SparkSession, rows: Iterable[Row]) -> DataFrame:
    return _frame(spark, fact_values(rows, AWARE), serving_schema("checkpoint_fact"))


def serving_frame(spark: SparkSession, table: str, rows: Iterable[Row]) -> DataFrame:
    return _frame(spark, serving_values(table, rows, AWARE), serving_schema(table))


_type_of_field = {str: "string", int: "bigint", bool: "boolean", datetime: "timestamp"}


def events(spark: SparkSession, rows: Iterable[Row]) -> DataFrame:
    types = {name: _type_of_field[_plain(hint)] for name, hint in get_type_hints(LogEvent).items()}
    types |= {"cluster": "string", "observed_at": "timestamp", "vertex_name": "string"}
    schema = ", ".join(f"`{name}` {types[name]}" for name in EVENT)
    return spark.createDataFrame([tuple(row.values()) for row in event_values(rows, AWARE)], schema)


def collected(df: DataFrame) -> list[dict[str, Any]]:
    """Rows as dicts; instants aware, in UTC (Spark hands them out naive, in the machine's time
    zone).
    """
    return [
        {name: _aware(value) for name, value in row.asDict(recursive=True).items()}
        for row in df.collect()
    ]


def only(df: DataFrame) -> dict[str, Any]:
    """The one row of a frame that must have exactly one."""
    (row,) = collected(df)
    return row


def _frame(spark: SparkSession, rows: Iterable[Row], schema: T.StructType) -> DataFrame:
    return spark.createDataFrame(
        [tuple(row[name] for name in schema.names) for row in rows], schema
    )


def _aware(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def _plain(hint: Any) -> type:
    """``int`` of ``int | None``."""
    return next(iter(get_args(hint)), hint)  # type: ignore[no-any-return]
