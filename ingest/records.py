"""What the parsers produce: one frozen record class for each raw lake table, whose columns follow
from its fields.

Each field has its type, its meaning and, where the name does not end with it, its unit.
``cluster``, ``observed_at`` and ``source`` are added by ``Observed``, ``commit_seq`` and ``date``
by the lake writer.

* Instants are timezone-aware UTC, kept to the millisecond; durations are ``*_ms``; sizes are
  ``*_bytes``.
* Unknown is ``None``, never 0, -1 or NaN.
* A list per subtask has one element for each subtask, at the subtask's index (0-based), ``None`` if
  that subtask did not report; the whole list is ``None`` if it was not requested.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

_Value = TypeVar("_Value")
PerSubtask = tuple[_Value | None, ...] | None
Id = str
"""32 hex digits."""


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
    name: str | None  # as submitted
    # Flink job state, upper case; NOT_LISTED if the JobManager no longer lists it
    state: str | None
    start_time: datetime | None = None  # submission
    end_time: datetime | None = None  # null while it runs; when it was last listed if NOT_LISTED
    flink_version: str | None = None  # of the cluster
    parallelism: int | None = None  # largest of its vertices
    vertices: tuple[Vertex, ...] | None = None  # job vertices in plan order
    edges: tuple[Edge, ...] | None = None
    # of vertices, as far as the version reports it (1.20 does)
    slot_sharing: tuple[SlotSharing, ...] | None = None
    # last entry into each state that was ever entered
    state_since: tuple[StateSince, ...] | None = None
    restarts: int | None = None  # numRestarts metric
    checkpointing_mode: str | None = None  # exactly_once or at_least_once
    checkpoint_interval_ms: int | None = None  # null where periodic checkpoints are off
    checkpoint_timeout_ms: int | None = None
    min_pause_ms: int | None = None  # between two checkpoints
    max_concurrent_checkpoints: int | None = None
    retained_on_cancellation: bool | None = None  # externalized and not deleted on cancellation
    externalized: bool | None = None
    unaligned_checkpoints: bool | None = None
    aligned_checkpoint_timeout_ms: int | None = None
    tolerable_failed_checkpoints: int | None = None
    state_backend: str | None = None  # as the version names it
    checkpoint_storage: str | None = None  # as the version names it
    changelog_enabled: bool | None = None
    # counters of REST; the total includes pre-flight refusals from 1.14 on
    checkpoints_total: int | None = None
    checkpoints_completed: int | None = None
    checkpoints_failed: int | None = None
    checkpoints_in_progress: int | None = None
    checkpoints_restored: int | None = None
    restored_checkpoint_id: int | None = None  # latest restore
    restored_at: datetime | None = None
    # true also for a retained checkpoint taken as NO_CLAIM
    restored_is_savepoint: bool | None = None
    restored_path: str | None = None
    # checkpoint, state, restart and memory settings of the cluster, masked
    configuration: tuple[Setting, ...] | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    job_id: Id
    checkpoint_id: int  # repeats where a fixed job id restarts
    trigger_time: datetime
    status: str  # IN_PROGRESS, COMPLETED or FAILED
    is_savepoint: bool | None = None
    savepoint_format: str | None = None  # CANONICAL or NATIVE, 1.17 and later
    # CHECKPOINT, UNALIGNED_CHECKPOINT, SAVEPOINT, SYNC_SAVEPOINT
    checkpoint_type: str | None = None
    end_to_end_ms: int | None = None  # trigger to last acknowledgement (or failure)
    state_bytes: int | None = None  # full state; before 1.15 the uploaded size, the only one
    checkpointed_bytes: int | None = None  # newly persisted; null before 1.15
    processed_bytes: int | None = None  # in-flight data processed during alignment
    persisted_bytes: int | None = None  # in-flight data persisted
    subtasks: int | None = None  # that take part
    acknowledged: int | None = None  # that have acknowledged
    external_path: str | None = None  # where it was written
    discarded: bool | None = None  # true once subsumed or deleted by Flink
    failure_time: datetime | None = None
    failure_message: str | None = None  # as Flink words it
    flink_version: str | None = None  # of the cluster


@dataclass(frozen=True, slots=True)
class VertexCheckpoint:
    job_id: Id
    checkpoint_id: int
    trigger_time: datetime  # of the checkpoint
    vertex_id: Id
    status: str | None = None  # IN_PROGRESS, COMPLETED or FAILED
    end_to_end_ms: int | None = None
    state_bytes: int | None = None  # full
    checkpointed_bytes: int | None = None  # newly persisted; null before 1.15
    processed_bytes: int | None = None
    persisted_bytes: int | None = None
    subtasks: int | None = None
    acknowledged: int | None = None
    subtask_ack_time: PerSubtask[datetime] = None  # acknowledgement; null = not acknowledged
    subtask_end_to_end_ms: PerSubtask[int] = None  # trigger to acknowledgement
    subtask_start_delay_ms: PerSubtask[int] = None  # trigger to first barrier; 1.11 and later
    subtask_alignment_ms: PerSubtask[int] = None  # first to last barrier
    subtask_sync_ms: PerSubtask[int] = None  # synchronous part
    subtask_async_ms: PerSubtask[int] = None  # asynchronous part
    subtask_state_bytes: PerSubtask[int] = None  # full
    subtask_checkpointed_bytes: PerSubtask[int] = None  # newly persisted
    subtask_unaligned: PerSubtask[bool] = None  # took an unaligned snapshot; 1.13 and later
    subtask_aborted: PerSubtask[bool] = None  # 1.13 and later


@dataclass(frozen=True, slots=True)
class VertexMetrics:
    job_id: Id
    vertex_id: Id
    ts: datetime  # of the sample
    parallelism: int | None = None
    in_pool_usage: PerSubtask[float] = None  # used over total input buffers of both kinds; 0..1
    out_pool_usage: PerSubtask[float] = None  # used over total output buffers; above 1 in overdraft
    floating_usage: PerSubtask[float] = None  # input buffers lent to busy channels
    busy_ms_per_s: PerSubtask[float] = None  # 1.13 and later
    backpressured_ms_per_s: PerSubtask[float] = None  # 1.13 and later
    idle_ms_per_s: PerSubtask[float] = None  # 1.12 counts back-pressured time as idle
    # of the back-pressure endpoint; the only one before 1.13
    backpressured_ratio: PerSubtask[float] = None
    records_in_per_s: PerSubtask[float] = None  # Flink's meter: mean of the last minute
    records_out_per_s: PerSubtask[float] = None  # likewise
    watermark_ms: PerSubtask[int] = None  # current input watermark, epoch; null = none yet
    attempt: PerSubtask[int] = None  # from 0
    host: PerSubtask[str] = None  # where it runs
    taskmanager_id: PerSubtask[str] = None  # resource id
    task_state: PerSubtask[str] = None  # Flink execution state, upper case
    counted_at: datetime | None = None  # when Flink was asked for records_in and records_out
    # since the attempt began, as the JobManager collected it last
    records_in: PerSubtask[int] = None
    records_out: PerSubtask[int] = None  # likewise
    # of a source: records that it has not read; null = not reported, or not yet
    pending_records: PerSubtask[float] = None
    # of a Kafka source: not read, of the partition with the most
    records_lag_max: PerSubtask[float] = None
    fetch_lag_ms: PerSubtask[float] = None  # of a source: age by event time of what it fetched last
    # of a source: age by event time of its last record when it emitted it
    emit_lag_ms: PerSubtask[float] = None
    # of a source: age of its watermark when it emitted its last record
    watermark_lag_ms: PerSubtask[float] = None
    source_idle_ms: PerSubtask[float] = None  # of a source: time without a record; 0 = it has some


@dataclass(frozen=True, slots=True)
class VertexStart:
    """Instants are those of the JobManager's clock."""

    job_id: Id
    vertex_id: Id
    ts: datetime  # of the answer
    attempt: PerSubtask[int] = None  # from 0
    host: PerSubtask[str] = None  # where it runs
    taskmanager_id: PerSubtask[str] = None  # resource id
    scheduled_at: PerSubtask[datetime] = None  # slots were asked for
    deploying_at: PerSubtask[datetime] = None  # it had its slot
    initializing_at: PerSubtask[datetime] = None  # it was deployed and began to restore its state
    running_at: PerSubtask[datetime] = None  # its operators opened


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
    ts: datetime  # of the answer
    # of the first input, epoch, the least of the subtasks; null = none yet
    input1_watermark_ms: int | None = None
    input2_watermark_ms: int | None = None  # of the second input
    # size of a buffer with debloating, the least of the subtasks
    debloated_buffer_bytes: int | None = None
    # time to consume what is in flight, by debloating, the longest
    buffers_consumed_in_ms: int | None = None
    writes_stopped: int | None = None  # column families to which RocksDB stopped writes
    # to which RocksDB slows writes, the greatest; 0 = not slowed
    delayed_write_bytes_per_s: int | None = None
    background_errors: int | None = None  # of flushes and compactions, since RocksDB was opened
    # column families with a write buffer that waits for its flush
    flushes_pending: int | None = None
    compactions_pending: int | None = None  # column families with a compaction that waits
    # that compactions have to rewrite, as RocksDB estimates
    compaction_pending_bytes: int | None = None
    # of one column family, the most; from 20 on writes are slowed, at 36 they stop
    level0_files: int | None = None
    block_cache_bytes: int | None = None  # in use, the most of a RocksDB
    # of a RocksDB; column families of a slot share one
    block_cache_capacity_bytes: int | None = None
    memtable_bytes: int | None = None  # write buffers, over all
    sst_bytes: int | None = None  # files, over all
    # how far a source is ahead of what watermark alignment allows, the farthest; below 0 = behind
    alignment_drift_ms: int | None = None
    # by watermark alignment, the longest of the splits; 2.1 and later
    split_paused_ms_per_s: int | None = None
    # of a Kinesis source: age of what it reads, of its oldest shard
    behind_latest_ms: int | None = None
    offset_commits: int | None = None  # of a Kafka source, since its tasks began
    offset_commits_failed: int | None = None  # those that failed
    uncommitted_records: int | None = None  # of a Kafka source: read after its newest commits
    # of a vertex with several inputs: epoch, the least of the inputs; null = none yet, or all ended
    received_watermark_ms: int | None = None
    # epoch, the least of the subtasks: of a vertex that feeds one with several inputs, of its last
    # operator; of one with several inputs that feeds no other, of its first operator; null = none
    # yet, ended, or unknown
    sent_watermark_ms: int | None = None


