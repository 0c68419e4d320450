"""Serving tables: what Spark passes to the web application. Spark jobs write these as Parquet, the
web's loader upserts them by ``key`` into the model of the same name. A ``json`` column holds a JSON
document, a ``message`` column one message (:mod:`ingest.messages`), a ``messages`` column a
document with messages in it. Units are in the names. ``as_of`` is the newest observation of a row:
an older row never replaces a newer one. Columns that rules also read are declared in samples
(:mod:`spark_jobs.diagnosis.samples`).
"""

from dataclasses import MISSING, dataclass, fields
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from spark_jobs.diagnosis.samples import (
    EPOCH_MS,
    CheckpointSample,
    Documents,
    SizeTrend,
    UploadedFiles,
)

Kind = Literal["text", "int", "real", "flag", "instant", "json", "message", "messages"]


@dataclass(frozen=True)
class Column:
    """``kind`` decides the Spark type and the Django field: text, 64-bit int, double, bool, UTC ms,
    JSON text.
    """

    name: str
    kind: Kind
    meaning: str = ""
    required: bool = False

    @property
    def unit(self) -> str:
        return next((unit for ending, unit in _UNITS.items() if self.name.endswith(ending)), "")

    @property
    def about(self) -> str:
        return " ".join(filter(None, (self.meaning, self.unit and f"({self.unit})")))


_UNITS = {
    "_ms": "ms", "_bytes": "bytes", "_share": "ratio", "_ratio": "ratio", "_per_s": "1/s",
    **dict.fromkeys(("bytes_per_h", "bytes_per_h_low", "bytes_per_h_high"), "bytes/h"),
}  # fmt: skip
_KINDS: dict[Any, Kind] = {
    str: "text", int: "int", float: "real", bool: "flag", Documents: "json",
}  # fmt: skip


@dataclass(frozen=True)
class ServingTable:
    """``key`` identifies a row.

    ``final``: the flag column that protects a settled row, if any.
    """

    name: str
    row: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    final: str = ""

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}


def columns_of(sample: type) -> tuple[Column, ...]:
    """The columns that a sample's fields declare; instants are without ``_ms``."""
    required = {field.name for field in fields(sample) if field.default is MISSING}
    hints = get_type_hints(sample, include_extras=True)
    return tuple(_column(name, hint, name in required) for name, hint in hints.items())


def _column(name: str, hint: Any, required: bool) -> Column:
    if get_origin(hint) is not Annotated:
        raise TypeError(f"Field {name} of a sample is a column: it lacks its meaning.")
    plain, meaning, *unit = get_args(hint)
    if EPOCH_MS in unit:
        return Column(name.removesuffix("_ms"), "instant", meaning, required)
    known = (kind for kind in (plain, *get_args(plain)) if kind is not NoneType)
    return Column(name, next(_KINDS[kind] for kind in known if kind in _KINDS), meaning, required)


def _key(*names: str) -> tuple[Column, ...]:
    kinds: dict[str, Kind] = {
        "checkpoint_id": "int",
        "trigger_time": "instant",
        "ts": "instant",
        "at": "instant",
        "ordinal": "int",
        "period_start": "instant",
        "window_start": "instant",
        "window_s": "int",
        "observed_at": "instant",
    }
    return tuple(Column(name, kinds.get(name, "text"), required=True) for name in names)


_AS_OF = Column("as_of", "instant", "newest observation this row rests on", required=True)

