from pyspark.sql import types as T

from spark_jobs.arrow_schemas import arrow_schema
from spark_jobs.schemas import spark_schema
from spark_jobs.serving import SERVING_TABLES, ServingTable


def serving_schema(table: str | ServingTable) -> T.StructType:
    return spark_schema(arrow_schema(SERVING_TABLES[table] if isinstance(table, str) else table))
