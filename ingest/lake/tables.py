"""The raw lake tables, declared once: column, Arrow type, unit and meaning.

The writer, the Python reader and Spark's schemas are all derived from ``TABLES``; a contract test
holds ``ingest.records`` against it. Rules that hold for every table:

* instants are UTC with millisecond precision; durations are ``*_ms``; sizes are ``*_bytes``;
* unknown is null, never 0, -1 or NaN;
* a list column that says "per subtask" has one element for each subtask, at the subtask's index
  (0-based), null where that subtask did not report; the whole list is null where nobody asked.
"""

from dataclasses import dataclass

import pyarrow as pa

INSTANT = pa.timestamp("ms", tz="UTC")
TEXT = pa.string()
INT = pa.int64()
REAL = pa.float64()
FLAG = pa.bool_()


@dataclass(frozen=True)
class Column:
    """One column: ``unit`` is empty for names, flags and instants."""

    name: str
    type: pa.DataType
    meaning: str
    unit: str = ""


@dataclass(frozen=True)
class Table:
    """One raw table. ``identity`` names the columns by which replayed rows are the same row."""

    name: str
    row: str
    columns: tuple[Column, ...]
    identity: tuple[str, ...]
    time_column: str
    """Its UTC day is the ``date`` partition."""
    sort_by: tuple[str, ...]

    @property
    def all_columns(self) -> tuple[Column, ...]:
        """Own columns between the ones every table has."""
        return (CLUSTER, *self.columns, *PROVENANCE)

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema of a row, ``date`` partition column last."""
        return pa.schema([pa.field(column.name, column.type) for column in self.all_columns])


CLUSTER = Column("cluster", TEXT, "name under which the cluster is registered")
PROVENANCE = (
    Column("observed_at", INSTANT, "when the source was read; recorded time for recordings"),
    Column("source", TEXT, "rest, history, log, log_endpoint, archive, metadata or audit"),
    Column("commit_seq", INT, "version of this Delta table that brought the row"),
    Column("date", pa.date32(), "UTC day of the table's time column; the partition"),
)

VERTEX = pa.struct(
    [("vertex_id", TEXT), ("name", TEXT), ("parallelism", INT), ("max_parallelism", INT), ("status", TEXT), ("running_tasks", INT)]
)
EDGE = pa.struct([("source_vertex_id", TEXT), ("target_vertex_id", TEXT), ("ship_strategy", TEXT)])
STATE_SINCE = pa.struct([("state", TEXT), ("since", INSTANT)])
SETTING = pa.struct([("key", TEXT), ("value", TEXT)])
LIST_STATE = pa.struct([("name", TEXT), ("mode", TEXT), ("offsets", INT)])


def _per_subtask(name: str, type_: pa.DataType, meaning: str, unit: str = "") -> Column:
    return Column(name, pa.list_(type_), f"per subtask: {meaning}", unit)


JOBS = Table(
    "jobs",
    "a job as seen once",
    (
        Column("job_id", TEXT, "32 hex digits"),
        Column("name", TEXT, "job name as submitted"),
        Column("state", TEXT, "Flink job state, upper case"),
        Column("start_time", INSTANT, "submission"),
        Column("end_time", INSTANT, "null while it runs"),
        Column("flink_version", TEXT, "of the cluster"),
        Column("job_type", TEXT, "STREAMING or BATCH where the version reports it"),
        Column("parallelism", INT, "largest of its vertices", "subtasks"),
        Column("vertices", pa.list_(VERTEX), "job vertices in plan order"),
        Column("edges", pa.list_(EDGE), "edges between vertices"),
        Column("state_since", pa.list_(STATE_SINCE), "last entry into each state that was ever entered"),
        Column("restarts", INT, "numRestarts metric"),
        Column("checkpointing_mode", TEXT, "exactly_once or at_least_once"),
        Column("checkpoint_interval_ms", INT, "null where periodic checkpoints are off", "ms"),
        Column("checkpoint_timeout_ms", INT, "", "ms"),
        Column("min_pause_ms", INT, "between two checkpoints", "ms"),
        Column("max_concurrent_checkpoints", INT, ""),
        Column("retained_on_cancellation", FLAG, "externalized and not deleted on cancellation"),
        Column("externalized", FLAG, "externalized checkpoints enabled"),
        Column("unaligned_checkpoints", FLAG, ""),
        Column("aligned_checkpoint_timeout_ms", INT, "", "ms"),
        Column("tolerable_failed_checkpoints", INT, ""),
        Column("state_backend", TEXT, "as the version names it"),
        Column("checkpoint_storage", TEXT, "as the version names it"),
        Column("changelog_enabled", FLAG, "changelog state backend"),
        Column("checkpoints_total", INT, "REST counter; includes pre-flight refusals from 1.14 on"),
        Column("checkpoints_completed", INT, "REST counter"),
        Column("checkpoints_failed", INT, "REST counter"),
        Column("checkpoints_in_progress", INT, "REST counter"),
        Column("checkpoints_restored", INT, "REST counter"),
        Column("restored_checkpoint_id", INT, "latest restore"),
        Column("restored_at", INSTANT, "latest restore"),
        Column("restored_is_savepoint", FLAG, "true also for a retained checkpoint taken as NO_CLAIM"),
        Column("restored_path", TEXT, "latest restore"),
        Column("configuration", pa.list_(SETTING), "checkpoint, state, restart and memory settings of the cluster, secrets masked"),
    ),
    ("cluster", "job_id", "observed_at"),
    "observed_at",
    ("cluster", "job_id", "observed_at"),
)

CHECKPOINTS = Table(
    "checkpoints",
    "a checkpoint or savepoint as seen once",
    (
        Column("job_id", TEXT, "32 hex digits"),
        Column("checkpoint_id", INT, "repeats where a fixed job id restarts"),
        Column("trigger_time", INSTANT, "trigger"),
        Column("status", TEXT, "IN_PROGRESS, COMPLETED or FAILED"),
        Column("is_savepoint", FLAG, ""),
        Column("savepoint_format", TEXT, "CANONICAL or NATIVE, 1.17 and later"),
        Column("checkpoint_type", TEXT, "CHECKPOINT, UNALIGNED_CHECKPOINT, SAVEPOINT, SYNC_SAVEPOINT"),
        Column("latest_ack_time", INSTANT, "last acknowledgement so far"),
        Column("end_to_end_ms", INT, "trigger to last acknowledgement (to failure where the version reports it)", "ms"),
        Column("state_bytes", INT, "full state; before 1.15 the only size that REST reports, which is the uploaded one", "bytes"),
        Column("checkpointed_bytes", INT, "newly persisted; null before 1.15", "bytes"),
        Column("processed_bytes", INT, "in-flight data processed during alignment", "bytes"),
        Column("persisted_bytes", INT, "in-flight data persisted", "bytes"),
        Column("subtasks", INT, "that take part"),
        Column("acknowledged", INT, "that have acknowledged"),
        Column("external_path", TEXT, "where it was written"),
        Column("discarded", FLAG, "true once subsumed or deleted by Flink"),
        Column("failure_time", INSTANT, ""),
        Column("failure_message", TEXT, "as Flink words it"),
        Column("flink_version", TEXT, "of the cluster"),
    ),
    ("cluster", "job_id", "checkpoint_id", "trigger_time", "status"),
    "trigger_time",
    ("cluster", "job_id", "trigger_time"),
)

VERTEX_CHECKPOINTS = Table(
    "vertex_checkpoints",
    "one vertex's part in one checkpoint as seen once",
    (
        Column("job_id", TEXT, "32 hex digits"),
        Column("checkpoint_id", INT, ""),
        Column("trigger_time", INSTANT, "of the checkpoint"),
        Column("vertex_id", TEXT, "32 hex digits"),
        Column("status", TEXT, "IN_PROGRESS, COMPLETED or FAILED"),
        Column("latest_ack_time", INSTANT, ""),
        Column("end_to_end_ms", INT, "", "ms"),
        Column("state_bytes", INT, "full", "bytes"),
        Column("checkpointed_bytes", INT, "newly persisted; null before 1.15", "bytes"),
        Column("processed_bytes", INT, "", "bytes"),
        Column("persisted_bytes", INT, "", "bytes"),
        Column("subtasks", INT, ""),
        Column("acknowledged", INT, ""),
        _per_subtask("subtask_ack_time", INSTANT, "acknowledgement; null = not acknowledged"),
        _per_subtask("subtask_end_to_end_ms", INT, "trigger to acknowledgement", "ms"),
        _per_subtask("subtask_start_delay_ms", INT, "trigger to first barrier; 1.11 and later", "ms"),
        _per_subtask("subtask_alignment_ms", INT, "first to last barrier", "ms"),
        _per_subtask("subtask_sync_ms", INT, "synchronous part", "ms"),
        _per_subtask("subtask_async_ms", INT, "asynchronous part", "ms"),
        _per_subtask("subtask_state_bytes", INT, "full", "bytes"),
        _per_subtask("subtask_checkpointed_bytes", INT, "newly persisted", "bytes"),
        _per_subtask("subtask_processed_bytes", INT, "", "bytes"),
        _per_subtask("subtask_persisted_bytes", INT, "", "bytes"),
        _per_subtask("subtask_unaligned", FLAG, "took an unaligned snapshot; 1.13 and later"),
        _per_subtask("subtask_aborted", FLAG, "1.13 and later"),
    ),
    ("cluster", "job_id", "checkpoint_id", "trigger_time", "vertex_id", "status", "acknowledged"),
    "trigger_time",
    ("cluster", "job_id", "trigger_time", "vertex_id"),
)

VERTEX_METRICS = Table(
    "vertex_metrics",
    "one sample of one vertex",
    (
        Column("job_id", TEXT, "32 hex digits"),
        Column("vertex_id", TEXT, "32 hex digits"),
        Column("ts", INSTANT, "of the sample"),
        Column("parallelism", INT, "", "subtasks"),
        _per_subtask("in_pool_usage", REAL, "used over total input buffers of both kinds; 0..1", "ratio"),
        _per_subtask("out_pool_usage", REAL, "used over total output buffers; above 1 in overdraft", "ratio"),
        _per_subtask("exclusive_usage", REAL, "input buffers owned by channels", "ratio"),
        _per_subtask("floating_usage", REAL, "input buffers lent to busy channels", "ratio"),
        _per_subtask("busy_ms_per_s", REAL, "1.13 and later", "ms/s"),
        _per_subtask("backpressured_ms_per_s", REAL, "1.13 and later", "ms/s"),
        _per_subtask("idle_ms_per_s", REAL, "1.12 counts back-pressured time as idle", "ms/s"),
        _per_subtask("backpressured_ratio", REAL, "of the back-pressure endpoint; the only one before 1.13", "ratio"),
        _per_subtask("records_in_per_s", REAL, "Flink's meter: mean of the last minute", "records/s"),
        _per_subtask("records_out_per_s", REAL, "likewise", "records/s"),
        _per_subtask("watermark_ms", INT, "current input watermark, epoch; null = none yet", "ms"),
        _per_subtask("attempt", INT, "execution attempt, from 0"),
        _per_subtask("host", TEXT, "where it runs"),
        _per_subtask("taskmanager_id", TEXT, "resource id of its TaskManager"),
        _per_subtask("task_state", TEXT, "Flink execution state, upper case"),
        Column("counted_at", INSTANT, "when Flink was asked for records_in and records_out"),
        _per_subtask("records_in", INT, "since the attempt began, as the JobManager collected it last", "records"),
        _per_subtask("records_out", INT, "likewise", "records"),
    ),
    ("cluster", "job_id", "vertex_id", "ts"),
    "ts",
    ("cluster", "job_id", "vertex_id", "ts"),
)

TASKMANAGERS = Table(
    "taskmanagers",
    "one sample of one TaskManager",
    (
        Column("taskmanager_id", TEXT, "resource id"),
        Column("host", TEXT, ""),
        Column("ts", INSTANT, "of the sample"),
        Column("last_heartbeat", INSTANT, ""),
        Column("slots", INT, ""),
        Column("free_slots", INT, ""),
        Column("cpu_cores", REAL, ""),
        Column("physical_memory_bytes", INT, "of the machine", "bytes"),
        Column("process_memory_bytes", INT, "configured total; null before 1.12", "bytes"),
        Column("managed_memory_bytes", INT, "configured", "bytes"),
        Column("managed_memory_used_bytes", INT, "", "bytes"),
        Column("heap_used_bytes", INT, "", "bytes"),
        Column("heap_committed_bytes", INT, "", "bytes"),
        Column("heap_max_bytes", INT, "", "bytes"),
        Column("non_heap_used_bytes", INT, "", "bytes"),
        Column("direct_used_bytes", INT, "", "bytes"),
        Column("mapped_used_bytes", INT, "", "bytes"),
        Column("network_memory_total_bytes", INT, "", "bytes"),
        Column("network_memory_used_bytes", INT, "", "bytes"),
        Column("cpu_load", REAL, "JVM CPU load, 0..1", "ratio"),
        Column("gc_count", INT, "all collectors, since start"),
        Column("gc_ms", INT, "all collectors, since start", "ms"),
    ),
    ("cluster", "taskmanager_id", "ts"),
    "ts",
    ("cluster", "taskmanager_id", "ts"),
)

EXCEPTIONS = Table(
    "exceptions",
    "a root or concurrent exception",
    (
        Column("job_id", TEXT, "32 hex digits"),
        Column("ts", INSTANT, "when the failure happened"),
        Column("task", TEXT, "'name (i/p) - execution #n', null for a global failure"),
        Column("exception_name", TEXT, "class"),
        Column("stacktrace", TEXT, "full text, cut at 64 KiB"),
        Column("endpoint", TEXT, "host:port"),
        Column("taskmanager_id", TEXT, "resource id; 1.17 and later"),
        Column("is_root", FLAG, "false for concurrent exceptions"),
        Column("root_ts", INSTANT, "ts of the root it is concurrent to"),
    ),
    ("cluster", "job_id", "ts", "task", "exception_name"),
    "ts",
    ("cluster", "job_id", "ts"),
)

LOG_RECORDS = Table(
    "log_records",
    "one log record, its stack trace folded into it",
    (
        Column("process", TEXT, "file name without rotation and compression suffixes: one JobManager or TaskManager process"),
        Column("ts", INSTANT, "read in the time zone declared for the source"),
        Column("level", TEXT, "upper case"),
        Column("logger", TEXT, ""),
        Column("message", TEXT, "after the ' - ' of the header, with all lines of the stack trace; cut at 256 KiB"),
        Column("record_hash", TEXT, "first 32 hex digits of SHA-256 over the record's text"),
        Column("ordinal", INT, "among equal (ts, record_hash) in one file, from 0"),
        Column("file", TEXT, "as read"),
        Column("offset", INT, "of the header in the (unpacked) file", "bytes"),
    ),
    ("cluster", "process", "ts", "record_hash", "ordinal"),
    "ts",
    ("cluster", "process", "ts"),
)

REFERENCES = Table(
    "references",
    "one state handle in one _metadata; ordinal 0 stands for the file itself and is there only if all others are",
    (
        Column("metadata_path", TEXT, "the file as it was read"),
        Column("metadata_bytes", INT, "of the file", "bytes"),
        Column("metadata_modified", INSTANT, "of the file; null where the storage does not report it"),
        Column("reader_version", INT, "of ingest.metadata; with path, size and modification the key of what was parsed"),
        Column("ordinal", INT, "0 for the file itself, its handles from 1 in the order of the file"),
        Column("job_id", TEXT, "whose directory the file lies in; null for savepoints and where no such level is"),
        Column("checkpoint_id", INT, ""),
        Column("format_version", INT, "2 to 7"),
        Column("handles", INT, "only with ordinal 0: how many follow"),
        Column("checkpoint_type", TEXT, "only with ordinal 0: Checkpoint, Full Checkpoint, Savepoint, …; null before 1.16"),
        Column("savepoint_format", TEXT, "only with ordinal 0: CANONICAL or NATIVE"),
        Column("operator_id", TEXT, "32 hex digits"),
        Column("operator_name", TEXT, "2.0 and later"),
        Column("subtask", INT, "null for coordinators"),
        Column("kind", TEXT, "'file' with ordinal 0, else the part of the state as ingest.metadata.pieces names it"),
        Column("state_class", TEXT, "Flink's class of the state handle"),
        Column("handle_class", TEXT, "Flink's class of the stream handle"),
        Column("path", TEXT, "absolute; null where the bytes are in no file"),
        Column("written_path", TEXT, "as in the file, relative or absolute"),
        Column("offset_bytes", INT, "where a segment begins in its physical file", "bytes"),
        Column("size_bytes", INT, "of the file, the segment or the inline state", "bytes"),
        Column("state_bytes", INT, "what the handle adds to the state of its subtask, as Flink counts", "bytes"),
        Column("inline_at", INT, "position of inline state in the _metadata; null for files"),
        Column("name", TEXT, "of inline state, or logical id of a segment"),
        Column("local_name", TEXT, "of a file of incremental state, such as 000025.sst"),
        Column("backend_id", TEXT, "of incremental state"),
        Column("handle_id", TEXT, "of the keyed state as a whole; null before 1.15"),
        Column("checkpointed_bytes", INT, "uploaded by this checkpoint, of the keyed state as a whole", "bytes"),
        Column("task_owned_directory", TEXT, "kept alive by the handle (merged files)"),
        Column("shared_directory", TEXT, "kept alive by the handle (merged files)"),
        Column("states", pa.list_(LIST_STATE), "named operator states: mode SPLIT_DISTRIBUTE, UNION or BROADCAST, number of offsets"),
    ),
    ("cluster", "metadata_path", "metadata_bytes", "metadata_modified", "reader_version", "ordinal"),
    "observed_at",
    ("cluster", "metadata_path", "ordinal"),
)

SNAPSHOTS = Table(
    "snapshots",
    "one _metadata that was read to its end, as a whole; its handles are in references",
    (
        Column("metadata_path", TEXT, "the file as it was read"),
        Column("metadata_bytes", INT, "of the file", "bytes"),
        Column("metadata_modified", INSTANT, "of the file; null where the storage does not report it"),
        Column("reader_version", INT, "of ingest.metadata"),
        Column("job_id", TEXT, "whose directory the file lies in; null for savepoints and where no such level is"),
        Column("checkpoint_id", INT, "as the file says"),
        Column("format_version", INT, "2 to 7"),
        Column("state_bytes", INT, "full state: the sum over all handles, as Flink counts; null where it is no possible size", "bytes"),
        Column("is_savepoint", FLAG, "by the type in the file; null before 1.16, which wrote none"),
    ),
    ("cluster", "metadata_path", "metadata_bytes", "metadata_modified", "reader_version"),
    "observed_at",
    ("cluster", "metadata_path"),
)

SKIPS = Table(
    "skips",
    "one input that was skipped, and why",
    (
        Column("subject", TEXT, "what was skipped: endpoint path, file, job"),
        Column("reason", TEXT, "code: timeout, unreachable, http_error, bad_json, too_large, bad_payload, unreadable_file, long_line, …"),
        Column("detail", TEXT, "one sentence: what was expected, what to do"),
    ),
    ("cluster", "observed_at", "subject", "reason"),
    "observed_at",
    ("cluster", "observed_at"),
)

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        JOBS,
        CHECKPOINTS,
        VERTEX_CHECKPOINTS,
        VERTEX_METRICS,
        TASKMANAGERS,
        EXCEPTIONS,
        LOG_RECORDS,
        REFERENCES,
        SNAPSHOTS,
        SKIPS,
    )
}
