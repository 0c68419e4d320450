"""Spark schemas derived from the declarations of the lake and of the serving tables."""

import pyarrow as pa
from pyspark.sql import types as T

from ingest.lake.derived import ALL_TABLES
from spark_jobs.serving import SERVING_TABLES, Kind, ServingTable

_ATOM_OF_KIND: dict[Kind, T.DataType] = {
    "text": T.StringType(),
    "int": T.LongType(),
    "real": T.DoubleType(),
    "flag": T.BooleanType(),
    "instant": T.TimestampType(),
    "json": T.StringType(),
}


def lake_schema(table: str) -> T.StructType:
    """Spark schema of a raw lake table; every column may be null, ``date`` comes last."""
    return T.StructType([T.StructField(field.name, spark_type(field.type), True) for field in ALL_TABLES[table].schema])


def serving_schema(table: str | ServingTable) -> T.StructType:
    """Spark schema of a serving table, columns in their declared order."""
    declared = SERVING_TABLES[table] if isinstance(table, str) else table
    return T.StructType([T.StructField(column.name, _ATOM_OF_KIND[column.kind], True) for column in declared.columns])


def spark_type(arrow: pa.DataType) -> T.DataType:
    """Spark's type for an Arrow type that the lake uses; raises TypeError for any other."""
    if pa.types.is_list(arrow):
        return T.ArrayType(spark_type(arrow.value_type), True)
    if pa.types.is_struct(arrow):
        return T.StructType([T.StructField(field.name, spark_type(field.type), True) for field in arrow])
    for is_type, spark in _ATOMS:
        if is_type(arrow):
            return spark
    raise TypeError(f"The lake declares no {arrow} columns; add it to spark_jobs.schemas.")


_ATOMS = (
    (pa.types.is_string, T.StringType()),
    (pa.types.is_int64, T.LongType()),
    (pa.types.is_float64, T.DoubleType()),
    (pa.types.is_boolean, T.BooleanType()),
    (pa.types.is_timestamp, T.TimestampType()),
    (pa.types.is_date32, T.DateType()),
)
