"""Plain rows in the columns of a serving table."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from spark_jobs.serving import Kind, ServingTable
from spark_jobs.small.rows import Row

_ARROW_OF_KIND: Mapping[Kind, pa.DataType] = {
    "text": pa.string(), "int": pa.int64(), "real": pa.float64(), "flag": pa.bool_(), "instant": pa.timestamp("us", "UTC"),
    "json": pa.string(),
}  # fmt: skip


def serving_rows(rows: Sequence[Row], table: ServingTable) -> pa.Table:
    return pa.Table.from_pylist(rows, pa.schema([(column.name, _ARROW_OF_KIND[column.kind]) for column in table.columns]))
