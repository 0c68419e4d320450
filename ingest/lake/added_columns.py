"""Columns that were declared after a lake table was made: the table gets them, rows written before
have null.
"""

from collections.abc import Sequence

import pyarrow as pa
from deltalake import DeltaTable, Field, Schema

from ingest.lake.tables import Table


def lacking_columns(delta: DeltaTable, table: Table) -> list[Field]:
    known = {field.name for field in delta.schema().fields}
    return Schema.from_arrow(
        pa.schema([_stored(field) for field in table.schema if field.name not in known])
    ).fields


def with_columns(rows: pa.Table, declared: pa.Schema, wanted: Sequence[str]) -> pa.Table:
    """The rows with exactly these columns, null where the table they were read from lacks one."""
    for name in wanted:
        if name not in rows.column_names:
            rows = rows.append_column(
                declared.field(name), pa.nulls(rows.num_rows, declared.field(name).type)
            )
    return rows.select(list(wanted))


def _stored(field: pa.Field) -> pa.Field:
    return (
        field.with_type(pa.timestamp("us", field.type.tz))
        if pa.types.is_timestamp(field.type)
        else field
    )
