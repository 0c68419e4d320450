"""The result of a cycle: one row for each job, with the rows of every serving table nested in it.
Within a row instants are epoch milliseconds, and cluster and job stand once.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.arrow_schemas import arrow_schema
from spark_jobs.serving import CHECKPOINT_FACT, SERVING_TABLES, ServingTable

CLUSTER = ("cluster",)
JOB = ("cluster", "job_id")
_OTHERS = ("checkpoint_rollup", "checkpoint_upload", "taskmanager_life")
NESTED = tuple(table for name, table in SERVING_TABLES.items() if name not in _OTHERS)
RETRACTED = ServingTable(
    "retracted", "the key of a fact that turned out to be another", CHECKPOINT_FACT.key,
    tuple(column for column in CHECKPOINT_FACT.columns if column.name in CHECKPOINT_FACT.key),
)  # fmt: skip

ROWS = "rows"
"""Column: how many rows of each table are nested in a job's."""

_INSTANT = pa.timestamp("ms", "UTC")


def struct(table: ServingTable) -> pa.StructType:
    own = (field for field in arrow_schema(table) if field.name not in JOB)
    return pa.struct(
        [
            (field.name, pa.int64() if pa.types.is_timestamp(field.type) else field.type)
            for field in own
        ]
    )


def nested(table: ServingTable, columns: Sequence[str]) -> list[str]:
    """Parquet's names of these columns of nested rows, so that others, such as long traces, are not
    read.
    """
    return [f"{table.name}.list.element.{name}" for name in columns if name not in JOB]


def cut(
    jobs: pa.RecordBatch, table: ServingTable, columns: Sequence[str] | None = None
) -> pa.RecordBatch:
    wanted = table.column_names if columns is None else columns
    lists = jobs[table.name]
    of_job, rows = pc.list_parent_indices(lists), lists.flatten()
    fields_by_name = {
        name: rows.field(place) for place, name in enumerate(field.name for field in rows.type)
    }
    for column in table.columns:
        if column.name in JOB and column.name in wanted:
            fields_by_name[column.name] = jobs[column.name].take(of_job)
        elif column.kind == "instant" and column.name in fields_by_name:
            fields_by_name[column.name] = fields_by_name[column.name].cast(_INSTANT)
    return pa.RecordBatch.from_arrays([fields_by_name[name] for name in wanted], names=list(wanted))
