"""Arrow schemas of serving tables, derived from their declarations."""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from spark_jobs.serving import Kind, ServingTable

INSTANT = pa.timestamp("us", "UTC")
_OF_KIND: Mapping[Kind, pa.DataType] = {
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
    """Columns by their kind, as in serving tables, or by their type."""
    return pa.schema([(name, _OF_KIND.get(kind, kind)) for name, kind in columns.items()])


def arrow_schema(table: ServingTable) -> pa.Schema:
    return pa.schema([(column.name, _OF_KIND[column.kind]) for column in table.columns])


def in_microseconds(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.list_(in_microseconds(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, in_microseconds(field.type)) for field in kind])
    return INSTANT if pa.types.is_timestamp(kind) else kind


def batch_from_rows(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    """Rows as :mod:`spark_jobs.fold` has them, instants as epoch milliseconds, in a flat schema."""
    in_ms = [
        (field.name, pa.timestamp("ms", "UTC") if field.type == INSTANT else field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_pylist(list(rows), pa.schema(in_ms)).cast(schema)
