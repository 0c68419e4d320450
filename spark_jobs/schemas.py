import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema

from ingest.lake.derived import ALL_TABLES


def spark_schema(arrow: pa.Schema) -> T.StructType:
    return from_arrow_schema(
        pa.schema([field.with_nullable(True) for field in arrow]), prefer_timestamp_ntz=False
    )


def lake_schema(table: str) -> T.StructType:
    return spark_schema(ALL_TABLES[table].schema)