@dataclass(frozen=True, slots=True)
class TaskManager:
    taskmanager_id: str  # resource id
    host: str | None
    ts: datetime  # of the sample
    last_heartbeat: datetime | None = None
    slots: int | None = None
    free_slots: int | None = None
    cpu_cores: float | None = None
    physical_memory_bytes: int | None = None  # of the machine
    process_memory_bytes: int | None = None  # configured total; null before 1.12
    managed_memory_bytes: int | None = None  # configured
    managed_memory_used_bytes: int | None = None
    heap_used_bytes: int | None = None
    heap_max_bytes: int | None = None
    non_heap_used_bytes: int | None = None
    direct_used_bytes: int | None = None
    network_memory_total_bytes: int | None = None
    network_memory_used_bytes: int | None = None
    cpu_load: float | None = None  # JVM CPU load, 0..1
    gc_count: int | None = None  # all collectors, since start
    gc_ms: int | None = None  # all collectors, since start
    cpu_ms: int | None = None  # CPU time of the JVM, since start
    metaspace_used_bytes: int | None = None
    metaspace_max_bytes: int | None = None  # of the JVM; null where it has no limit
    framework_heap_bytes: int | None = None  # configured, as all that follow; null before 1.12
    task_heap_bytes: int | None = None
    framework_off_heap_bytes: int | None = None
    task_off_heap_bytes: int | None = None
    network_memory_bytes: int | None = None
    metaspace_bytes: int | None = None
    overhead_bytes: int | None = None
    # slots given to jobs; null before 1.13
    allocated_slots: tuple[AllocatedSlot, ...] | None = None


