"""Leaving a transform: exactly the declared serving columns, in their order, with their types."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.schemas import serving_schema
from spark_jobs.serving import ServingTable


def serving_rows(df: DataFrame, table: ServingTable) -> DataFrame:
    """Select the contract of ``table``. A column that ``df`` lacks is an error, one too many is dropped."""
    return df.select(*(F.col(field.name).cast(field.dataType).alias(field.name) for field in serving_schema(table)))


def json_text(value: Column) -> Column:
    """``value`` (struct or array) as JSON text, members that are null kept; null where ``value`` is null."""
    return F.to_json(value, {"ignoreNullFields": "false"})