JOB_CURRENT = ServingTable(
    "job_current",
    "one job as last seen, with the columns of the fleet page",
    ("cluster", "job_id"),
    (
        *_key("cluster", "job_id"),
        Column("name", "text"),
        Column(
            "state",
            "text",
            "Flink job state as last reported; NOT_LISTED where its JobManager answers and lists "
            "it no more",
        ),
        Column("terminal", "flag", "FINISHED, CANCELED or FAILED"),
        Column(
            "states", "json", "the last states it entered, in order of time: [[epoch ms, state]]"
        ),
        Column("start_time", "instant"),
        Column("end_time", "instant", "of a job that is NOT_LISTED when it was last listed"),
        Column("flink_version", "text"),
        Column("parallelism", "int", "largest of its vertices"),
        Column("vertex_count", "int"),
        Column("restarts", "int", "since submission, as far as reported"),
        Column(
            "graph",
            "json",
            (
                '{"vertices": [{vertex_id, name, parallelism, max_parallelism, status, '
                "slot_sharing_group_id}], "
                '"edges": [{source, target, ship_strategy}]}'
            ),
        ),
        Column(
            "checkpoint_config",
            "json",
            (
                "mode, interval_ms, timeout_ms, min_pause_ms, max_concurrent, unaligned, "
                "tolerable_failed, state_backend, …"
            ),
        ),
        Column("configuration", "json", "cluster settings as {key: value}, secrets masked"),
        Column("checkpoint_interval_ms", "int"),
        Column("checkpoint_timeout_ms", "int"),
        Column("last_completed_id", "int"),
        Column(
            "last_completed_at",
            "instant",
            "end of the newest completed checkpoint that is not a savepoint",
        ),
        Column("last_completed_ms", "int", "its end-to-end duration"),
        Column(
            "last_completed_path",
            "text",
            "where the newest completed checkpoint of a known place was written",
        ),
        Column("last_outcome", "text", "of the newest final checkpoint"),
        Column(
            "recent_outcomes",
            "json",
            "oldest first, at most 16: [{checkpoint_id, outcome, is_savepoint}]",
        ),
        Column("recent_total", "int", "final checkpoints among them, savepoints left out"),
        Column("recent_failed", "int", "declined, expired or failed among them"),
        Column("end_to_end_p95_ms", "real", "over the recent completed ones"),
        Column(
            "dominant_phase", "text", "start_delay, alignment, sync or async; null when unknown"
        ),
        Column("dominant_phase_share", "real", "of end-to-end, over the recent completed ones"),
        Column("state_bytes", "int", "full state of the newest completed checkpoint"),
        Column("checkpointed_bytes", "int", "of the newest completed checkpoint"),
        Column(
            "pressured_share",
            "real",
            "largest back-pressured share of any vertex in its newest window",
        ),
        Column("restored_checkpoint_id", "int"),
        Column("restored_at", "instant"),
        Column(
            "restored_is_savepoint", "flag", "by its directory, else by the type in its _metadata"
        ),
        Column("restored_path", "text"),
        Column(
            "flink_counts",
            "json",
            "checkpoints and savepoints as counted by Flink since its JobManager leads the job, "
            "from one answer: {at: epoch ms, total, completed, failed, in_progress, restored}; "
            "failed includes aborted ones and, since 1.14, those refused before the start",
        ),
        Column("first_seen_at", "instant"),
        Column("last_seen_at", "instant", "when any source last showed the job"),
        _AS_OF,
    ),
)

OUTCOMES = (
    "completed",
    "declined",
    "expired",
    "subsumed",
    "aborted",
    "failed",
    "preflight",
    "in_progress",
)
FAILED_OUTCOMES = ("declined", "expired", "failed")
UNSETTLED_OUTCOMES = ("in_progress", "preflight")
"""Not ended, or never begun: they say nothing about how checkpoints end."""
REFUSAL_KIND = "trigger_refused"
"""Log events of triggers that were refused; those without a checkpoint id have no fact."""
PHASES = ("start_delay", "alignment", "sync", "async")

CHECKPOINT_FACT = ServingTable(
    "checkpoint_fact",
    "one checkpoint or savepoint, from REST and log together",
    ("cluster", "job_id", "checkpoint_id", "trigger_time"),
    (
        *_key("cluster", "job_id"),
        *columns_of(CheckpointSample),
        Column("final", "flag", "false only for in_progress", required=True),
        Column("exception", "text", "stack trace of the failure, cut at 16 KiB"),
        Column("sources", "text", "which sources have it: rest, log or rest+log"),
        _AS_OF,
    ),
    final="final",
)

