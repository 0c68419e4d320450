"""The input of a rule: one job at one instant. Times are epoch milliseconds UTC (``*_ms``), ratios
0..1, rates per second. None is unknown, never zero. A tuple "per subtask" has the value of subtask
i at index i, None if that subtask did not report; it is empty if none reported. ``Annotated``
fields are also columns of serving tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from ingest.messages import brief, message
from spark_jobs.diagnosis.findings import Subject

Reals = tuple[float | None, ...]
Ints = tuple[int | None, ...]
Texts = tuple[str | None, ...]
Documents = tuple[Mapping[str, Any], ...]

LOAD_BALANCE_MODE = "taskmanager.load-balance.mode"
EVENLY_SPREAD = "cluster.evenly-spread-out-slots"
DEBLOATS = "taskmanager.network.memory.buffer-debloat.enabled"
CHECKPOINT_DIRECTORIES = ("execution.checkpointing.dir", "state.checkpoints.dir")
READ_SETTINGS = (LOAD_BALANCE_MODE, EVENLY_SPREAD, DEBLOATS, *CHECKPOINT_DIRECTORIES)

EPOCH_MS = "epoch ms"
"""Marks fields whose column is an instant; its name lacks the ``_ms``."""


@dataclass(frozen=True, slots=True)
class Vertex:
    vertex_id: str
    name: str
    parallelism: int | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """``ship_strategy`` as Flink names it (FORWARD, HASH, REBALANCE, …)."""

    source: str
    target: str
    ship_strategy: str | None = None


@dataclass(frozen=True, slots=True)
class VertexWindow:
    """One vertex in the judged window: each subtask's mean over its samples. ``busy_ratio`` is
    unknown before 1.13; ``idle_ratio`` of 1.12 includes back-pressured time. ``records_…_per_s``
    are Flink's meters, means of the last minute. ``counted_…_per_s`` are differences of its
    counters over ``counted_ms``, unknown if a subtask's attempt changed meanwhile.
    """

    vertex_id: str
    parallelism: int | None = None
    samples: int = 0
    busy_ratio: Reals = ()
    backpressured_ratio: Reals = ()
    idle_ratio: Reals = ()
    in_pool_usage: Reals = ()
    out_pool_usage: Reals = ()
    floating_usage: Reals = ()
    records_in_per_s: Reals = ()
    records_out_per_s: Reals = ()
    watermark_ms: Ints = ()
    host: Texts = ()
    taskmanager_id: Texts = ()
    counted_ms: int | None = None
    counted_in_per_s: Reals = ()
    counted_out_per_s: Reals = ()
    pending_records: Reals = ()
    emit_lag_ms: Reals = ()
    source_idle_ms: Reals = ()


@dataclass(frozen=True, slots=True)
class VertexGauges:
    """The gauges that rules read; :class:`ingest.records.VertexGauges` has all."""

    vertex_id: str
    at_ms: int
    input1_watermark_ms: int | None = None
    input2_watermark_ms: int | None = None
    debloated_buffer_bytes: int | None = None
    writes_stopped: int | None = None
    delayed_write_bytes_per_s: int | None = None
    background_errors: int | None = None
    compactions_pending: int | None = None
    compaction_pending_bytes: int | None = None
    level0_files: int | None = None
    alignment_drift_ms: int | None = None
    split_paused_ms_per_s: int | None = None
    received_watermark_ms: int | None = None
    sent_watermark_ms: int | None = None


@dataclass(frozen=True, slots=True)
class VertexPast:
    """A vertex in an earlier window, over all subtasks. ``watermark_ms``: the lowest at its end."""

    vertex_id: str
    window_start_ms: int
    watermark_ms: int | None = None
    records_in_per_s: float | None = None
    backpressured_share: float | None = None
    busy_share: float | None = None
    pending_records: float | None = None
    pending_subtasks: int | None = None
    emit_lag_ms: float | None = None


@dataclass(frozen=True, slots=True)
class CheckpointSample:
    checkpoint_id: Annotated[int, "repeats where a fixed job id restarts"]
    trigger_time_ms: Annotated[int, "when Flink triggered it", EPOCH_MS]
    outcome: Annotated[str, "how it ended; in_progress until then"]
    is_savepoint: Annotated[bool | None, "null where no source reported it"] = None
    checkpoint_type: Annotated[
        str | None, "CHECKPOINT, UNALIGNED_CHECKPOINT, SAVEPOINT or SYNC_SAVEPOINT"
    ] = None
    savepoint_format: Annotated[str | None, "CANONICAL or NATIVE; 1.17 and later"] = None
    reason: Annotated[
        str | None,
        (
            "Flink's CheckpointFailureReason name, e.g. CHECKPOINT_EXPIRED, TASK_FAILURE where "
            "lost to a failed task; null where completed"
        ),
    ] = None
    reason_text: Annotated[
        str | None, "as Flink words it; where lost to a failure, its innermost cause"
    ] = None
    end_time_ms: Annotated[int | None, "completed, failed or expired at", EPOCH_MS] = None
    end_to_end_ms: Annotated[int | None, "from the trigger to the last acknowledgement"] = None
    state_bytes: Annotated[
        int | None,
        (
            "full state; null where only the upload is known, as of incremental checkpoints before "
            "1.15"
        ),
    ] = None
    checkpointed_bytes: Annotated[int | None, "newly uploaded"] = None
    processed_bytes: Annotated[int | None, "in-flight data processed during alignment"] = None
    persisted_bytes: Annotated[int | None, "in-flight data persisted"] = None
    subtasks: Annotated[int | None, "number of subtasks that take part"] = None
    acknowledged: Annotated[int | None, "number of subtasks that acknowledged"] = None
    external_path: Annotated[str | None, "where it was written"] = None
    discarded: Annotated[bool | None, "Flink has subsumed or deleted it"] = None
    start_delay_ms: Annotated[int | None, "trigger to first barrier; largest of all subtasks"] = (
        None
    )
    alignment_ms: Annotated[int | None, "first to last barrier; largest of all subtasks"] = None
    sync_ms: Annotated[int | None, "synchronous part; largest of all subtasks"] = None
    async_ms: Annotated[int | None, "asynchronous part; largest of all subtasks"] = None
    unaligned: Annotated[
        bool | None, "any subtask took an unaligned snapshot; null when unknown"
    ] = None
    dominant_phase: Annotated[
        str | None,
        "of the slowest subtask: start_delay, alignment, sync or async; null when unknown",
    ] = None
    slowest_vertex_id: Annotated[str | None, "vertex of the slowest subtask"] = None
    slowest_vertex_name: Annotated[str | None, "its name in the newest plan"] = None
    slowest_subtask: Annotated[int | None, "index of the slowest subtask, 0-based"] = None
    slowest_host: Annotated[str | None, "host of the slowest subtask"] = None
    slowest_end_to_end_ms: Annotated[int | None, "from the trigger to its acknowledgement"] = None
    slowest_start_delay_ms: Annotated[int | None, "of the slowest subtask"] = None
    slowest_alignment_ms: Annotated[int | None, "of the slowest subtask"] = None
    slowest_sync_ms: Annotated[int | None, "of the slowest subtask"] = None
    slowest_async_ms: Annotated[int | None, "of the slowest subtask"] = None
    source_start_delay_ms: Annotated[
        int | None, "largest over the subtasks of sources, which wait for no barrier"
    ] = None
    latest_source_id: Annotated[str | None, "vertex of that subtask"] = None
    latest_source_subtask: Annotated[int | None, "index of that subtask, 0-based"] = None
    uploaded_ratio: Annotated[float | None, "checkpointed_bytes / state_bytes"] = None
    late_message_count: Annotated[int | None, "acknowledgements that came after expiry"] = None
    declines: Annotated[
        Documents,
        (
            "[{vertex_id, vertex_name, subtask, attempt, execution_id, container, host, at, "
            "reason, exception, log_line}]"
        ),
    ] = ()
    not_acknowledged: Annotated[
        Documents,
        (
            "[{vertex_id, vertex_name, subtasks: [at most 50 indexes], count, hosts, late, "
            "late_phase}] at failure or expiry; late: how many reported their part afterwards, "
            "the slowest of them mostly in late_phase"
        ),
    ] = ()
    late_messages: Annotated[
        Documents, "at most 50: [{vertex_id, vertex_name, subtask, container, host, at, late_ms}]"
    ] = ()
    failure_message: Annotated[str | None, "as REST reported it"] = None

    @property
    def ended_ms(self) -> int:
        return self.trigger_time_ms if self.end_time_ms is None else self.end_time_ms


@dataclass(frozen=True, slots=True)
class VertexState:
    """State in the newest completed checkpoint, per subtask; empty before 1.15."""

    vertex_id: str
    checkpoint_id: int
    trigger_time_ms: int
    subtask_state_bytes: Ints = ()


@dataclass(frozen=True, slots=True)
class Annotation:
    """``kind``: savepoint, restart, restore, deploy, failure, terminal, rescale or
    taskmanager_lost.
    """

    at_ms: int
    kind: str
    subject: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobStart:
    """A start after which all tasks ran; ``at_ms``: when scheduling began. See the table
    ``job_start``.
    """

    at_ms: int
    kind: str
    running_at_ms: int
    total_ms: int | None = None
    graph_ms: int | None = None
    cancel_ms: int | None = None
    slots_ms: int | None = None
    deploy_ms: int | None = None
    restore_ms: int | None = None
    tasks: int = 0
    stragglers: int = 0
    held_up_ms: int = 0
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobFailure:
    """``task`` is None for a global failure; ``stacktrace`` may be cut."""

    at_ms: int
    name: str
    task: str | None = None
    host: str | None = None
    taskmanager_id: str | None = None
    is_root: bool | None = None
    stacktrace: str | None = None


def rule_kind(kind: str, to_state: str | None) -> str:
    return f"{kind} {to_state}" if kind == "task_state" else kind


@dataclass(frozen=True, slots=True)
class LogEvent:
    """A row of the serving table ``log_event``; ``detail`` may be cut."""

    at_ms: int
    kind: str
    checkpoint_id: int | None = None
    vertex_id: str | None = None
    vertex_name: str | None = None
    subtask: int | None = None
    attempt: int | None = None
    host: str | None = None
    container: str | None = None
    reason: str | None = None
    message: str | None = None
    detail: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rule_kind(self) -> str:
        return rule_kind(self.kind, self.fields.get("to_state"))


@dataclass(frozen=True, slots=True)
class SizeTrend:
    from_time_ms: Annotated[int | None, "of the first point", EPOCH_MS] = None
    to_time_ms: Annotated[int | None, "of the last point", EPOCH_MS] = None
    points: Annotated[int | None, "completed checkpoints since the last change point"] = None
    bytes_per_h: Annotated[
        float | None, "robust slope (median of pairwise slopes); unknown below an hour"
    ] = None
    bytes_per_h_low: Annotated[float | None, "10th percentile of pairwise slopes"] = None


@dataclass(frozen=True, slots=True)
class CheckpointConfig:
    """``interval_ms`` None with ``mode`` known means that periodic checkpoints are off."""

    mode: str | None = None
    interval_ms: int | None = None
    timeout_ms: int | None = None
    min_pause_ms: int | None = None
    externalized: bool | None = None
    retained_on_cancellation: bool | None = None
    unaligned: bool | None = None
    tolerable_failed: int | None = None
    state_backend: str | None = None


@dataclass(frozen=True, slots=True)
class SourceGap:
    """``cycles``: how many collect cycles the source missed."""

    source: str
    since_ms: int
    cycles: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class UploadedFiles:
    """The ``_metadata`` of a checkpoint against that of an earlier snapshot, by local names of
    RocksDB files (serving table ``checkpoint_upload``).
    """

    checkpoint_id: Annotated[int, "of the upload"]
    trigger_time_ms: Annotated[int, "of the checkpoint", EPOCH_MS]
    compared_with: Annotated[
        str | None,
        (
            "directory of the snapshot restored from, for the first checkpoint after a restore, "
            "else of the last completed checkpoint"
        ),
    ] = None
    kept_bytes: Annotated[int | None, "RocksDB files that are still the same files"] = None
    same_name_bytes: Annotated[
        int | None, "in other files under names that the snapshot had: uploaded again"
    ] = None
    new_name_bytes: Annotated[int | None, "under names that it did not have"] = None


@dataclass(frozen=True, slots=True)
class RecoveryPoint:
    checkpoint_id: int
    audited_at_ms: int
    path: str | None = None
    missing_files: int | None = None
    missing_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class TaskManagerSample:
    """``restarts``: of the job before; ``gc_ms`` and ``cpu_ms`` count since the JVM began.
    ``metaspace_max_bytes`` is the JVM's own limit; ``…memory_bytes``, ``…off_heap_bytes`` and
    ``metaspace_bytes`` are configured.
    """

    taskmanager_id: str
    at_ms: int
    restarts: int = 0
    host: str | None = None
    cpu_cores: float | None = None
    direct_used_bytes: int | None = None
    metaspace_used_bytes: int | None = None
    metaspace_max_bytes: int | None = None
    framework_off_heap_bytes: int | None = None
    task_off_heap_bytes: int | None = None
    network_memory_bytes: int | None = None
    metaspace_bytes: int | None = None
    gc_ms: int | None = None
    cpu_ms: int | None = None

    @property
    def metaspace_limit_bytes(self) -> int | None:
        return self.metaspace_max_bytes or self.metaspace_bytes

    @property
    def direct_limit_bytes(self) -> int | None:
        """The ``-XX:MaxDirectMemorySize`` that Flink's scripts set."""
        parts = (self.framework_off_heap_bytes, self.task_off_heap_bytes, self.network_memory_bytes)
        return None if None in parts else sum(part or 0 for part in parts)