@dataclass(frozen=True, slots=True)
class JobException:
    job_id: Id
    ts: datetime  # when the failure happened
    task: str | None  # 'name (i/p) - execution #n', null for a global failure
    exception_name: str | None  # class
    stacktrace: str | None  # full text, cut at 64 KiB
    endpoint: str | None = None  # host:port
    taskmanager_id: str | None = None  # resource id; 1.17 and later
    is_root: bool = True  # false for concurrent exceptions


@dataclass(frozen=True, slots=True)
class LogRecord:
    process: str  # file name without rotation and compression suffixes
    ts: datetime  # read in the time zone declared for the source
    level: str  # upper case
    logger: str
    message: str  # after the ' - ' of the header, with its stack trace; cut at 256 KiB
    record_hash: str  # first 32 hex digits of SHA-256 over the record's text
    ordinal: int  # among equal (ts, record_hash) in one file, from 0
    file: str  # as read
    offset: int  # of the header in the (unpacked) file, in bytes


@dataclass(frozen=True, slots=True)
class NameNodeOperation:
    name: str
    calls: int


@dataclass(frozen=True, slots=True)
class NameNodeSample:
    ts: datetime  # when it was asked
    ha_state: str | None  # active, standby or observer; null without high availability
    rpc_calls: int | None  # calls since it was started, over all ports
    # mean wait of a call in the last interval of metrics; of the slowest port
    rpc_queue_ms: float | None
    rpc_processing_ms: float | None  # mean time that a call was worked on
    call_queue_length: int | None  # calls that wait now
    files: int | None  # files and directories
    blocks: int | None
    used_bytes: int | None  # raw: each replica counts
    heap_used_bytes: int | None = None
    heap_max_bytes: int | None = None
    # calls since it was started, by kind of its protocols
    operations: tuple[NameNodeOperation, ...] = ()