CHECKPOINT_ROLLUP = ServingTable(
    "checkpoint_rollup",
    "checkpoints of one job in one hour or day",
    ("cluster", "job_id", "period", "period_start"),
    (
        *_key("cluster", "job_id", "period", "period_start"),
        *(Column(f"{outcome}_count", "int", required=True) for outcome in OUTCOMES),
        Column("savepoint_count", "int", required=True),
        Column("preflight_refusals", "int", "refusals in the log that took no checkpoint id"),
        *(
            Column(f"end_to_end_p{p}_ms", "real", "completed checkpoints, savepoints left out")
            for p in (50, 95, 99)
        ),
        *(Column(f"{phase}_p95_ms", "real") for phase in PHASES),
        Column("state_bytes_last", "int"),
        Column("checkpointed_bytes_sum", "int"),
        _AS_OF,
    ),
)

PRESSURE_WINDOW = ServingTable(
    "pressure_window",
    "buffer usage and time metrics of one vertex in one window, spread over its subtasks",
    ("cluster", "job_id", "vertex_id", "window_start", "window_s"),
    (
        *_key("cluster", "job_id", "vertex_id", "window_start", "window_s"),
        Column("vertex_name", "text"),
        Column("parallelism", "int"),
        Column("samples", "int", "samples in the window", required=True),
        *(
            Column(
                f"{metric}_{stat}",
                "real",
                f"{stat} over subtasks of each subtask's mean in the window",
            )
            for metric in (
                "in_pool",
                "out_pool",
                "busy_ms_per_s",
                "backpressured_ms_per_s",
                "idle_ms_per_s",
            )
            for stat in ("p50", "max", "mean")
        ),
        Column(
            "backpressured_share",
            "real",
            "share of subtasks back-pressured for more than half of the window",
        ),
        Column("busy_share", "real", "share of subtasks busy for more than half of the window"),
        Column("records_in_per_s", "real", "sum over subtasks"),
        Column("records_out_per_s", "real", "sum over subtasks"),
        Column("records_in_max_over_median", "real"),
        Column("hottest_subtask", "int", "largest busy time; before 1.13 largest input rate"),
        Column("watermark_ms", "int", "lowest over subtasks at the end of the window, epoch ms"),
        Column(
            "pending_records",
            "real",
            "of a source: records that it has not read, at the end of the window; sum over the "
            "subtasks that report it, null where none does",
        ),
        Column("pending_records_max", "real", "of the subtask with the most"),
        Column("pending_subtasks", "int", "number of subtasks that report pending_records"),
        Column(
            "most_pending_subtask",
            "int",
            "with the most; where none reports it, the largest emit_lag_ms",
        ),
        Column(
            "records_lag_max", "real", "of a Kafka source: records of the partition with the most"
        ),
        Column(
            "fetch_lag_ms",
            "real",
            "of a source: age by event time of what it fetched last, largest over subtasks",
        ),
        Column(
            "emit_lag_ms",
            "real",
            "of a source: age by event time of its last record when it emitted it, largest over "
            "subtasks; null before the first record with a timestamp",
        ),
        Column(
            "watermark_lag_ms",
            "real",
            "of a source: age of its watermark when it emitted its last record, largest over subtasks",
        ),
        Column(
            "source_idle_ms",
            "real",
            "of a source: since when the subtask with the longest wait has had no record",
        ),
        _AS_OF,
    ),
)

SIZE_TREND = ServingTable(
    "size_trend",
    "how the full state of one job grows since its last change point",
    ("cluster", "job_id"),
    (
        *_key("cluster", "job_id"),
        *columns_of(SizeTrend),
        _AS_OF,
    ),
)

CHECKPOINT_UPLOAD = ServingTable(
    "checkpoint_upload",
    "the upload of one checkpoint by its _metadata, against that of the snapshot before it",
    ("cluster", "job_id", "checkpoint_id", "trigger_time"),
    (
        *_key("cluster", "job_id"),
        *columns_of(UploadedFiles),
        _AS_OF,
    ),
)

