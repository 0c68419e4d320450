"""What the parsers produce: one frozen record class for each raw lake table, whose columns follow
from its fields.

Each field has its type, its meaning and, where the name does not end with it, its unit. ``cluster``,
``observed_at`` and ``source`` are added by ``Observed``, ``commit_seq`` and ``date`` by the lake
writer.

* Instants are timezone-aware UTC, kept to the millisecond; durations are ``*_ms``; sizes are
  ``*_bytes``.
* Unknown is ``None``, never 0, -1 or NaN.
* A list per subtask has one element for each subtask, at the subtask's index (0-based), ``None`` if
  that subtask did not report; the whole list is ``None`` if it was not requested.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, TypeVar

_Value = TypeVar("_Value")
PerSubtask = tuple[_Value | None, ...] | None
Id = Annotated[str, "32 hex digits"]
RestCounter = Annotated[int | None, "REST counter"]
MetadataPath = Annotated[str, "the file as it was read"]
MetadataModified = Annotated[
    datetime | None, "of the file; null where the storage does not report it"
]
JobOfDirectory = Annotated[
    str | None, "job of the directory; null for savepoints and without a directory of a job"
]


@dataclass(frozen=True, slots=True)
class Vertex:
    vertex_id: str
    name: str
    parallelism: int | None
    max_parallelism: int | None = None
    status: str | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    source_vertex_id: str
    target_vertex_id: str
    ship_strategy: str | None = None


@dataclass(frozen=True, slots=True)
class SlotSharing:
    vertex_id: str
    slot_sharing_group_id: str


@dataclass(frozen=True, slots=True)
class StateSince:
    state: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Setting:
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Job:
    job_id: Id
    name: Annotated[str | None, "job name as submitted"]
    state: Annotated[
        str | None, "Flink job state, upper case; NOT_LISTED if the JobManager no longer lists it"
    ]
    start_time: Annotated[datetime | None, "submission"] = None
    end_time: Annotated[
        datetime | None, "null while it runs; when it was last listed if NOT_LISTED"
    ] = None
    flink_version: Annotated[str | None, "of the cluster"] = None
    parallelism: Annotated[int | None, "largest of its vertices", "subtasks"] = None
    vertices: Annotated[tuple[Vertex, ...] | None, "job vertices in plan order"] = None
    edges: Annotated[tuple[Edge, ...] | None, "edges between vertices"] = None
    slot_sharing: Annotated[
        tuple[SlotSharing, ...] | None, "of vertices, as far as the version reports it (1.20 does)"
    ] = None
    state_since: Annotated[
        tuple[StateSince, ...] | None, "last entry into each state that was ever entered"
    ] = None
    restarts: Annotated[int | None, "numRestarts metric"] = None
    checkpointing_mode: Annotated[str | None, "exactly_once or at_least_once"] = None
    checkpoint_interval_ms: Annotated[int | None, "null where periodic checkpoints are off"] = None
    checkpoint_timeout_ms: int | None = None
    min_pause_ms: Annotated[int | None, "between two checkpoints"] = None
    max_concurrent_checkpoints: int | None = None
    retained_on_cancellation: Annotated[
        bool | None, "externalized and not deleted on cancellation"
    ] = None
    externalized: bool | None = None
    unaligned_checkpoints: bool | None = None
    aligned_checkpoint_timeout_ms: int | None = None
    tolerable_failed_checkpoints: int | None = None
    state_backend: Annotated[str | None, "as the version names it"] = None
    checkpoint_storage: Annotated[str | None, "as the version names it"] = None
    changelog_enabled: Annotated[bool | None, "changelog state backend"] = None
    checkpoints_total: Annotated[
        int | None, "REST counter; includes pre-flight refusals from 1.14 on"
    ] = None
    checkpoints_completed: RestCounter = None
    checkpoints_failed: RestCounter = None
    checkpoints_in_progress: RestCounter = None
    checkpoints_restored: RestCounter = None
    restored_checkpoint_id: Annotated[int | None, "latest restore"] = None
    restored_at: datetime | None = None
    restored_is_savepoint: Annotated[
        bool | None, "true also for a retained checkpoint taken as NO_CLAIM"
    ] = None
    restored_path: str | None = None
    configuration: Annotated[
        tuple[Setting, ...] | None,
        "checkpoint, state, restart and memory settings of the cluster, masked",
    ] = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    job_id: Id
    checkpoint_id: Annotated[int, "repeats where a fixed job id restarts"]
    trigger_time: Annotated[datetime, "trigger"]
    status: Annotated[str, "IN_PROGRESS, COMPLETED or FAILED"]
    is_savepoint: bool | None = None
    savepoint_format: Annotated[str | None, "CANONICAL or NATIVE, 1.17 and later"] = None
    checkpoint_type: Annotated[
        str | None, "CHECKPOINT, UNALIGNED_CHECKPOINT, SAVEPOINT, SYNC_SAVEPOINT"
    ] = None
    end_to_end_ms: Annotated[int | None, "trigger to last acknowledgement (or failure)"] = None
    state_bytes: Annotated[
        int | None, "full state; before 1.15 the uploaded size, the only one"
    ] = None
    checkpointed_bytes: Annotated[int | None, "newly persisted; null before 1.15"] = None
    processed_bytes: Annotated[int | None, "in-flight data processed during alignment"] = None
    persisted_bytes: Annotated[int | None, "in-flight data persisted"] = None
    subtasks: Annotated[int | None, "that take part"] = None
    acknowledged: Annotated[int | None, "that have acknowledged"] = None
    external_path: Annotated[str | None, "where it was written"] = None
    discarded: Annotated[bool | None, "true once subsumed or deleted by Flink"] = None
    failure_time: datetime | None = None
    failure_message: Annotated[str | None, "as Flink words it"] = None
    flink_version: Annotated[str | None, "of the cluster"] = None


@dataclass(frozen=True, slots=True)
class VertexCheckpoint:
    job_id: Id
    checkpoint_id: int
    trigger_time: Annotated[datetime, "of the checkpoint"]
    vertex_id: Id
    status: Annotated[str | None, "IN_PROGRESS, COMPLETED or FAILED"] = None
    end_to_end_ms: int | None = None
    state_bytes: Annotated[int | None, "full"] = None
    checkpointed_bytes: Annotated[int | None, "newly persisted; null before 1.15"] = None
    processed_bytes: int | None = None
    persisted_bytes: int | None = None
    subtasks: int | None = None
    acknowledged: int | None = None
    subtask_ack_time: Annotated[
        PerSubtask[datetime], "acknowledgement; null = not acknowledged"
    ] = None
    subtask_end_to_end_ms: Annotated[PerSubtask[int], "trigger to acknowledgement"] = None
    subtask_start_delay_ms: Annotated[
        PerSubtask[int], "trigger to first barrier; 1.11 and later"
    ] = None
    subtask_alignment_ms: Annotated[PerSubtask[int], "first to last barrier"] = None
    subtask_sync_ms: Annotated[PerSubtask[int], "synchronous part"] = None
    subtask_async_ms: Annotated[PerSubtask[int], "asynchronous part"] = None
    subtask_state_bytes: Annotated[PerSubtask[int], "full"] = None
    subtask_checkpointed_bytes: Annotated[PerSubtask[int], "newly persisted"] = None
    subtask_unaligned: Annotated[PerSubtask[bool], "took an unaligned snapshot; 1.13 and later"] = (
        None
    )
    subtask_aborted: Annotated[PerSubtask[bool], "1.13 and later"] = None


@dataclass(frozen=True, slots=True)
class VertexMetrics:
    job_id: Id
    vertex_id: Id
    ts: Annotated[datetime, "of the sample"]
    parallelism: Annotated[int | None, "", "subtasks"] = None
    in_pool_usage: Annotated[
        PerSubtask[float], "used over total input buffers of both kinds; 0..1", "ratio"
    ] = None
    out_pool_usage: Annotated[
        PerSubtask[float], "used over total output buffers; above 1 in overdraft", "ratio"
    ] = None
    floating_usage: Annotated[PerSubtask[float], "input buffers lent to busy channels", "ratio"] = (
        None
    )
    busy_ms_per_s: Annotated[PerSubtask[float], "1.13 and later"] = None
    backpressured_ms_per_s: Annotated[PerSubtask[float], "1.13 and later"] = None
    idle_ms_per_s: Annotated[PerSubtask[float], "1.12 counts back-pressured time as idle"] = None
    backpressured_ratio: Annotated[
        PerSubtask[float], "of the back-pressure endpoint; the only one before 1.13", "ratio"
    ] = None
    records_in_per_s: Annotated[
        PerSubtask[float], "Flink's meter: mean of the last minute", "records/s"
    ] = None
    records_out_per_s: Annotated[PerSubtask[float], "likewise", "records/s"] = None
    watermark_ms: Annotated[PerSubtask[int], "current input watermark, epoch; null = none yet"] = (
        None
    )
    attempt: Annotated[PerSubtask[int], "from 0"] = None
    host: Annotated[PerSubtask[str], "where it runs"] = None
    taskmanager_id: Annotated[PerSubtask[str], "resource id"] = None
    task_state: Annotated[PerSubtask[str], "Flink execution state, upper case"] = None
    counted_at: Annotated[
        datetime | None, "when Flink was asked for records_in and records_out"
    ] = None
    records_in: Annotated[
        PerSubtask[int], "since the attempt began, as the JobManager collected it last", "records"
    ] = None
    records_out: Annotated[PerSubtask[int], "likewise", "records"] = None
    pending_records: Annotated[
        PerSubtask[float],
        "of a source: records that it has not read; null = not reported, or not yet",
        "records",
    ] = None
    records_lag_max: Annotated[
        PerSubtask[float], "of a Kafka source: not read, of the partition with the most", "records"
    ] = None
    fetch_lag_ms: Annotated[
        PerSubtask[float], "of a source: age by event time of what it fetched last"
    ] = None
    emit_lag_ms: Annotated[
        PerSubtask[float], "of a source: age by event time of its last record when it emitted it"
    ] = None
    watermark_lag_ms: Annotated[
        PerSubtask[float], "of a source: age of its watermark when it emitted its last record"
    ] = None
    source_idle_ms: Annotated[
        PerSubtask[float], "of a source: time without a record; 0 = it has some"
    ] = None


@dataclass(frozen=True, slots=True)
class VertexStart:
    """Instants are those of the JobManager's clock."""

    job_id: Id
    vertex_id: Id
    ts: Annotated[datetime, "of the answer"]
    attempt: Annotated[PerSubtask[int], "from 0"] = None
    host: Annotated[PerSubtask[str], "where it runs"] = None
    taskmanager_id: Annotated[PerSubtask[str], "resource id"] = None
    scheduled_at: Annotated[PerSubtask[datetime], "slots were asked for"] = None
    deploying_at: Annotated[PerSubtask[datetime], "it had its slot"] = None
    initializing_at: Annotated[
        PerSubtask[datetime], "it was deployed and began to restore its state"
    ] = None
    running_at: Annotated[PerSubtask[datetime], "its operators opened"] = None


