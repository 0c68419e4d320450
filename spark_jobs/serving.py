"""Serving tables: what Spark passes to the web application, as Parquet. The loader upserts rows by
``key`` into the model of the same name; an older row (``as_of``) never replaces a newer one.
``json``: a document; ``message``: one of ``ingest.messages``; ``messages``: a document with
messages. Columns that rules read are in ``spark_jobs.diagnosis.samples``.
"""

import re
from dataclasses import MISSING, dataclass, fields
from textwrap import dedent
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
    """``kind`` decides the Arrow type and the Django field. ``int`` has 64 bits, ``real`` is
    double, ``instant`` UTC.
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
    **dict.fromkeys(("bytes_per_h", "bytes_per_h_low"), "bytes/h"),
}  # fmt: skip
_KINDS: dict[Any, Kind] = {
    str: "text", int: "int", float: "real", bool: "flag", Documents: "json",
}  # fmt: skip


@dataclass(frozen=True)
class ServingTable:
    """``row``: what a row describes. ``key``: identifying columns. ``final``: a flag; rows with it
    are never replaced by rows without.
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


def columns(table: str) -> tuple[Column, ...]:
    """Columns by lines ``name kind: meaning``; ``kind!`` is required. Indented lines continue the
    meaning.
    """
    kinds: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}
    declared = []
    for line in re.sub(r"\n +", " ", dedent(table)).strip().splitlines():
        column, _, meaning = line.partition(": ")
        name, kind = column.split()
        declared.append(Column(name, kinds[kind.rstrip("!")], meaning, kind.endswith("!")))
    return tuple(declared)


def columns_of(sample: type) -> tuple[Column, ...]:
    """The columns that a sample's fields declare, without the suffix ``_ms``."""
    required = {field.name for field in fields(sample) if field.default is MISSING}
    hints = get_type_hints(sample, include_extras=True)
    return tuple(_column(name, hint, name in required) for name, hint in hints.items())


def _column(name: str, hint: Any, required: bool) -> Column:
    if get_origin(hint) is not Annotated:
        raise TypeError(f"Field {name} of a sample is a column: it lacks its meaning.")
    plain, meaning, *unit = get_args(hint)
    if EPOCH_MS in unit:
        return Column(name.removesuffix("_ms"), "instant", meaning, required)
    kind = next(_KINDS[part] for part in (plain, *get_args(plain)) if part in _KINDS)
    return Column(name, kind, meaning, required)


_KEY_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("checkpoint_id", "ordinal", "window_s"), "int"),
    **dict.fromkeys(
        ("trigger_time", "ts", "at", "period_start", "window_start", "observed_at"), "instant"
    ),
}


def keyed_table(name: str, row: str, key: str, *declared: Column, final: str = "") -> ServingTable:
    """``key``: names; those not in ``declared`` become the first columns."""
    key_names, declared_names = tuple(key.split()), {column.name for column in declared}
    key_columns = (
        Column(key_name, _KEY_KINDS.get(key_name, "text"), required=True)
        for key_name in key_names
        if key_name not in declared_names
    )
    return ServingTable(name, row, key_names, (*key_columns, *declared), final)


_AS_OF = Column("as_of", "instant", "newest observation this row rests on", required=True)


def _served(name: str, row: str, key: str, *declared: Column, final: str = "") -> ServingTable:
    return keyed_table(name, row, key, *declared, _AS_OF, final=final)