LOG_EVENT = ServingTable(
    "log_event",
    "one typed event read from a log, joined to where the task ran",
    ("cluster", "process", "ts", "record_hash", "ordinal"),
    (
        *_key("cluster", "process", "ts", "record_hash", "ordinal"),
        Column("kind", "text", "one of ingest.flink_logs.patterns kinds", required=True),
        Column("level", "text"),
        Column("job_id", "text"),
        Column("checkpoint_id", "int"),
        Column("vertex_id", "text"),
        Column("vertex_name", "text"),
        Column("subtask", "int", "0-based"),
        Column("attempt", "int"),
        Column("execution_id", "text"),
        Column("container", "text", "resource id of the TaskManager"),
        Column("host", "text"),
        Column("reason", "text", "reason code or state transition, by kind"),
        Column("fields", "json", "everything else the pattern read"),
        Column("message", "text", "first line, cut at 2,000 characters"),
        Column("detail", "text", "stack trace, cut at 16 KiB"),
        Column("file", "text"),
        Column("offset", "int"),
        _AS_OF,
    ),
)

LOG_EVENT_FIELDS = (
    "job_name",
    "checkpoint_type",
    "is_savepoint",
    "trigger_time",
    "parallelism",
    "from_state",
    "to_state",
    "reason_text",
    "state_bytes",
    "duration_ms",
    "alignment_ms",
    "path",
    "count",
    "timeout_ms",
)
"""Further facts of a line besides the columns of ``log_event``: members of ``fields``, without
unknown ones.
"""

JOB_EXCEPTION = ServingTable(
    "job_exception",
    "one root or concurrent exception of a job",
    ("cluster", "job_id", "ts", "task_key", "exception_name"),
    (
        *_key("cluster", "job_id", "ts", "task_key"),
        Column("exception_name", "text", required=True),
        Column("task", "text"),
        Column("stacktrace", "text", "cut at 16 KiB"),
        Column("host", "text"),
        Column("taskmanager_id", "text"),
        Column("is_root", "flag"),
        _AS_OF,
    ),
)

JOB_ANNOTATION = ServingTable(
    "job_annotation",
    "something that happened to a job and belongs on every one of its charts",
    ("cluster", "job_id", "at", "kind", "subject"),
    (
        *_key("cluster", "job_id", "at", "kind", "subject"),
        Column("label", "message", "a few words for the chart"),
        Column("detail", "json"),
        _AS_OF,
    ),
)

JOB_START = ServingTable(
    "job_start",
    "one start or restart of a job, by phases; written when all of its tasks run",
    ("cluster", "job_id", "at"),
    (
        *_key("cluster", "job_id", "at"),
        Column(
            "kind",
            "text",
            "start, restart or rescale (a restart with another parallelism)",
            required=True,
        ),
        Column("begun_at", "instant", "submission; for a restart, when the job became RESTARTING"),
        Column(
            "deployed_at", "instant", "when the deployment of its last task began", required=True
        ),
        Column("running_at", "instant", "when its last task ran", required=True),
        Column(
            "total_ms",
            "int",
            "from its beginning until its last task ran; for a restart, the downtime",
        ),
        Column(
            "detect_ms",
            "int",
            "before a restart, from the first failed task to the decision to restart",
        ),
        Column("graph_ms", "int", "from the submission until the job's state was RUNNING"),
        Column(
            "cancel_ms", "int", "for a restart, until the last task of the previous attempt ended"
        ),
        Column(
            "wait_ms",
            "int",
            (
                "for a restart, from then until the job's state was RUNNING; includes cancel_ms if "
                "no log was read"
            ),
        ),
        Column(
            "failed_attempts_ms",
            "int",
            "for a restart, in deployments whose tasks failed before all ran",
        ),
        Column("slots_ms", "int", "until the last task had its slot", required=True),
        Column(
            "deploy_ms",
            "int",
            "from then until the last task began to restore; before 1.14, until it ran",
            required=True,
        ),
        Column("restore_ms", "int", "from then until the last task ran; null before 1.14"),
        Column("restarts", "int", "how many it took until all tasks ran; null for a first start"),
        Column("failure", "text", "innermost cause of what failed before a restart"),
        Column("lost_taskmanagers", "int", "since all tasks ran before"),
        Column("restored_checkpoint_id", "int", "of the snapshot that it began with"),
        Column("restored_is_savepoint", "flag"),
        Column("restored_path", "text", "may be of another job"),
        Column("tasks", "int", "number of deployed tasks", required=True),
        Column("taskmanagers", "int", "number of TaskManagers of these tasks"),
        Column("hosts", "int"),
        Column(
            "stragglers",
            "int",
            (
                "tasks that took three times as long as the median task of their vertex, and a "
                "second longer"
            ),
            required=True,
        ),
        Column(
            "held_up_ms",
            "int",
            "time from when all other tasks ran until the last straggler ran",
            required=True,
        ),
        Column("reported_by", "text", "rest or log", required=True),
        Column(
            "detail",
            "json",
            "the slowest 12 of each, with median and largest ms of each phase, and of deploy plus "
            "restore (own_ms): "
            "{vertices, taskmanagers, hosts, slowest: the slowest 1 % of tasks and the stragglers}",
            required=True,
        ),
        _AS_OF,
    ),
)

