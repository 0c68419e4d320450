"""The raw lake tables: columns follow from ``ingest.records``; identity, partition and order are
declared here. Writer, reader and Spark's schemas are derived from these tables.
"""

from dataclasses import dataclass, is_dataclass
from datetime import datetime
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import pyarrow as pa
from deltalake import DeltaTable, Field, Schema

from ingest.records import (
    Checkpoint,
    Job,
    JobException,
    LogRecord,
    NameNodeSample,
    Record,
    Reference,
    Skip,
    Snapshot,
    TaskManager,
    VertexCheckpoint,
    VertexGauges,
    VertexMetrics,
    VertexStart,
)

INSTANT = pa.timestamp("ms", tz="UTC")
TEXT = pa.string()
INT = pa.int64()
REAL = pa.float64()
FLAG = pa.bool_()

_TYPES = {str: TEXT, int: INT, float: REAL, bool: FLAG, datetime: INSTANT}

CLUSTER = pa.field("cluster", TEXT)
PROVENANCE = pa.schema(
    [
        ("observed_at", INSTANT),
        ("source", TEXT),
        ("commit_seq", INT),
        ("date", pa.date32()),
    ]
)
"""``observed_at``: when the source was read; recorded time for recordings. ``source``: rest, log,
prometheus and so on; audit: read by Spark. ``commit_seq``: version of this Delta table that brought
the row. ``date``: UTC day of the table's time column; the partition.
"""


@dataclass(frozen=True)
class Table:
    """``row``: meaning of a row. Rows with equal ``identity`` are the same row."""

    name: str
    row: str
    columns: pa.Schema
    identity: tuple[str, ...]
    time_column: str
    sort_by: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([CLUSTER, *self.columns, *PROVENANCE])


def columns_of(record: Any) -> pa.Schema:
    return pa.schema([(name, _arrow_type(hint)) for name, hint in get_type_hints(record).items()])


def _arrow_type(hint: Any) -> pa.DataType:
    if hint in _TYPES:
        return _TYPES[hint]
    if is_dataclass(hint):
        return pa.struct(list(columns_of(hint)))
    item = next(option for option in get_args(hint) if option is not NoneType)
    return pa.list_(_arrow_type(item)) if get_origin(hint) is tuple else _arrow_type(item)


# Record, table, meaning of a row, identity, time column and order. The cluster is put before
# identity and order.
_RAW: tuple[tuple[type[Record], str, str, tuple[str, ...], str, tuple[str, ...]], ...] = (
    (
        Job,
        "jobs",
        "a job as seen once",
        ("job_id", "observed_at"),
        "observed_at",
        ("job_id", "observed_at"),
    ),
    (
        Checkpoint,
        "checkpoints",
        "a checkpoint or savepoint as seen once",
        ("job_id", "checkpoint_id", "trigger_time", "status"),
        "trigger_time",
        ("job_id", "trigger_time"),
    ),
    (
        VertexCheckpoint,
        "vertex_checkpoints",
        "one vertex's part in one checkpoint as seen once",
        ("job_id", "checkpoint_id", "trigger_time", "vertex_id", "status", "acknowledged"),
        "trigger_time",
        ("job_id", "trigger_time", "vertex_id"),
    ),
    (
        VertexMetrics,
        "vertex_metrics",
        "one sample of one vertex",
        ("job_id", "vertex_id", "ts"),
        "ts",
        ("job_id", "vertex_id", "ts"),
    ),
    (
        VertexStart,
        "vertex_starts",
        "when the subtasks of one vertex were scheduled, deployed and ran, once all tasks "
        "of the job did",
        ("job_id", "vertex_id", "ts"),
        "ts",
        ("job_id", "ts", "vertex_id"),
    ),
    (
        VertexGauges,
        "vertex_gauges",
        "one sample of figures that only some vertices have",
        ("job_id", "vertex_id", "ts"),
        "ts",
        ("job_id", "ts", "vertex_id"),
    ),
    (
        TaskManager,
        "taskmanagers",
        "one sample of one TaskManager",
        ("taskmanager_id", "ts"),
        "ts",
        ("taskmanager_id", "ts"),
    ),
    (
        JobException,
        "exceptions",
        "a root or concurrent exception",
        ("job_id", "ts", "task", "exception_name"),
        "ts",
        ("job_id", "ts"),
    ),
    (
        LogRecord,
        "log_records",
        "one log record, its stack trace folded into it",
        ("process", "ts", "record_hash", "ordinal"),
        "ts",
        ("process", "ts"),
    ),
    (
        NameNodeSample,
        "namenode_samples",
        "a NameNode as its JMX showed it once",
        ("ts",),
        "ts",
        ("ts",),
    ),
    (
        Reference,
        "references",
        "one state handle in one _metadata; ordinal 0 stands for the file itself and is "
        "there only if all others are",
        ("metadata_path", "metadata_bytes", "metadata_modified", "reader_version", "ordinal"),
        "observed_at",
        ("metadata_path", "ordinal"),
    ),
    (
        Snapshot,
        "snapshots",
        "one _metadata that was read to its end, as a whole; its handles are in references",
        ("metadata_path", "metadata_bytes", "metadata_modified", "reader_version"),
        "observed_at",
        ("metadata_path",),
    ),
    (
        Skip,
        "skips",
        "one input that was skipped, and why",
        ("observed_at", "subject", "reason"),
        "observed_at",
        ("observed_at",),
    ),
)

TABLE_OF_RECORD: dict[type[Record], Table] = {
    record: Table(
        name,
        row,
        columns_of(record),
        ("cluster", *identity),
        time_column,
        ("cluster", *sort_by),
    )
    for record, name, row, identity, time_column, sort_by in _RAW
}
TABLES: dict[str, Table] = {table.name: table for table in TABLE_OF_RECORD.values()}
REFERENCES = TABLES["references"]


def missing_columns(delta: DeltaTable, table: Table) -> list[Field]:
    stored_names = {field.name for field in delta.schema().fields}
    return Schema.from_arrow(
        pa.schema([_stored(field) for field in table.schema if field.name not in stored_names])
    ).fields


def with_dropped_columns(rows: pa.Table, delta: DeltaTable) -> pa.Table:
    """Adds columns that only an earlier version of Weir wrote, as nulls."""
    for column in pa.schema(delta.schema().to_arrow()):
        if column.name not in rows.column_names:
            rows = rows.append_column(column, pa.nulls(rows.num_rows, column.type))
    return rows


def with_columns(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of ``schema``; those that ``rows`` lacks are null."""
    for field in schema:
        if field.name not in rows.column_names:
            rows = rows.append_column(field, pa.nulls(rows.num_rows, field.type))
    return rows.select(schema.names)


def _stored(field: pa.Field) -> pa.Field:
    return (
        field.with_type(pa.timestamp("us", field.type.tz))
        if pa.types.is_timestamp(field.type)
        else field
    )
