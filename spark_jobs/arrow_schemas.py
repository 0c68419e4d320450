from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from spark_jobs.serving import Kind, ServingTable

INSTANT = pa.timestamp("us", "UTC")
_TYPE_OF_KIND: Mapping[Kind, pa.DataType] = {
    "text": pa.string(),
    "int": pa.int64(),
    "real": pa.float64(),
    "flag": pa.bool_(),
    "instant": INSTANT,
    "json": pa.string(),
    "message": pa.string(),
    "messages": pa.string(),
}


def schema(**columns: Kind | pa.DataType) -> pa.Schema:
    return pa.schema([(name, _TYPE_OF_KIND.get(kind, kind)) for name, kind in columns.items()])


def arrow_schema(table: ServingTable) -> pa.Schema:
    return pa.schema([(column.name, _TYPE_OF_KIND[column.kind]) for column in table.columns])


def in_microseconds(kind: pa.DataType) -> pa.DataType:
    return with_instants(kind, INSTANT)


def fields_of(lake_table: pa.Schema, names: Iterable[str]) -> list[tuple[str, pa.DataType]]:
    """Columns of a lake table, with instants in microseconds."""
    return [(name, in_microseconds(lake_table.field(name).type)) for name in names]


def with_instants(kind: pa.DataType, instant: pa.DataType) -> pa.DataType:
    """The type with ``instant`` in the place of each timestamp in it."""
    if pa.types.is_list(kind):
        return pa.list_(with_instants(kind.value_type, instant))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, with_instants(field.type, instant)) for field in kind])
    return instant if pa.types.is_timestamp(kind) else kind


def batch_from_rows(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    """``rows``: of ``spark_jobs.fold``, with instants in epoch ms, none nested."""
    ms_fields = [
        (field.name, pa.timestamp("ms", "UTC") if field.type == INSTANT else field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_pylist(list(rows), pa.schema(ms_fields)).cast(schema)
