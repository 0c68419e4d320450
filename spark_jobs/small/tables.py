from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.arrow_schemas import Make
from spark_jobs.nested_tables import JOB


def map_rows(rows: pa.Table, make: Make, schema: pa.Schema) -> pa.Table:
    return pa.Table.from_batches(make(rows.to_batches()), schema)


def group_rows(parts: Mapping[str, pa.Table], by: Sequence[str] = JOB) -> pa.Table:
    nested = []
    for name, rows in parts.items():
        fields = [column for column in rows.column_names if column not in ("cluster", "date")]
        rows = rows.combine_chunks()
        struct = pa.StructArray.from_arrays(
            [_single_chunk(rows[column]) for column in fields], names=fields
        )
        nested.append(pa.table({**{column: rows[column] for column in by}, name: struct}))
    rows_by_part = pa.concat_tables(nested, promote_options="default").combine_chunks()
    return rows_by_part.take(
        pc.sort_indices(
            rows_by_part.select(list(by)), [(column, "ascending", "at_start") for column in by]
        )
    )


def _single_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