@dataclass(frozen=True, slots=True)
class AllocatedSlot:
    job_id: str
    cpu_cores: float | None = None


@dataclass(frozen=True, slots=True)
class VertexGauges:
    """Figures that only some vertices have, over all subtasks; those of RocksDB also over all
    column families (states). RocksDB has figures if ``state.backend.rocksdb.metrics.…`` is on.
    """

    job_id: Id
    vertex_id: Id
    ts: Annotated[datetime, "of the answer"]
    input1_watermark_ms: Annotated[
        int | None, "of the first input, epoch, the least of the subtasks; null = none yet"
    ] = None
    input2_watermark_ms: Annotated[int | None, "of the second input"] = None
    debloated_buffer_bytes: Annotated[
        int | None, "size of a buffer with debloating, the least of the subtasks"
    ] = None
    buffers_consumed_in_ms: Annotated[
        int | None, "time to consume what is in flight, by debloating, the longest"
    ] = None
    writes_stopped: Annotated[int | None, "to which RocksDB stopped writes", "column families"] = (
        None
    )
    delayed_write_bytes_per_s: Annotated[
        int | None, "to which RocksDB slows writes, the greatest; 0 = not slowed"
    ] = None
    background_errors: Annotated[
        int | None, "of flushes and compactions, since RocksDB was opened", "errors"
    ] = None
    flushes_pending: Annotated[
        int | None, "with a write buffer that waits for its flush", "column families"
    ] = None
    compactions_pending: Annotated[
        int | None, "with a compaction that waits", "column families"
    ] = None
    compaction_pending_bytes: Annotated[
        int | None, "that compactions have to rewrite, as RocksDB estimates"
    ] = None
    level0_files: Annotated[
        int | None,
        "of one column family, the most; from 20 on writes are slowed, at 36 they stop",
        "files",
    ] = None
    block_cache_bytes: Annotated[int | None, "in use, the most of a RocksDB"] = None
    block_cache_capacity_bytes: Annotated[
        int | None, "of a RocksDB; column families of a slot share one"
    ] = None
    memtable_bytes: Annotated[int | None, "write buffers, over all"] = None
    sst_bytes: Annotated[int | None, "files, over all"] = None
    alignment_drift_ms: Annotated[
        int | None,
        "how far a source is ahead of what watermark alignment allows, the farthest; "
        "below 0 = behind",
    ] = None
    split_paused_ms_per_s: Annotated[
        int | None, "by watermark alignment, the longest of the splits; 2.1 and later"
    ] = None
    behind_latest_ms: Annotated[
        int | None, "of a Kinesis source: age of what it reads, of its oldest shard"
    ] = None
    offset_commits: Annotated[int | None, "of a Kafka source, since its tasks began", "commits"] = (
        None
    )
    offset_commits_failed: Annotated[int | None, "those that failed", "commits"] = None
    received_watermark_ms: Annotated[
        int | None,
        "of a vertex with several inputs: epoch, the least of the inputs; null = none yet, "
        "or all ended",
    ] = None
    sent_watermark_ms: Annotated[
        int | None,
        "epoch, the least of the subtasks: of a vertex that feeds one with several inputs, of its "
        "last operator; of one with several inputs that feeds no other, of its first operator; "
        "null = none yet, ended, or unknown",
    ] = None


