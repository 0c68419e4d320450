"""Spark's view of the lake and of the serving tables against their declarations."""

import pytest
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_type

from ingest.lake.tables import TABLES
from spark_jobs.arrow_schemas import in_microseconds
from spark_jobs.schemas import lake_schema
from spark_jobs.serving import SERVING_TABLES
from tests.serving_schemas import serving_schema


@pytest.mark.parametrize("table", TABLES)
def test_a_lake_schema_has_the_declared_columns_in_order(table: str) -> None:
    assert lake_schema(table).fieldNames() == TABLES[table].schema.names


@pytest.mark.parametrize("table", TABLES)
def test_lists_and_structs_keep_their_inner_types(table: str) -> None:
    for declared, spark in zip(TABLES[table].schema, lake_schema(table), strict=True):
        assert to_arrow_type(spark.dataType, timezone="UTC") == in_microseconds(declared.type)


@pytest.mark.parametrize("table", SERVING_TABLES)
def test_a_serving_schema_has_the_declared_columns_in_order(table: str) -> None:
    schema = serving_schema(table)
    assert tuple(schema.fieldNames()) == SERVING_TABLES[table].column_names
    kinds = {
        "text": T.StringType(),
        "json": T.StringType(),
        "int": T.LongType(),
        "real": T.DoubleType(),
    }
    for column in SERVING_TABLES[table].columns:
        if column.kind in kinds:
            assert schema[column.name].dataType == kinds[column.kind]