JOB_HOST = ServingTable(
    "job_host",
    "the subtasks that one job runs, or ran, on one host, from the placement in REST",
    ("cluster", "job_id", "host"),
    (
        *_key("cluster", "job_id", "host"),
        Column(
            "subtasks",
            "int",
            (
                "in the newest placement of each vertex; on a host that the job has left, the last "
                "ones there"
            ),
            required=True,
        ),
        Column(
            "slots",
            "int",
            (
                "least number of slots of these subtasks: the most of one vertex, because subtasks "
                "of one vertex do not share a slot"
            ),
            required=True,
        ),
        Column("vertices", "int", "number of vertices of these subtasks", required=True),
        Column("first_seen_at", "instant", required=True),
        Column(
            "left_at",
            "instant",
            "when another placement was first seen; null while the job runs there",
        ),
        _AS_OF,
    ),
)

HOST_EVENT_KINDS = ("decline", "expired", "failure")

HOST_EVENT = ServingTable(
    "host_event",
    "something that happened to one job on one host",
    ("cluster", "job_id", "host", "at", "kind", "subject"),
    (
        *_key("cluster", "job_id", "host", "at", "kind", "subject"),
        Column("taskmanager_id", "text"),
        Column(
            "vertex_name",
            "text",
            (
                "its id where its name is unknown; of an expired checkpoint all that had not "
                "acknowledged here"
            ),
        ),
        Column("subtask", "int", "0-based"),
        Column("checkpoint_id", "int"),
        Column("trigger_time", "instant", "of that checkpoint"),
        Column("detail", "text", "reason of a decline, class of an exception"),
        _AS_OF,
    ),
)

TASKMANAGER_LOSSES = (
    "oom_killed",
    "evicted",
    "exited",
    "shut_down",
    "container_lost",
    "heartbeat_timeout",
    "unreachable",
)
"""How a lost TaskManager ended, the most specific first."""
TASKMANAGER_ENDS = (*TASKMANAGER_LOSSES, "released", "unlisted")