@dataclass(frozen=True, slots=True)
class TaskManager:
    taskmanager_id: Annotated[str, "resource id"]
    host: str | None
    ts: Annotated[datetime, "of the sample"]
    last_heartbeat: datetime | None = None
    slots: int | None = None
    free_slots: int | None = None
    cpu_cores: float | None = None
    physical_memory_bytes: Annotated[int | None, "of the machine"] = None
    process_memory_bytes: Annotated[int | None, "configured total; null before 1.12"] = None
    managed_memory_bytes: Annotated[int | None, "configured"] = None
    managed_memory_used_bytes: int | None = None
    heap_used_bytes: int | None = None
    heap_max_bytes: int | None = None
    non_heap_used_bytes: int | None = None
    direct_used_bytes: int | None = None
    network_memory_total_bytes: int | None = None
    network_memory_used_bytes: int | None = None
    cpu_load: Annotated[float | None, "JVM CPU load, 0..1", "ratio"] = None
    gc_count: Annotated[int | None, "all collectors, since start"] = None
    gc_ms: Annotated[int | None, "all collectors, since start"] = None
    cpu_ms: Annotated[int | None, "CPU time of the JVM, since start"] = None
    metaspace_used_bytes: int | None = None
    metaspace_max_bytes: Annotated[int | None, "of the JVM; null where it has no limit"] = None
    framework_heap_bytes: Annotated[
        int | None, "configured, as all that follow; null before 1.12"
    ] = None
    task_heap_bytes: int | None = None
    framework_off_heap_bytes: int | None = None
    task_off_heap_bytes: int | None = None
    network_memory_bytes: int | None = None
    metaspace_bytes: int | None = None
    overhead_bytes: int | None = None
    allocated_slots: Annotated[
        tuple[AllocatedSlot, ...] | None, "slots given to jobs; null before 1.13"
    ] = None


