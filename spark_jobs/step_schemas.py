import pyarrow as pa

from ingest.flink_logs.events import LogEvent
from ingest.lake.tables import TABLES, columns_of
from spark_jobs.arrow_schemas import INSTANT, arrow_schema, fields_of, in_microseconds, schema
from spark_jobs.fold.taskmanagers import COLUMNS as TASKMANAGER_COLUMNS
from spark_jobs.nested_tables import JOB
from spark_jobs.serving import TASKMANAGER_LIFE

JOB_KEY = [(name, pa.string()) for name in JOB]

EVENT = pa.schema(
    [
        ("cluster", pa.string()),
        ("observed_at", INSTANT),
        *((column.name, in_microseconds(column.type)) for column in columns_of(LogEvent)),
    ]
)
SERVED_EVENT = pa.schema([*EVENT, ("fields", pa.string()), ("served_reason", pa.string())])
"""``fields``: JSON of the serving column; ``served_reason``: reason or change of state."""

EXECUTION = schema(
    cluster="text",
    job_id="text",
    execution_id="text",
    vertex_id="text",
    task="text",
    subtask="int",
    attempt="int",
    container="text",
    host="text",
    deployed_at="instant",
    log="text",
)
"""Where an attempt of a subtask ran. ``log``: in which its TaskManager reported the task."""
UPDATED_EXECUTION = pa.schema([*EXECUTION, ("newly_placed", pa.bool_())])
"""``newly_placed``: job, task and host are known since this run."""
_POD_END = pa.struct(
    list(schema(at="int", ended_by="text", exit_code="int", detail="text")),
)
LIFE = pa.schema(
    [
        *arrow_schema(TASKMANAGER_LIFE),
        *((name, INSTANT) for name in ("lost_at", "suspected_at", "seen_at", "sampled_at")),
        ("lost_by", pa.string()),
        ("slot_jobs", pa.list_(pa.struct([("job_id", pa.string()), ("at", pa.int64())]))),
        ("informed_jobs", pa.list_(pa.string())),
        ("pod_end", _POD_END),
    ]
)
"""The remembered life of a TaskManager."""
UPDATED_LIFE = pa.schema([*LIFE, ("changed", pa.bool_()), ("to_inform", pa.list_(pa.string()))])
"""``changed``: whether a served column changed; ``to_inform``: jobs that get its end as a loss."""
TASKMANAGER_LOSS = pa.schema(
    [
        *JOB_KEY,
        ("ts", INSTANT),
        ("observed_at", INSTANT),
        *(
            LIFE.field(name)
            for name in ("taskmanager_id", "life", "host", "ended_by", "exit_code", "detail")
        ),
    ]
)
"""The loss of a TaskManager, for a job that had tasks or slots there."""
TASKMANAGER = pa.schema([*JOB_KEY, *fields_of(TABLES["taskmanagers"].schema, TASKMANAGER_COLUMNS)])
"""A sample of a TaskManager, for a job that has slots on it."""

_SNAPSHOT_COLUMNS = (
    "metadata_path",
    "metadata_bytes",
    "metadata_modified",
    "reader_version",
    "checkpoint_id",
    "state_bytes",
    "is_savepoint",
    "observed_at",
)
SNAPSHOT = pa.schema(
    [*JOB_KEY, ("owner_id", pa.string()), *fields_of(TABLES["snapshots"].schema, _SNAPSHOT_COLUMNS)]
)
"""Sums of a ``_metadata``, for a job that needs them. ``owner_id``: the job in whose directory the
file is.
"""

COMPARISON = schema(checkpoint_id="int", trigger_time="int", directory="text", compared_with="text")
"""A checkpoint, and the directory of the snapshot that its upload is compared with.
``trigger_time`` is in epoch ms.
"""
METADATA_NEEDS = pa.schema(
    [
        *JOB_KEY,
        ("comparisons", pa.list_(pa.struct(list(COMPARISON)))),
        ("wanted_keys", pa.list_(pa.string())),
    ]
)
"""What a job needs from ``_metadata``. ``wanted_keys``: keys of snapshots whose full size or type
it needs (``spark_jobs.fold.wanted_snapshots``).
"""
LOOKUP = schema(
    from_ms="int", to_ms="int", keys=pa.list_(pa.string()), minutes=pa.list_(pa.int64())
)
"""``spark_jobs.fold.checkpoints.Lookup`` as a row."""
LOOKED_UP = pa.schema([*JOB_KEY, *(LOOKUP.field(name) for name in ("from_ms", "to_ms", "minutes"))])
STATE = pa.schema([*JOB_KEY, ("state", pa.binary())])