@dataclass(frozen=True, slots=True)
class NamedListState:
    name: str
    mode: str
    offsets: int


@dataclass(frozen=True, slots=True)
class Reference:
    metadata_path: str  # the file as it was read
    metadata_bytes: int | None  # of the file
    metadata_modified: datetime | None  # of the file; null where the storage does not report it
    # of ingest.metadata; with path, size and modification the key of what was parsed
    reader_version: int
    ordinal: int  # 0 for the file itself, its handles from 1 in the order of the file
    # job of the directory; null for savepoints and without a directory of a job
    job_id: str | None = None
    checkpoint_id: int | None = None
    format_version: int | None = None  # 2 to 7
    handles: int | None = None  # only with ordinal 0: how many follow
    # only with ordinal 0: Checkpoint, Full Checkpoint, Savepoint, …; null before 1.16
    checkpoint_type: str | None = None
    savepoint_format: str | None = None  # only with ordinal 0: CANONICAL or NATIVE
    operator_id: str | None = None  # 32 hex digits
    operator_name: str | None = None  # 2.0 and later
    subtask: int | None = None  # null for coordinators
    # 'file' with ordinal 0, else the part of the state as ingest.metadata.pieces names it
    kind: str | None = None
    state_class: str | None = None  # Flink's class of the state handle
    handle_class: str | None = None  # Flink's class of the stream handle
    path: str | None = None  # absolute; null where the bytes are in no file
    written_path: str | None = None  # as in the file, relative or absolute
    offset_bytes: int | None = None  # where a segment begins in its physical file
    size_bytes: int | None = None  # of the file, the segment or the inline state
    # what the handle adds to the state of its subtask, as Flink counts
    state_bytes: int | None = None
    inline_at: int | None = None  # position of inline state in the _metadata; null for files
    name: str | None = None  # of inline state, or logical id of a segment
    local_name: str | None = None  # of a file of incremental state, such as 000025.sst
    backend_id: str | None = None  # of incremental state
    handle_id: str | None = None  # of the keyed state as a whole; null before 1.15
    # uploaded by this checkpoint, of the keyed state as a whole
    checkpointed_bytes: int | None = None
    task_owned_directory: str | None = None  # kept alive by the handle (merged files)
    shared_directory: str | None = None  # kept alive by the handle (merged files)
    # operator states: SPLIT_DISTRIBUTE, UNION or BROADCAST, number of offsets
    states: tuple[NamedListState, ...] | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    metadata_path: str  # the file as it was read
    metadata_bytes: int | None  # of the file
    metadata_modified: datetime | None  # of the file; null where the storage does not report it
    reader_version: int  # of ingest.metadata
    # job of the directory; null for savepoints and without a directory of a job
    job_id: str | None = None
    checkpoint_id: int | None = None  # as the file says
    format_version: int | None = None  # 2 to 7
    # full state: the sum over all handles, as Flink counts; null where it is no possible size
    state_bytes: int | None = None
    is_savepoint: bool | None = None  # by the type in the file; null before 1.16, which wrote none


@dataclass(frozen=True, slots=True)
class Skip:
    subject: str  # what was skipped: endpoint path, file, job
    # code: timeout, unreachable, http_error, bad_json, too_large, bad_payload, unreadable_file, …
    reason: str
    detail: str  # one sentence: what was expected, what to do


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
