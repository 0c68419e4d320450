"""The result of a cycle: one row for each job, with the rows of every serving table nested in it; and those tables cut out of it.

So a cycle's result is written once, whatever the number of tables. Within a row instants are epoch milliseconds, and what
is the same for all nested rows, cluster and job, stands once.
"""

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.serving import (
    CHECKPOINT_FACT,
    FINDING_SIGHT,
    JOB_ANNOTATION,
    JOB_CURRENT,
    JOB_EXCEPTION,
    JOB_JUDGEMENT,
    LOG_EVENT,
    PRESSURE_WINDOW,
    SIZE_TREND,
    SKIPPED_INPUT,
    Kind,
    ServingTable,
)

JOB = ("cluster", "job_id")
NESTED: tuple[ServingTable, ...] = (
    CHECKPOINT_FACT, JOB_ANNOTATION, JOB_CURRENT, SIZE_TREND, FINDING_SIGHT, JOB_JUDGEMENT, LOG_EVENT, PRESSURE_WINDOW,
    JOB_EXCEPTION, SKIPPED_INPUT,
)  # fmt: skip
RETRACTED = ServingTable(
    "retracted", "the key of a fact that turned out to be another", CHECKPOINT_FACT.key,
    tuple(column for column in CHECKPOINT_FACT.columns if column.name in CHECKPOINT_FACT.key),
)  # fmt: skip

ROWS = "rows"
"""Column: how many rows of each table are nested in a job's."""

_ARROW_OF_KIND: dict[Kind, pa.DataType] = {
    "text": pa.string(), "int": pa.int64(), "real": pa.float64(), "flag": pa.bool_(), "instant": pa.int64(), "json": pa.string(),
}  # fmt: skip
_DDL_OF_KIND: dict[Kind, str] = {
    "text": "string", "int": "bigint", "real": "double", "flag": "boolean", "instant": "bigint", "json": "string",
}  # fmt: skip
_INSTANT = pa.timestamp("ms", "UTC")


def struct(table: ServingTable) -> pa.StructType:
    """A nested row of ``table``."""
    return pa.struct([(column.name, _ARROW_OF_KIND[column.kind]) for column in table.columns if column.name not in JOB])


def ddl(table: ServingTable) -> str:
    columns = (f"`{column.name}`: {_DDL_OF_KIND[column.kind]}" for column in table.columns if column.name not in JOB)
    return f"array<struct<{', '.join(columns)}>>"


def cut(jobs: pa.RecordBatch, table: ServingTable) -> pa.RecordBatch:
    """Rows of ``table`` out of those of jobs, in the table's columns."""
    nested = jobs[table.name]
    of_job = pc.list_parent_indices(nested)
    rows = nested.flatten()
    columns = {name: rows.field(place) for place, name in enumerate(field.name for field in rows.type)}
    for column in table.columns:
        if column.name in JOB:
            columns[column.name] = jobs[column.name].take(of_job)
        elif column.kind == "instant":
            columns[column.name] = columns[column.name].cast(_INSTANT)
    return pa.RecordBatch.from_arrays([columns[name] for name in table.column_names], names=list(table.column_names))
