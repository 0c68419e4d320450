from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from spark_jobs.serving import Kind, ServingTable

Batches = Iterable[pa.RecordBatch]
Make = Callable[[Batches], Iterator[pa.RecordBatch]]

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


def schema(*first: pa.Field, **columns: Kind | pa.DataType) -> pa.Schema:
    """The fields ``first``, then the ``columns``."""
    others = [pa.field(name, _TYPE_OF_KIND.get(kind, kind)) for name, kind in columns.items()]
    return pa.schema([*first, *others])


def arrow_schema(table: ServingTable) -> pa.Schema:
    return pa.schema([(column.name, _TYPE_OF_KIND[column.kind]) for column in table.columns])


def in_microseconds(kind: pa.DataType) -> pa.DataType:
    return with_instants(kind, INSTANT)


def fields_of(table: pa.Schema, *names: str) -> pa.Schema:
    """The columns ``names`` of a table (default: all), with instants in microseconds."""
    return pa.schema(
        [(name, in_microseconds(table.field(name).type)) for name in names or table.names]
    )


def with_instants(kind: pa.DataType, instant: pa.DataType) -> pa.DataType:
    """The type with ``instant`` in the place of each timestamp in it."""
    if pa.types.is_list(kind):
        return pa.list_(with_instants(kind.value_type, instant))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, with_instants(field.type, instant)) for field in kind])
    return instant if pa.types.is_timestamp(kind) else kind


def batch_with(rows: pa.RecordBatch, schema: pa.Schema, **arrays: pa.Array) -> pa.RecordBatch:
    """``arrays``, and the other columns of ``rows``."""
    columns = [arrays[name] if name in arrays else rows[name] for name in schema.names]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def batch_from_rows(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    """``rows``: of ``spark_jobs.fold``, with instants in epoch ms, none nested."""
    ms_fields = [
        (field.name, pa.timestamp("ms", "UTC") if field.type == INSTANT else field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_pylist(list(rows), pa.schema(ms_fields)).cast(schema)