@dataclass(frozen=True, slots=True)
class JobException:
    job_id: Id
    ts: Annotated[datetime, "when the failure happened"]
    task: Annotated[str | None, "'name (i/p) - execution #n', null for a global failure"]
    exception_name: Annotated[str | None, "class"]
    stacktrace: Annotated[str | None, "full text, cut at 64 KiB"]
    endpoint: Annotated[str | None, "host:port"] = None
    taskmanager_id: Annotated[str | None, "resource id; 1.17 and later"] = None
    is_root: Annotated[bool, "false for concurrent exceptions"] = True


@dataclass(frozen=True, slots=True)
class LogRecord:
    process: Annotated[str, "file name without rotation and compression suffixes"]
    ts: Annotated[datetime, "read in the time zone declared for the source"]
    level: Annotated[str, "upper case"]
    logger: str
    message: Annotated[str, "after the ' - ' of the header, with its stack trace; cut at 256 KiB"]
    record_hash: Annotated[str, "first 32 hex digits of SHA-256 over the record's text"]
    ordinal: Annotated[int, "among equal (ts, record_hash) in one file, from 0"]
    file: Annotated[str, "as read"]
    offset: Annotated[int, "of the header in the (unpacked) file", "bytes"]


@dataclass(frozen=True, slots=True)
class NameNodeOperation:
    name: str
    calls: int


@dataclass(frozen=True, slots=True)
class NameNodeSample:
    ts: Annotated[datetime, "when it was asked"]
    ha_state: Annotated[str | None, "active, standby or observer; null without high availability"]
    rpc_calls: Annotated[int | None, "calls since it was started, over all ports"]
    rpc_queue_ms: Annotated[
        float | None, "mean wait of a call in the last interval of metrics; of the slowest port"
    ]
    rpc_processing_ms: Annotated[float | None, "mean time that a call was worked on"]
    call_queue_length: Annotated[int | None, "calls that wait now"]
    files: Annotated[int | None, "files and directories"]
    blocks: int | None
    used_bytes: Annotated[int | None, "raw: each replica counts"]
    heap_used_bytes: int | None = None
    heap_max_bytes: int | None = None
    operations: Annotated[
        tuple[NameNodeOperation, ...], "calls since it was started, by kind of its protocols"
    ] = ()


