from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.arrow_schemas import Make
from spark_jobs.nested_tables import JOB
from spark_jobs.storage.arrays import column


def map_rows(rows: pa.Table, make: Make, schema: pa.Schema) -> pa.Table:
    return pa.Table.from_batches(make(rows.to_batches()), schema)


def group_rows(parts: Mapping[str, pa.Table], by: Sequence[str] = JOB) -> pa.Table:
    nested = []
    for name, rows in parts.items():
        fields = [field for field in rows.column_names if field not in ("cluster", "date")]
        struct = pa.StructArray.from_arrays([column(rows, field) for field in fields], names=fields)
        nested.append(pa.table({**{key: rows[key] for key in by}, name: struct}))
    rows_by_part = pa.concat_tables(nested, promote_options="default").combine_chunks()
    return rows_by_part.take(
        pc.sort_indices(
            rows_by_part.select(list(by)), [(key, "ascending", "at_start") for key in by]
        )
    )