JOB_CURRENT = _served(
    "job_current",
    "one job as last seen, with the columns of the fleet page",
    "cluster job_id",
    *columns("""
        name text
        state text: Flink job state as last reported; NOT_LISTED where its JobManager answers
            and lists it no more
        terminal flag: FINISHED, CANCELED or FAILED
        states json: the last states it entered, in order of time: [[epoch ms, state]]
        start_time instant
        end_time instant: of a job that is NOT_LISTED when it was last listed
        flink_version text
        parallelism int: largest of its vertices
        vertex_count int
        restarts int: since submission, as far as reported
        graph json: {"vertices": [{vertex_id, name, parallelism, max_parallelism, status,
            slot_sharing_group_id}], "edges": [{source, target, ship_strategy}]}
        checkpoint_config json: mode, interval_ms, timeout_ms, min_pause_ms, max_concurrent,
            unaligned, tolerable_failed, state_backend, …
        configuration json: cluster settings as {key: value}, secrets masked
        checkpoint_interval_ms int
        checkpoint_timeout_ms int
        last_completed_id int
        last_completed_at instant: end of the newest completed checkpoint that is not a
            savepoint
        last_completed_ms int: its end-to-end duration
        last_completed_path text: where the newest completed checkpoint of a known place was
            written
        recent_outcomes json: oldest first, at most 16: [{checkpoint_id, outcome, is_savepoint}]
        recent_total int: final checkpoints among them, savepoints left out
        recent_failed int: declined, expired or failed among them
        end_to_end_p95_ms real: over the recent completed ones
        dominant_phase text: start_delay, alignment, sync or async; null when unknown
        dominant_phase_share real: of end-to-end, over the recent completed ones
        state_bytes int: full state of the newest completed checkpoint
        checkpointed_bytes int: of the newest completed checkpoint
        pressured_share real: largest back-pressured share of any vertex in its newest window
        restored_checkpoint_id int
        restored_at instant
        restored_is_savepoint flag: by its directory, else by the type in its _metadata
        restored_path text
        flink_counts json: checkpoints and savepoints as counted by Flink since its JobManager
            leads the job, from one answer: {at: epoch ms, total, completed, failed,
            in_progress, restored}; failed includes aborted ones and, since 1.14, those refused
            before the start
        first_seen_at instant
        last_seen_at instant: when any source last showed the job
    """),
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
"""Outcomes before an end: the checkpoint has not ended, or never begun."""
REFUSAL_KIND = "trigger_refused"
"""Log events of refused triggers, which without a checkpoint id have no fact."""
PHASES = ("start_delay", "alignment", "sync", "async")

CHECKPOINT_FACT = _served(
    "checkpoint_fact",
    "one checkpoint or savepoint, from REST and log together",
    "cluster job_id checkpoint_id trigger_time",
    *columns_of(CheckpointSample),
    *columns("""
        final flag!: false only for in_progress
        exception text: stack trace of the failure, cut at 16 KiB
        sources text: which have it, joined by +: rest, log, span (Flink's spans or events)
    """),
    final="final",
)

CHECKPOINT_ROLLUP = _served(
    "checkpoint_rollup",
    "checkpoints of one job in one hour or day",
    "cluster job_id period period_start",
    *(Column(f"{outcome}_count", "int", required=True) for outcome in OUTCOMES),
    *columns("""
        savepoint_count int!
        preflight_refusals int: refusals in the log that took no checkpoint id
        end_to_end_p95_ms real: completed checkpoints, savepoints left out
        state_bytes_last int
        checkpointed_bytes_sum int
    """),
)

PRESSURE_WINDOW = _served(
    "pressure_window",
    "buffer usage and time metrics of one vertex in one window, spread over its subtasks",
    "cluster job_id vertex_id window_start window_s",
    *columns("""
        vertex_name text
        parallelism int
        samples int!: samples in the window
    """),
    *(
        Column(
            f"{metric}_{stat}", "real", f"{stat} over subtasks of each subtask's mean in the window"
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
    *columns("""
        backpressured_share real: of subtasks, back-pressured for more than half of the window
        busy_share real: of subtasks, busy for more than half of the window
        records_in_per_s real: sum over subtasks
        records_out_per_s real: sum over subtasks
        records_in_max_over_median real
        watermark_ms int: lowest over subtasks at the end of the window, epoch ms
        pending_records real: that a source has not read, at the end of the window; sum over the
            subtasks that report it
        pending_records_max real: of the subtask with the most
        pending_subtasks int: that report pending_records
        most_pending_subtask int: where none reports it, the one with the largest emit_lag_ms
        records_lag_max real: of a Kafka source: of the partition with the most
        fetch_lag_ms real: of a source: age by event time of what it fetched last, largest over
            subtasks
        emit_lag_ms real: of a source: age by event time of its last record when it emitted it,
            largest over subtasks
        watermark_lag_ms real: of a source: age of its watermark when it emitted its last
            record, largest over subtasks
        source_idle_ms real: of a source: since when the subtask with the longest wait has had
            no record
    """),
)

SIZE_TREND = _served(
    "size_trend",
    "how the full state of one job grows since its last change point",
    "cluster job_id",
    *columns_of(SizeTrend),
)

CHECKPOINT_UPLOAD = _served(
    "checkpoint_upload",
    "the upload of one checkpoint by its _metadata, against that of the snapshot before it",
    "cluster job_id checkpoint_id trigger_time",
    *columns_of(UploadedFiles),
)

LOG_EVENT = _served(
    "log_event",
    "one typed event read from a log, joined to where the task ran",
    "cluster process ts record_hash ordinal",
    *columns("""
        kind text!: one of ingest.flink_logs.patterns kinds
        level text
        job_id text
        checkpoint_id int
        vertex_id text
        vertex_name text
        subtask int: 0-based
        attempt int
        execution_id text
        container text: resource id of the TaskManager
        host text
        reason text: reason code or state transition, by kind
        fields json: everything else the pattern read
        message text: first line, cut at 2,000 characters
        detail text: stack trace, cut at 16 KiB
        file text
        offset int
    """),
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
    "checkpointed_bytes",
    "duration_ms",
    "alignment_ms",
    "path",
    "count",
    "timeout_ms",
)
"""Keys of the column ``fields`` of ``log_event``; keys with unknown values are left out."""

JOB_EXCEPTION = _served(
    "job_exception",
    "one root or concurrent exception of a job",
    "cluster job_id ts task_key exception_name",
    *columns("""
        exception_name text!
        task text
        stacktrace text: cut at 16 KiB
        host text
        taskmanager_id text
        is_root flag
    """),
)

JOB_ANNOTATION = _served(
    "job_annotation",
    "something that happened to a job and belongs on every one of its charts",
    "cluster job_id at kind subject",
    *columns("""
        label message: a few words for the chart
        detail json
    """),
)

JOB_START = _served(
    "job_start",
    "one start or restart of a job, by phases; written when all of its tasks run",
    "cluster job_id at",
    *columns("""
        kind text!: start, restart or rescale (a restart with another parallelism)
        begun_at instant: submission; for a restart, when the job became RESTARTING
        deployed_at instant!: when the deployment of its last task began
        running_at instant!: when its last task ran
        total_ms int: until its last task ran; for a restart, the downtime
        detect_ms int: before a restart, from the first failed task to the decision to restart
        graph_ms int: from the submission until the job's state was RUNNING
        cancel_ms int: for a restart, until the last task of the previous attempt ended
        wait_ms int: for a restart, from then until the job's state was RUNNING; includes
            cancel_ms if no log was read
        failed_attempts_ms int: for a restart, in deployments whose tasks failed before all ran
        slots_ms int!: until the last task had its slot
        deploy_ms int!: from then until the last task began to restore; before 1.14, until it
            ran
        restore_ms int: from then until the last task ran; null before 1.14
        restarts int: how many it took until all tasks ran; null for a first start
        failure text: innermost cause of what failed before a restart
        lost_taskmanagers int: since all tasks ran before
        restored_checkpoint_id int: of the snapshot that it began with
        restored_is_savepoint flag
        restored_path text: may be of another job
        tasks int!: deployed
        taskmanagers int: of these tasks
        hosts int
        stragglers int!: tasks that took three times as long as the median of their vertex, and
            a second longer
        held_up_ms int!: from when all other tasks ran until the last straggler ran
        reported_by text!: rest or log
        detail json!: {slowest: of the slowest tasks, with the ms of each phase, and of deploy
            plus restore (own_ms); initialization: of Flink's span, where it was pushed}
    """),
)

JOB_HOST = _served(
    "job_host",
    "the subtasks that one job runs, or ran, on one host, from the placement in REST",
    "cluster job_id host",
    *columns("""
        subtasks int!: in the newest placement of each vertex; of a host that the job left, the
            last ones there
        slots int!: that these subtasks need at least: the most of one vertex
        vertices int!: of these subtasks
        first_seen_at instant!
        left_at instant: when another placement was first seen
    """),
)

HOST_EVENT_KINDS = ("decline", "expired", "failure")

HOST_EVENT = _served(
    "host_event",
    "something that happened to one job on one host",
    "cluster job_id host at kind subject",
    *columns("""
        taskmanager_id text
        vertex_name text: its id where its name is unknown; of an expired checkpoint all that
            had not acknowledged here
        subtask int: 0-based
        checkpoint_id int
        trigger_time instant: of that checkpoint
        detail text: reason of a decline, class of an exception
    """),
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
"""How a lost TaskManager ended, most specific first."""
TASKMANAGER_ENDS = (*TASKMANAGER_LOSSES, "released", "unlisted")

TASKMANAGER_LIFE = _served(
    "taskmanager_life",
    "one life of a TaskManager, from its registration to its end: lost and living "
    "TaskManagers are counted by these rows",
    "cluster taskmanager_id life",
    *columns("""
        life int!: 0 for the first process under this id, 1 for the next
        host text!: where no source names one, the pod or container in the id
        born_at instant: first sign of it: its registration or a heartbeat
        last_seen_at instant: its newest heartbeat or sample; to five minutes while it lives
        ended_at instant: when its end was noticed first; null while it lives
        ended_by text: lost: oom_killed, evicted, exited, shut_down, container_lost,
            heartbeat_timeout or unreachable; not lost: released (idle) or unlisted
        exit_code int: of its container, as YARN or Kubernetes reports it
        detail text: what Flink logged of its end, cut at 300 characters
        slots int
        process_memory_bytes int: configured total; null before 1.12
        heap_max_bytes int
        managed_memory_bytes int: configured
        network_memory_bytes int: configured
    """),
)

SKIPPED_INPUT = _served(
    "skipped_input",
    "one input that was skipped, and why",
    "cluster observed_at subject reason",
    *columns("""
        source text
        detail text
    """),
)

FINDING_OCCURRENCE = _served(
    "finding_occurrence",
    "what one rule found of one subject in one judged window; those close together make one "
    "finding",
    "cluster job_id rule subject_id window_start",
    *columns("""
        began_at instant!: first evidence, else the beginning of the window or of the job
        seen_at instant!: newest evidence, at most the instant of judging
        job_name text
        severity text!: info, warning or critical
        confidence text!: low, medium or high
        subject_kind text!: job, vertex, subtask, taskmanager, checkpoint, cluster or root
        subject message!: its name for people
        title message!
        cause message!
        next_step message!
        evidence messages!: [{name, value, unit, threshold, comparison, threshold_key, note}],
            the figure that matters most first
        related messages!: [{kind, subject, note, path}]
        data messages!: what pages draw, by rule
    """),
)

JOB_JUDGEMENT = _served(
    "job_judgement",
    "which windows of one job a run judged; what was found in them earlier is replaced by what "
    "the run found",
    "cluster job_id",
    *columns("""
        judged_to instant!: when the newest of them was judged
        windows json!: [{first, last}]: starts of judged windows as epoch s, neighbours as one
            run
        covered json!: [{first, last}]: the same of all that were ever judged, the newest 500
            runs
        unknowns messages!: [{rule, missing}] of the newest of them
    """),
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
