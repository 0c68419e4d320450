import pyarrow as pa

from ingest.flink_logs.events import LogEvent
from ingest.lake.tables import TABLES, columns_of
from spark_jobs.arrow_schemas import arrow_schema, fields_of, schema
from spark_jobs.fold.taskmanagers import COLUMNS as TASKMANAGER_COLUMNS
from spark_jobs.nested_tables import JOB
from spark_jobs.serving import TASKMANAGER_LIFE

JOB_KEY = schema(**dict.fromkeys(JOB, "text"))

EVENT = schema(*schema(cluster="text", observed_at="instant"), *fields_of(columns_of(LogEvent)))
SERVED_EVENT = schema(*EVENT, fields="text", served_reason="text")
"""``fields``: JSON of the serving column; ``served_reason``: reason or change of state."""

EXECUTION = schema(
    *JOB_KEY,
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
UPDATED_EXECUTION = schema(*EXECUTION, newly_placed="flag")
"""``newly_placed``: job, task and host are known since this run."""
_POD_END = pa.struct(list(schema(at="int", ended_by="text", exit_code="int", detail="text")))
_TEXTS = pa.list_(pa.string())
LIFE = schema(
    *arrow_schema(TASKMANAGER_LIFE),
    lost_at="instant",
    suspected_at="instant",
    seen_at="instant",
    sampled_at="instant",
    lost_by="text",
    slot_jobs=pa.list_(pa.struct(list(schema(job_id="text", at="int")))),
    informed_jobs=_TEXTS,
    pod_end=_POD_END,
)
"""The remembered life of a TaskManager."""
UPDATED_LIFE = schema(*LIFE, changed="flag", to_inform=_TEXTS)
"""``changed``: whether a served column changed; ``to_inform``: jobs that get its end as a loss."""
TASKMANAGER_LOSS = schema(
    *JOB_KEY,
    *schema(ts="instant", observed_at="instant"),
    *fields_of(LIFE, "taskmanager_id", "life", "host", "ended_by", "exit_code", "detail"),
)
"""The loss of a TaskManager, for a job that had tasks or slots there."""
TASKMANAGER = schema(*JOB_KEY, *fields_of(TABLES["taskmanagers"].schema, *TASKMANAGER_COLUMNS))
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
SNAPSHOT = schema(
    *JOB_KEY,
    *schema(owner_id="text"),
    *fields_of(TABLES["snapshots"].schema, *_SNAPSHOT_COLUMNS),
)
"""Sums of a ``_metadata``, for a job that needs them. ``owner_id``: the job in whose directory the
file is.
"""

COMPARISON = schema(checkpoint_id="int", trigger_time="int", directory="text", compared_with="text")
"""A checkpoint, and the directory of the snapshot that its upload is compared with.
``trigger_time`` is in epoch ms.
"""
METADATA_NEEDS = schema(
    *JOB_KEY, comparisons=pa.list_(pa.struct(list(COMPARISON))), wanted_keys=_TEXTS
)
"""What a job needs from ``_metadata``. ``wanted_keys``: keys of snapshots whose full size or type
it needs (``spark_jobs.fold.wanted_snapshots``).
"""
LOOKUP = schema(from_ms="int", to_ms="int", keys=_TEXTS, minutes=pa.list_(pa.int64()))
"""``spark_jobs.fold.checkpoints.Lookup`` as a row."""
LOOKED_UP = schema(*JOB_KEY, *fields_of(LOOKUP, "from_ms", "to_ms", "minutes"))
STATE = schema(*JOB_KEY, state=pa.binary())