@dataclass(frozen=True, slots=True)
class EarlierAttempt:
    """The previous attempt, under another job id. Its snapshot is the newest completed one that
    still exists, else the newest ``discarded`` one. ``over_ms``: when the attempt ended.
    """

    job_id: str
    state: str | None
    over_ms: int
    checkpoint_id: int
    trigger_time_ms: int
    path: str | None = None
    is_savepoint: bool = False
    discarded: bool = False


@dataclass(frozen=True, slots=True)
class JobWindow:
    """One job, judged at ``at_ms``: the end of the window, or its newest data. ``checkpoints``,
    ``annotations``, ``failures``, ``events``: the job's last ones, oldest first, not only of the
    window. ``past``: vertices in earlier windows. ``uploads`` are known around restores and
    savepoints with a readable ``_metadata``. ``version``: (major, minor[, patch]).
    ``taskmanagers``: recently one sample a minute, earlier only the last one before each restart.
    ``restarts``: epoch ms. ``earlier``: set only in the first judged window of an attempt that
    followed another attempt.
    """

    cluster: str
    job_id: str
    at_ms: int
    window_start_ms: int
    job_name: str | None = None
    state: str | None = None
    terminal: bool | None = None
    start_time_ms: int | None = None
    flink_version: str | None = None
    version: tuple[int, ...] | None = None
    vertices: tuple[Vertex, ...] = ()
    edges: tuple[Edge, ...] = ()
    vertex_windows: tuple[VertexWindow, ...] = ()
    past: tuple[VertexPast, ...] = ()
    checkpoints: tuple[CheckpointSample, ...] = ()
    vertex_states: tuple[VertexState, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    starts: tuple[JobStart, ...] = ()
    failures: tuple[JobFailure, ...] = ()
    events: tuple[LogEvent, ...] = ()
    size_trend: SizeTrend | None = None
    config: CheckpointConfig = field(default_factory=CheckpointConfig)
    gaps: tuple[SourceGap, ...] = ()
    uploads: tuple[UploadedFiles, ...] = ()
    gauges: tuple[VertexGauges, ...] = ()
    recovery_point: RecoveryPoint | None = None
    taskmanagers: tuple[TaskManagerSample, ...] = ()
    restarts: tuple[int, ...] = ()
    earlier: EarlierAttempt | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def subject(self) -> Subject:
        """The cluster if the window has no job."""
        if self.job_id:
            return "job", "job", self.job_name or self.job_id
        name = message("{cluster:name}: JobManager", cluster=self.cluster)
        return "cluster", "jobmanager", name

    @property
    def has_debloating(self) -> bool:
        """Whether it is set, or Flink reports its figures."""
        return self.settings.get(DEBLOATS, "").lower() == "true" or any(
            sample.debloated_buffer_bytes is not None for sample in self.gauges
        )

    def vertex_name(self, vertex_id: str) -> str:
        return next(
            (vertex.name for vertex in self.vertices if vertex.vertex_id == vertex_id), vertex_id
        )

    def brief_name(self, vertex_id: str) -> str:
        return brief(self.vertex_name(vertex_id))
