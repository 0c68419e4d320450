"""What the parsers produce: one frozen record class for each raw lake table.

Field names, order and meaning are those of :mod:`ingest.lake.tables` (a contract test compares them);
``cluster``, ``observed_at`` and ``source`` are added by :class:`Observed`, ``commit_seq`` and ``date``
by the lake writer. Instants are timezone-aware UTC. Unknown is ``None``.
"""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Vertex:
    vertex_id: str
    name: str
    parallelism: int | None
    max_parallelism: int | None = None
    status: str | None = None
    running_tasks: int | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    source_vertex_id: str
    target_vertex_id: str
    ship_strategy: str | None = None


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
    job_id: str
    name: str | None
    state: str | None
    start_time: datetime | None = None
    end_time: datetime | None = None
    flink_version: str | None = None
    job_type: str | None = None
    parallelism: int | None = None
    vertices: tuple[Vertex, ...] | None = None
    edges: tuple[Edge, ...] | None = None
    state_since: tuple[StateSince, ...] | None = None
    restarts: int | None = None
    checkpointing_mode: str | None = None
    checkpoint_interval_ms: int | None = None
    checkpoint_timeout_ms: int | None = None
    min_pause_ms: int | None = None
    max_concurrent_checkpoints: int | None = None
    retained_on_cancellation: bool | None = None
    externalized: bool | None = None
    unaligned_checkpoints: bool | None = None
    aligned_checkpoint_timeout_ms: int | None = None
    tolerable_failed_checkpoints: int | None = None
    state_backend: str | None = None
    checkpoint_storage: str | None = None
    changelog_enabled: bool | None = None
    checkpoints_total: int | None = None
    checkpoints_completed: int | None = None
    checkpoints_failed: int | None = None
    checkpoints_in_progress: int | None = None
    checkpoints_restored: int | None = None
    restored_checkpoint_id: int | None = None
    restored_at: datetime | None = None
    restored_is_savepoint: bool | None = None
    restored_path: str | None = None
    configuration: tuple[Setting, ...] | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    job_id: str
    checkpoint_id: int
    trigger_time: datetime
    status: str
    is_savepoint: bool | None = None
    savepoint_format: str | None = None
    checkpoint_type: str | None = None
    latest_ack_time: datetime | None = None
    end_to_end_ms: int | None = None
    state_bytes: int | None = None
    checkpointed_bytes: int | None = None
    processed_bytes: int | None = None
    persisted_bytes: int | None = None
    subtasks: int | None = None
    acknowledged: int | None = None
    external_path: str | None = None
    discarded: bool | None = None
    failure_time: datetime | None = None
    failure_message: str | None = None
    flink_version: str | None = None


@dataclass(frozen=True, slots=True)
class VertexCheckpoint:
    job_id: str
    checkpoint_id: int
    trigger_time: datetime
    vertex_id: str
    status: str | None = None
    latest_ack_time: datetime | None = None
    end_to_end_ms: int | None = None
    state_bytes: int | None = None
    checkpointed_bytes: int | None = None
    processed_bytes: int | None = None
    persisted_bytes: int | None = None
    subtasks: int | None = None
    acknowledged: int | None = None
    subtask_ack_time: tuple[datetime | None, ...] | None = None
    subtask_end_to_end_ms: tuple[int | None, ...] | None = None
    subtask_start_delay_ms: tuple[int | None, ...] | None = None
    subtask_alignment_ms: tuple[int | None, ...] | None = None
    subtask_sync_ms: tuple[int | None, ...] | None = None
    subtask_async_ms: tuple[int | None, ...] | None = None
    subtask_state_bytes: tuple[int | None, ...] | None = None
    subtask_checkpointed_bytes: tuple[int | None, ...] | None = None
    subtask_processed_bytes: tuple[int | None, ...] | None = None
    subtask_persisted_bytes: tuple[int | None, ...] | None = None
    subtask_unaligned: tuple[bool | None, ...] | None = None
    subtask_aborted: tuple[bool | None, ...] | None = None