@dataclass(frozen=True, slots=True)
class NamedListState:
    name: str
    mode: str
    offsets: int


@dataclass(frozen=True, slots=True)
class Reference:
    metadata_path: MetadataPath
    metadata_bytes: Annotated[int | None, "of the file"]
    metadata_modified: MetadataModified
    reader_version: Annotated[
        int, "of ingest.metadata; with path, size and modification the key of what was parsed"
    ]
    ordinal: Annotated[int, "0 for the file itself, its handles from 1 in the order of the file"]
    job_id: JobOfDirectory = None
    checkpoint_id: int | None = None
    format_version: Annotated[int | None, "2 to 7"] = None
    handles: Annotated[int | None, "only with ordinal 0: how many follow"] = None
    checkpoint_type: Annotated[
        str | None,
        "only with ordinal 0: Checkpoint, Full Checkpoint, Savepoint, …; null before 1.16",
    ] = None
    savepoint_format: Annotated[str | None, "only with ordinal 0: CANONICAL or NATIVE"] = None
    operator_id: Annotated[str | None, "32 hex digits"] = None
    operator_name: Annotated[str | None, "2.0 and later"] = None
    subtask: Annotated[int | None, "null for coordinators"] = None
    kind: Annotated[
        str | None,
        "'file' with ordinal 0, else the part of the state as ingest.metadata.pieces names it",
    ] = None
    state_class: Annotated[str | None, "Flink's class of the state handle"] = None
    handle_class: Annotated[str | None, "Flink's class of the stream handle"] = None
    path: Annotated[str | None, "absolute; null where the bytes are in no file"] = None
    written_path: Annotated[str | None, "as in the file, relative or absolute"] = None
    offset_bytes: Annotated[int | None, "where a segment begins in its physical file"] = None
    size_bytes: Annotated[int | None, "of the file, the segment or the inline state"] = None
    state_bytes: Annotated[
        int | None, "what the handle adds to the state of its subtask, as Flink counts"
    ] = None
    inline_at: Annotated[
        int | None, "position of inline state in the _metadata; null for files"
    ] = None
    name: Annotated[str | None, "of inline state, or logical id of a segment"] = None
    local_name: Annotated[str | None, "of a file of incremental state, such as 000025.sst"] = None
    backend_id: Annotated[str | None, "of incremental state"] = None
    handle_id: Annotated[str | None, "of the keyed state as a whole; null before 1.15"] = None
    checkpointed_bytes: Annotated[
        int | None, "uploaded by this checkpoint, of the keyed state as a whole"
    ] = None
    task_owned_directory: Annotated[str | None, "kept alive by the handle (merged files)"] = None
    shared_directory: Annotated[str | None, "kept alive by the handle (merged files)"] = None
    states: Annotated[
        tuple[NamedListState, ...] | None,
        "operator states: SPLIT_DISTRIBUTE, UNION or BROADCAST, number of offsets",
    ] = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    metadata_path: MetadataPath
    metadata_bytes: Annotated[int | None, "of the file"]
    metadata_modified: MetadataModified
    reader_version: Annotated[int, "of ingest.metadata"]
    job_id: JobOfDirectory = None
    checkpoint_id: Annotated[int | None, "as the file says"] = None
    format_version: Annotated[int | None, "2 to 7"] = None
    state_bytes: Annotated[
        int | None,
        "full state: the sum over all handles, as Flink counts; null where it is no possible size",
    ] = None
    is_savepoint: Annotated[
        bool | None, "by the type in the file; null before 1.16, which wrote none"
    ] = None


@dataclass(frozen=True, slots=True)
class Skip:
    subject: Annotated[str, "what was skipped: endpoint path, file, job"]
    reason: Annotated[
        str,
        "code: timeout, unreachable, http_error, bad_json, too_large, bad_payload, "
        "unreadable_file, …",
    ]
    detail: Annotated[str, "one sentence: what was expected, what to do"]


Record = (
    Job
    | Checkpoint
    | VertexCheckpoint
    | VertexMetrics
    | VertexStart
    | VertexGauges
    | TaskManager
    | JobException
    | LogRecord
    | NameNodeSample
    | Reference
    | Snapshot
    | Skip
)


@dataclass(frozen=True, slots=True)
class Observed:
    """Records of one reading of one source: what goes into the lake in one commit per table."""

    cluster: str
    observed_at: datetime
    source: str
    records: tuple[Record, ...] = field(default=())