TASKMANAGER_LIFE = ServingTable(
    "taskmanager_life",
    "one life of a TaskManager, from its registration to its end: lost and living "
    "TaskManagers are counted by these rows",
    ("cluster", "taskmanager_id", "life"),
    (
        *_key("cluster", "taskmanager_id"),
        Column(
            "life", "int", "0 for the first process under this id, 1 for the next", required=True
        ),
        Column(
            "host",
            "text",
            "where no source names one, the pod or container in the id",
            required=True,
        ),
        Column("born_at", "instant", "first sign of it: its registration or a heartbeat"),
        Column(
            "last_seen_at",
            "instant",
            "its newest heartbeat or sample; to five minutes while it lives",
        ),
        Column("ended_at", "instant", "when its end was noticed first; null while it lives"),
        Column(
            "ended_by",
            "text",
            "lost: oom_killed, evicted, exited, shut_down, container_lost, heartbeat_timeout or "
            "unreachable; not lost: released (idle) or unlisted (no source shows it any more)",
        ),
        Column("exit_code", "int", "of its container, as YARN or Kubernetes reports it"),
        Column("detail", "text", "what Flink logged of its end, cut at 300 characters"),
        Column("slots", "int"),
        Column("process_memory_bytes", "int", "configured total; null before 1.12"),
        Column("heap_max_bytes", "int"),
        Column("managed_memory_bytes", "int", "configured"),
        Column("network_memory_bytes", "int", "configured"),
        _AS_OF,
    ),
)

SKIPPED_INPUT = ServingTable(
    "skipped_input",
    "one input that was skipped, and why",
    ("cluster", "observed_at", "subject", "reason"),
    (
        *_key("cluster", "observed_at", "subject", "reason"),
        Column("source", "text"),
        Column("detail", "text"),
        _AS_OF,
    ),
)

FINDING_OCCURRENCE = ServingTable(
    "finding_occurrence",
    (
        "what one rule found of one subject in one judged window; those close together make one "
        "finding"
    ),
    ("cluster", "job_id", "rule", "subject_id", "window_start"),
    (
        *_key("cluster", "job_id", "rule", "subject_id", "window_start"),
        Column(
            "began_at",
            "instant",
            "first evidence, else the beginning of the window or of the job",
            required=True,
        ),
        Column(
            "seen_at", "instant", "newest evidence, at most the instant of judging", required=True
        ),
        Column("job_name", "text"),
        Column("severity", "text", "info, warning or critical", required=True),
        Column("confidence", "text", "low, medium or high", required=True),
        Column(
            "subject_kind",
            "text",
            "job, vertex, subtask, taskmanager, checkpoint, cluster or root",
            required=True,
        ),
        Column("subject", "message", "its name for people", required=True),
        Column("title", "message", required=True),
        Column("cause", "message", required=True),
        Column("next_step", "message", required=True),
        Column(
            "evidence",
            "messages",
            (
                "[{name, value, unit, threshold, comparison, threshold_key, note}], the "
                "figure that matters most first"
            ),
            required=True,
        ),
        Column("related", "messages", "[{kind, subject, note, path}]", required=True),
        Column("data", "messages", "what pages draw, by rule", required=True),
        _AS_OF,
    ),
)

JOB_JUDGEMENT = ServingTable(
    "job_judgement",
    (
        "which windows of one job a run judged; what was found in them earlier is replaced by what "
        "the run found"
    ),
    ("cluster", "job_id"),
    (
        *_key("cluster", "job_id"),
        Column(
            "judged_to", "instant", "instant at which the newest of them was judged", required=True
        ),
        Column(
            "windows",
            "json",
            "[{first, last}]: starts of judged windows as epoch s, neighbours as one run",
            required=True,
        ),
        Column(
            "covered",
            "json",
            "[{first, last}]: the same of all that were ever judged, the newest 500 runs",
            required=True,
        ),
        Column("unknowns", "messages", "[{rule, missing}] of the newest of them", required=True),
        _AS_OF,
    ),
)

SERVING_TABLES: dict[str, ServingTable] = {
    table.name: table
    for table in (
        JOB_CURRENT,
        CHECKPOINT_FACT,
        CHECKPOINT_ROLLUP,
        PRESSURE_WINDOW,
        SIZE_TREND,
        CHECKPOINT_UPLOAD,
        LOG_EVENT,
        JOB_EXCEPTION,
        JOB_ANNOTATION,
        JOB_START,
        JOB_HOST,
        HOST_EVENT,
        TASKMANAGER_LIFE,
        SKIPPED_INPUT,
        FINDING_OCCURRENCE,
        JOB_JUDGEMENT,
    )
}
