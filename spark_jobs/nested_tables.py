"""The result of a cycle: a row for each job, in which its rows of every serving table are nested
without cluster and job, with instants in epoch ms.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.arrow_schemas import arrow_schema
from spark_jobs.serving import CHECKPOINT_FACT, SERVING_TABLES, ServingTable

CLUSTER = ("cluster",)
JOB = ("cluster", "job_id")
_NOT_NESTED = ("checkpoint_rollup", "checkpoint_upload", "taskmanager_life")
NESTED = tuple(table for name, table in SERVING_TABLES.items() if name not in _NOT_NESTED)
RETRACTED = ServingTable(
    "retracted", "the key of a fact that turned out to be another", CHECKPOINT_FACT.key,
    tuple(column for column in CHECKPOINT_FACT.columns if column.name in CHECKPOINT_FACT.key),
)  # fmt: skip

ROWS = "rows"
"""Column with the number of nested rows of each table."""

_INSTANT = pa.timestamp("ms", "UTC")


def struct(table: ServingTable) -> pa.StructType:
    return pa.struct(
        [
            (field.name, pa.int64() if pa.types.is_timestamp(field.type) else field.type)
            for field in arrow_schema(table)
            if field.name not in JOB
        ]
    )


def parquet_columns(table: ServingTable, columns: Sequence[str]) -> list[str]:
    return [f"{table.name}.list.element.{name}" for name in columns if name not in JOB]


def unnest(
    jobs: pa.RecordBatch, table: ServingTable, columns: Sequence[str] | None = None
) -> pa.RecordBatch:
    names = list(table.column_names if columns is None else columns)
    lists = jobs[table.name]
    job_index, rows = pc.list_parent_indices(lists), lists.flatten()
    arrays = {field.name: rows.field(index) for index, field in enumerate(rows.type)}
    for column in table.columns:
        if column.name in JOB and column.name in names:
            arrays[column.name] = jobs[column.name].take(job_index)
        elif column.kind == "instant" and column.name in arrays:
            arrays[column.name] = arrays[column.name].cast(_INSTANT)
    return pa.RecordBatch.from_arrays([arrays[name] for name in names], names=names)