@dataclass(frozen=True, slots=True)
class VertexMetrics:
    job_id: str
    vertex_id: str
    ts: datetime
    parallelism: int | None = None
    in_pool_usage: tuple[float | None, ...] | None = None
    out_pool_usage: tuple[float | None, ...] | None = None
    exclusive_usage: tuple[float | None, ...] | None = None
    floating_usage: tuple[float | None, ...] | None = None
    busy_ms_per_s: tuple[float | None, ...] | None = None
    backpressured_ms_per_s: tuple[float | None, ...] | None = None
    idle_ms_per_s: tuple[float | None, ...] | None = None
    backpressured_ratio: tuple[float | None, ...] | None = None
    records_in_per_s: tuple[float | None, ...] | None = None
    records_out_per_s: tuple[float | None, ...] | None = None
    watermark_ms: tuple[int | None, ...] | None = None
    attempt: tuple[int | None, ...] | None = None
    host: tuple[str | None, ...] | None = None
    taskmanager_id: tuple[str | None, ...] | None = None
    task_state: tuple[str | None, ...] | None = None
    counted_at: datetime | None = None
    records_in: tuple[int | None, ...] | None = None
    records_out: tuple[int | None, ...] | None = None


@dataclass(frozen=True, slots=True)
class TaskManager:
    taskmanager_id: str
    host: str | None
    ts: datetime
    last_heartbeat: datetime | None = None
    slots: int | None = None
    free_slots: int | None = None
    cpu_cores: float | None = None
    physical_memory_bytes: int | None = None
    process_memory_bytes: int | None = None
    managed_memory_bytes: int | None = None
    managed_memory_used_bytes: int | None = None
    heap_used_bytes: int | None = None
    heap_committed_bytes: int | None = None
    heap_max_bytes: int | None = None
    non_heap_used_bytes: int | None = None
    direct_used_bytes: int | None = None
    mapped_used_bytes: int | None = None
    network_memory_total_bytes: int | None = None
    network_memory_used_bytes: int | None = None
    cpu_load: float | None = None
    gc_count: int | None = None
    gc_ms: int | None = None


@dataclass(frozen=True, slots=True)
class JobException:
    job_id: str
    ts: datetime
    task: str | None
    exception_name: str | None
    stacktrace: str | None
    endpoint: str | None = None
    taskmanager_id: str | None = None
    is_root: bool = True
    root_ts: datetime | None = None


@dataclass(frozen=True, slots=True)
class LogRecord:
    process: str
    ts: datetime
    level: str
    logger: str
    message: str
    record_hash: str
    ordinal: int
    file: str
    offset: int


@dataclass(frozen=True, slots=True)
class NamedListState:
    name: str
    mode: str
    offsets: int


@dataclass(frozen=True, slots=True)
class Reference:
    metadata_path: str
    metadata_bytes: int | None
    metadata_modified: datetime | None
    reader_version: int
    ordinal: int
    job_id: str | None = None
    checkpoint_id: int | None = None
    format_version: int | None = None
    handles: int | None = None
    checkpoint_type: str | None = None
    savepoint_format: str | None = None
    operator_id: str | None = None
    operator_name: str | None = None
    subtask: int | None = None
    kind: str | None = None
    state_class: str | None = None
    handle_class: str | None = None
    path: str | None = None
    written_path: str | None = None
    offset_bytes: int | None = None
    size_bytes: int | None = None
    state_bytes: int | None = None
    inline_at: int | None = None
    name: str | None = None
    local_name: str | None = None
    backend_id: str | None = None
    handle_id: str | None = None
    checkpointed_bytes: int | None = None
    task_owned_directory: str | None = None
    shared_directory: str | None = None
    states: tuple[NamedListState, ...] | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    metadata_path: str
    metadata_bytes: int | None
    metadata_modified: datetime | None
    reader_version: int
    job_id: str | None = None
    checkpoint_id: int | None = None
    format_version: int | None = None
    state_bytes: int | None = None
    is_savepoint: bool | None = None


@dataclass(frozen=True, slots=True)
class Skip:
    subject: str
    reason: str
    detail: str


type_of_table: dict[str, type] = {
    "jobs": Job,
    "checkpoints": Checkpoint,
    "vertex_checkpoints": VertexCheckpoint,
    "vertex_metrics": VertexMetrics,
    "taskmanagers": TaskManager,
    "exceptions": JobException,
    "log_records": LogRecord,
    "references": Reference,
    "snapshots": Snapshot,
    "skips": Skip,
}

Record = Job | Checkpoint | VertexCheckpoint | VertexMetrics | TaskManager | JobException | LogRecord | Reference | Snapshot | Skip


@dataclass(frozen=True, slots=True)
class Observed:
    """Records of one reading of one source: what goes into the lake in one commit per table."""

    cluster: str
    observed_at: datetime
    source: str
    records: tuple[Record, ...] = field(default=())
