"""The pattern table: every log line that becomes a typed event.

An entry is tried on the first line of a message when that line begins with ``starts`` or holds
``contains``; the first entry whose ``regex`` matches decides. Rules for an
expression:

* the same meaning in every engine and alphabet: ``[0-9]`` and ``[^ ]`` instead of ``\\d`` and
  ``\\S``, ``[^\\n]`` instead of ``.``, no ``$``;
* linear: names of jobs and tasks may hold anything, so at most one unbounded group before each
  literal;
* ``{piece:field}`` is a group that feeds a field of the event; a field named twice takes whichever
  group took part;
* ``subtask_number`` is the 1-based ``i`` of ``(i/p)``; it becomes the 0-based ``subtask``.

To add a pattern: copy the nearest entry, and add a line that it reads to
``tests/ingest/flink_logs/example_lines.py``.
"""

import re
from dataclasses import dataclass

from ingest.flink_logs import templates as t


@dataclass(frozen=True, slots=True)
class Pattern:
    """Group *n* of ``regex`` feeds ``fields[n-1]``. Exactly one of ``starts`` and ``contains`` is
    set.

    ``reason``: a code that the line itself implies. ``below``: a field, and an expression for the
    lines below the first, which must match; these lines are not kept. ``in_trace``: the same for
    lines that are kept, where it need not match. ``tolerant`` is tried if no ``regex`` matches: ids
    and locations may have any form.
    """

    kind: str
    versions: str
    regex: str
    fields: tuple[str, ...]
    starts: str = ""
    contains: str = ""
    reason: str = ""
    below: tuple[str, str] | None = None
    in_trace: tuple[str, str] | None = None
    tolerant: str = ""
    tolerant_fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TracePattern:
    """An event that only the stack trace shows, where no :class:`Pattern` matches; the leftmost
    ``piece`` decides.
    """

    kind: str
    piece: str

    @property
    def reason(self) -> str:
        return self.kind.upper()


STORE_RETRIED = "store_retried"
"""Nothing has failed yet."""

_LITERAL = re.compile(r"(?:(?:[^][\\^$.|?*+(){}]|\\[^A-Za-z0-9])(?![*+?{]))*")


def _pattern(
    kind: str,
    versions: str,
    line: str,
    *,
    starts: str = "",
    contains: str = "",
    reason: str = "",
    below: tuple[str, str] | None = None,
    in_trace: tuple[str, str] | None = None,
) -> Pattern:
    """``starts`` is what ``line`` literally begins with, unless given."""
    literal = _LITERAL.match(line)
    if literal and not contains:
        starts = starts or re.sub(r"\\(.)", r"\1", literal[0])
    any_form = line
    for piece, of_any_form in t.ANY_FORM:
        any_form = any_form.replace(piece, of_any_form)
    strict, tolerant = (_regex(form) for form in (line, any_form))
    return Pattern(
        kind,
        versions,
        strict,
        _names(line),
        starts,
        contains,
        reason,
        below,
        in_trace,
        tolerant,
        _names(any_form),
    )


def _regex(line: str) -> str:
    return "^" + re.sub(r"\?P<\w+>", "", line) + ("" if line.endswith(f"{t.REST})") else r"[^\n]*")


def _names(line: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\?P<(\w+)>", line))


_TASK_PATTERNS = (
    _pattern(
        "task_state",
        "1.9+",
        rf"{t.TASK_ATTEMPT} \({t.EXECUTION}\) switched from {t.STATE:from_state} to "
        rf"{t.STATE:to_state}(?: on {t.LOCATION_OR_NONE}| with failure cause:(?: "
        rf"{t.REST:reason_text})?)?",
        contains=" switched from ",
    ),
    _pattern(
        "job_state",
        "1.9+",
        rf"Job {t.ANY:job_name} \({t.JOB}\) switched from state {t.STATE:from_state} to "
        rf"{t.STATE:to_state}",
        contains=" switched from state ",
    ),
    _pattern(
        # If it was unaligned, barriers are still to come: Flink prints 0 for what is not known yet.
        "checkpoint_sync_done",
        "1.9+ DEBUG",
        rf"{t.TASK_ATTEMPT} - finished synchronous part of checkpoint {t.CHECKPOINT}\. "
        rf"Alignment duration: (?:-?[0-9]+ ms, snapshot duration {t.SIGNED_MS:duration_ms} ms, "
        rf"is unaligned checkpoint : true|{t.MS:alignment_ms} ms, snapshot duration "
        rf"{t.SIGNED_MS:duration_ms} ms)",
        contains=" part of checkpoint ",
    ),
    _pattern(
        "checkpoint_sync_failed",
        "1.11+ DEBUG",
        rf"{t.TASK_ATTEMPT} - did NOT finish synchronous part of checkpoint {t.CHECKPOINT}",
        contains=" part of checkpoint ",
    ),
    _pattern(
        "checkpoint_async_started",
        "1.12+ DEBUG",
        rf"{t.TASK_ATTEMPT} - started executing asynchronous part of checkpoint "
        rf"{t.CHECKPOINT}\. Asynchronous start delay: {t.SIGNED_MS:duration_ms} ms",
        contains=" part of checkpoint ",
    ),
    _pattern(
        "checkpoint_async_done",
        "1.11+ DEBUG",
        rf"{t.TASK_ATTEMPT} - finished asynchronous part of checkpoint {t.CHECKPOINT}\. "
        rf"Asynchronous duration: {t.SIGNED_MS:duration_ms} ms",
        contains=" part of checkpoint ",
    ),
    _pattern(
        "checkpoint_async_failed",
        "1.11+",
        rf"{t.TASK_ATTEMPT} - asynchronous part of checkpoint {t.CHECKPOINT} could not be "
        rf"completed\.",
        contains=" part of checkpoint ",
    ),
    _pattern(
        # The task was cancelled or the checkpoint aborted while it ran.
        "checkpoint_async_failed",
        "1.11+ DEBUG",
        rf"{t.TASK_ATTEMPT} - asynchronous part of checkpoint {t.CHECKPOINT} could not be "
        rf"completed because it was closed before\.",
        contains=" part of checkpoint ",
    ),
    _pattern(
        # Its checkpoint is named by the directory only, that of a savepoint not at all; its job
        # follows from the task.
        "backend_sync_done",
        "1.9+ DEBUG",
        rf"[A-Za-z ]{{1,80}} \({t.CHECKPOINT_LOCATION}, synchronous part\) in thread "
        rf"Thread\[(?:Async calls on )?{t.TASK} "
        rf"\({t.SUBTASK}\)(?:#{t.ATTEMPT})?,[0-9]{{1,2}},[^\],\n]*\] took {t.MS:duration_ms} ms",
        contains=" part) in thread ",
    ),
    _pattern(
        "backend_async_done",
        "1.9+ DEBUG",
        rf"[A-Za-z ]{{1,80}} \({t.JOB_LOCATION}, asynchronous part\) in thread [^\n]*?\] took "
        rf"{t.MS:duration_ms} ms",
        contains=" part) in thread ",
    ),
    _pattern(
        "barriers_aligned",
        "1.13+ DEBUG",
        rf"{t.TASK_ATTEMPT} \({t.EXECUTION}\): All the channels are aligned for checkpoint "
        rf"{t.CHECKPOINT}",
        contains=": All the channels are aligned for checkpoint ",
    ),
    _pattern(
        "barrier_skipped",
        "1.13+",
        rf"{t.TASK_ATTEMPT} \({t.EXECUTION}\): Received checkpoint barrier for checkpoint "
        rf"{t.INT:count} before completing current checkpoint {t.CHECKPOINT}",
        contains=": Received checkpoint barrier for checkpoint ",
    ),
    _pattern(
        "region_restart",
        "1.9+",
        rf"{t.INT:count} tasks (?:will|should) be restarted to recover the failed task "
        rf"{t.EXECUTION}",
        contains=" be restarted to recover ",
    ),
    _pattern(
        "global_restart",
        "1.16+",
        rf"{t.INT:count} tasks will be restarted to recover from a global failure",
        contains=" be restarted to recover ",
    ),
)

_CHECKPOINT_PATTERNS = (
    _pattern(
        "checkpoint_triggered",
        "1.9+",
        rf"Triggering checkpoint {t.CHECKPOINT}(?: \(type={t.CHECKPOINT_TYPE}\))? @ "
        rf"{t.INT:trigger_time} for job {t.JOB}",
    ),
    _pattern(
        "checkpoint_completed",
        "1.9+",
        rf"Completed checkpoint {t.CHECKPOINT} for job {t.JOB} \({t.INT:state_bytes} bytes(?:, "
        rf"checkpointDuration=| in ){t.MS:duration_ms} ms",
    ),
    _pattern(
        "checkpoint_acknowledged",
        "1.9+ DEBUG",
        rf"Received acknowledge message for checkpoint {t.CHECKPOINT} from task {t.EXECUTION} "
        rf"of job {t.JOB} at {t.LOCATION_OR_NONE}",
    ),
    _pattern(
        "checkpoint_declined",
        "1.9+",
        rf"Decline checkpoint {t.CHECKPOINT} by task {t.EXECUTION} of job {t.JOB}(?: at "
        rf"{t.LOCATION_OR_NONE})?",
    ),
    _pattern(
        "checkpoint_expired",
        "1.9+",
        rf"Checkpoint {t.CHECKPOINT} of job {t.JOB} expired before completing",
        reason="CHECKPOINT_EXPIRED",
    ),
    _pattern(
        # Up to 1.8 without "task" and without the host.
        "late_message",
        "1.5+",
        rf"Received late message for now expired checkpoint attempt {t.CHECKPOINT} from "
        rf"(?:task )?{t.EXECUTION} of job {t.JOB}(?: at {t.LOCATION_OR_NONE})?",
    ),
    _pattern(
        "late_decline",
        "1.9+ DEBUG",
        rf"Received another decline message for now expired checkpoint attempt {t.CHECKPOINT} "
        rf"from task {t.EXECUTION} of job {t.JOB} at {t.LOCATION_OR_NONE}(?: : "
        rf"{t.REST:reason_text})?",
    ),
    _pattern(
        "unknown_checkpoint_message",
        "1.9+ DEBUG",
        rf"Received (?:decline )?message for an? unknown (?:\(too old\?\) )?checkpoint "
        rf"(?:attempt )?{t.CHECKPOINT} from task {t.EXECUTION} of job {t.JOB} at "
        rf"{t.LOCATION_OR_NONE}(?: : {t.REST:reason_text})?",
        starts="Received message for an unknown checkpoint ",
    ),
    _pattern(
        "unknown_checkpoint_message",
        "1.9+ DEBUG",
        rf"Received decline message for unknown \(too old\?\) checkpoint attempt "
        rf"{t.CHECKPOINT} from task {t.EXECUTION} of job {t.JOB} at {t.LOCATION_OR_NONE}(?: : "
        rf"{t.REST:reason_text})?",
    ),
    _pattern(
        "acknowledge_failed",
        "1.9+",
        rf"Could not acknowledge the checkpoint {t.CHECKPOINT} for task {t.EXECUTION} of job "
        rf"{t.JOB} at {t.LOCATION_OR_NONE}(?:, because {t.ANY:reason_text}\. Discarding)?",
    ),
    _pattern(
        "checkpoint_discarded",
        "1.9–1.10",
        rf"Discarding checkpoint {t.CHECKPOINT} of job {t.JOB}",
    ),
    _pattern(
        "trigger_refused",
        "1.13+",
        rf"Failed to trigger checkpoint for job {t.JOB} since {t.REST:reason_text}",
    ),
    _pattern(
        "trigger_refused",
        "1.9–1.11",
        rf"Checkpoint triggering task {t.TASK} \({t.SUBTASK}\)(?:#[0-9]+)? of job {t.JOB} is "
        rf"not {t.REST:reason_text}",
        reason="NOT_ALL_REQUIRED_TASKS_RUNNING",
    ),
    _pattern(
        "checkpoint_failed",
        "1.14+",
        rf"Failed to trigger or complete checkpoint (?:{t.CHECKPOINT}|UNKNOWN_CHECKPOINT_ID) "
        rf"for job {t.JOB}\. \({t.INT:count} consecutive",
    ),
    _pattern(
        "trigger_failed",
        "1.9–1.13",
        rf"Failed to trigger checkpoint (?:{t.CHECKPOINT} )?for job {t.JOB}\.? \({t.INT:count} "
        rf"consecutive",
    ),
    _pattern(
        "trigger_failed",
        "1.15+",
        rf"Triggering Checkpoint {t.SIGNED:checkpoint_id} for job {t.JOB} failed due to "
        rf"{t.REST:reason_text}",
    ),
    _pattern(
        "coordinator_stopped",
        "1.9+",
        rf"Stopping checkpoint coordinator for job {t.JOB}",
    ),
    _pattern(
        # All barriers arrived, or the first one of an unaligned checkpoint; at a source, its
        # mailbox was free.
        "checkpoint_sync_started",
        "1.9+ DEBUG",
        rf"Starting checkpoint \(?{t.CHECKPOINT}\)? {t.CHECKPOINT_TYPE} on task {t.REST:task} "
        rf"\({t.SUBTASK}\)(?:#{t.ATTEMPT})?",
    ),
    _pattern(
        "scheduler_started",
        "2.3+",
        r"Starting checkpoint scheduler",
    ),
    _pattern(
        "scheduler_stopped",
        "2.3+",
        rf"Stopping checkpoint scheduler, current job status: {t.STATE:to_state}",
        starts="Stopping checkpoint scheduler",
    ),
    _pattern(
        "abort_not_sent",
        "1.20+",
        rf"Could not send aborted message of checkpoint {t.CHECKPOINT} to task {t.EXECUTION} "
        rf"belonging to job {t.JOB}",
    ),
    _pattern(
        "metadata_uncertain",
        "1.13+",
        rf"An error occurred while writing checkpoint {t.CHECKPOINT} to the underlying "
        rf"metadata store[^\n]*? located at '{t.ANY:path}'",
    ),
    _pattern(
        "checkpoint_retained",
        "1.12+",
        rf"Checkpoint with ID {t.CHECKPOINT} at '{t.ANY:path}' not discarded",
    ),
    _pattern(
        "discard_failed",
        "1.13–1.16",
        rf"(?:Could not properly discard completed checkpoint|Fail to discard the old "
        rf"checkpoint) [^0-9\n]{{0,60}}{t.CHECKPOINT}",
        starts="Could not properly discard completed checkpoint ",
    ),
    _pattern(
        "discard_failed",
        "1.17+",
        rf"Fail to discard the old checkpoint [^0-9\n]{{0,60}}{t.CHECKPOINT}",
    ),
    _pattern(
        "subsume_failed",
        "1.13+",
        r"Fail to subsume the old checkpoint",
    ),
    _pattern(
        "restore_without_checkpoint",
        "1.11+",
        r"No checkpoint found during restore",
    ),
    _pattern(
        # It names no job. With --allowNonRestoredState the state of such an operator is dropped.
        "state_skipped",
        "1.9+",
        rf"Skipping savepoint state for operator {t.HEX:reason_text}",
    ),
    _pattern(
        "restored",
        "1.9+",
        rf"Restoring job {t.JOB} from (?:latest valid checkpoint: "
        rf")?{t.SNAPSHOT_NAME:checkpoint_type} {t.CHECKPOINT} @ {t.INT:trigger_time} for "
        rf"[0-9a-f]{{32}}(?: located at {t.REST:path})?",
    ),
    _pattern(
        "restore_requested",
        "1.9+",
        rf"Starting job {t.JOB} from savepoint {t.ANY:path} \([^()\n]{{0,40}}\)",
    ),
    _pattern(
        "checkpoint_id_reset",
        "1.9+",
        rf"Reset the checkpoint ID of job {t.JOB} to {t.CHECKPOINT}",
    ),
    _pattern(
        "savepoint_requested",
        "1.11+",
        rf"Triggering (?P<reason_text>cancel-with-|stop-with-)?savepoint for job {t.JOB}",
        starts="Triggering stop-with-savepoint for job ",
    ),
    _pattern(
        "savepoint_requested",
        "1.11+",
        rf"Triggering (?P<reason_text>cancel-with-)?savepoint for job {t.JOB}",
        starts="Triggering cancel-with-savepoint for job ",
    ),
    _pattern(
        "savepoint_requested",
        "1.11+",
        rf"Triggering savepoint for job {t.JOB}",
    ),
    _pattern(
        "savepoint_stored",
        "1.11+",
        rf"Savepoint stored in {t.ANY:path}\. Now cancelling {t.JOB}",
    ),
    _pattern(
        "checkpoint_requested",
        "1.15+",
        rf"Triggering a manual checkpoint for job {t.JOB}",
    ),
    _pattern(
        "ha_recovery",
        "1.9+",
        rf"Recovering checkpoints from {t.REST:path}",
    ),
    _pattern(
        "ha_recovery",
        "1.9+",
        rf"Found {t.INT:count} checkpoints in {t.REST:path}",
    ),
    _pattern(
        "ha_recovery",
        "1.9+",
        rf"Trying to retrieve checkpoint {t.CHECKPOINT}",
    ),
    _pattern(
        "checkpoint_aborted_notice",
        "1.11+",
        rf"Checkpoint {t.CHECKPOINT} has been notified as aborted, would not trigger any "
        rf"checkpoint",
    ),
    _pattern(
        "barrier_out_of_order",
        "1.11+",
        rf"Out of order checkpoint barrier \(aborted previously\?\): {t.INT:count} >= "
        rf"{t.CHECKPOINT}",
        starts="Out of order checkpoint barrier ",
    ),
    _pattern(
        "slow_barrier",
        "1.13+",
        rf"Time from receiving all checkpoint barriers/RPC (?:for checkpoint {t.CHECKPOINT} "
        rf")?to executing it exceeded threshold: {t.MS:duration_ms}ms",
    ),
    _pattern(
        "coordinator_missing",
        "1.9+",
        rf"Received {t.ANY:reason_text} message for job {t.JOB} with no CheckpointCoordinator",
        contains=" with no CheckpointCoordinator",
    ),
)

_JOB_PATTERNS = (
    _pattern(
        "task_deployed",
        "1.9+",
        rf"Deploying {t.TASK} \({t.SUBTASK}\) \(attempt #{t.ATTEMPT}\)(?: with attempt id "
        rf"{t.EXECUTION}(?: and vertex id {t.HEX:vertex_id}_[0-9]+)?)? to {t.LOCATION_OR_NONE}",
    ),
    _pattern(
        "task_deployed",
        "before 1.9",
        rf"Deploying {t.TASK} \({t.SUBTASK}\) \(attempt #{t.ATTEMPT}\) to slot "
        rf"{t.WORD:container} on {t.WORD:host}",
    ),
    _pattern(
        # Its execution_id is that of the graph, with which the ids of its attempts begin.
        "execution_graph_created",
        "1.16+",
        rf"Created execution graph {t.HEX:execution_id} for job {t.JOB}",
    ),
    _pattern(
        "global_restart",
        "1.9+",
        r"Trying to recover from a global failure",
    ),
    _pattern(
        "region_restart_started",
        "1.9–1.15",
        rf"Calculating tasks to restart to recover the failed task {t.EXECUTION}",
    ),
    _pattern(
        "job_terminal",
        "1.9+",
        rf"Job {t.JOB} reached (?:globally )?terminal state {t.STATE:to_state}",
    ),
    _pattern(
        "job_archived",
        "1.9–2.2",
        rf"Job {t.JOB} has been archived at {t.REST:path}",
    ),
    _pattern(
        "job_archived",
        "2.3+",
        rf"Successfully archived {t.REST:path}",
    ),
    _pattern(
        "job_submitted",
        "1.9+",
        rf"Received (?:JobGraph|job) submission (?:{t.JOB} "
        rf"\({t.ANY:job_name}\)\.|'{t.ANY:job_name}' \({t.JOB}\)\.)",
        starts="Received JobGraph submission ",
    ),
    _pattern(
        "job_submitted",
        "2.0+",
        rf"Received job submission '{t.ANY:job_name}' \({t.JOB}\)\.",
        starts="Received job submission ",
    ),
    _pattern(
        "operator_event",
        "of the Kubernetes operator, written by ingest.operator_log",
        rf"Kubernetes operator: (?P<to_state>[A-Za-z0-9]{{1,60}}) of job {t.JOB}(?:, at "
        rf"{t.WORD:path})?: {t.REST:reason_text}",
    ),
    _pattern(
        "job_started",
        "1.9+",
        rf"Starting execution of job '?{t.ANY:job_name}'? \({t.JOB}\) under job master id ",
    ),
    _pattern(
        "tm_heartbeat_timeout",
        "1.9+",
        rf"(?:The h|H)eartbeat of TaskManager with id {t.WORKER} timed out",
        starts="Heartbeat of TaskManager with id ",
    ),
    _pattern(
        "tm_heartbeat_timeout",
        "1.9+",
        rf"The heartbeat of TaskManager with id {t.WORKER} timed out",
    ),
    _pattern(
        "tm_unreachable",
        "1.14+",
        rf"TaskManager with id {t.WORKER} is no longer reachable",
    ),
    _pattern(
        "tm_disconnected",
        "1.16+",
        rf"Disconnect TaskExecutor {t.WORKER} because: {t.REST:reason_text}",
    ),
    _pattern(
        "tm_disconnected",
        "1.9+",
        rf"Closing TaskExecutor connection {t.WORKER} because: {t.REST:reason_text}",
    ),
    _pattern(
        "tm_registered",
        "1.11+",
        rf"Registering TaskManager with ResourceID {t.WORKER} \({t.ANY:path}\) at "
        rf"ResourceManager",
    ),
    _pattern(
        "resource_manager_lost",
        "1.9+",
        rf"The heartbeat of ResourceManager with id {t.WORKER} timed out",
    ),
    _pattern(
        "resource_manager_lost",
        "1.9+",
        rf"Close ResourceManager connection {t.WORKER}(?:: {t.REST:reason_text})?",
    ),
    _pattern(
        "slot_request_failed",
        "1.16+",
        rf"Slot allocation for allocation {t.HEX} for job {t.JOB} failed\.",
    ),
    _pattern(
        "partition_state_request",
        "1.9+",
        r"Error while requesting partition state",
    ),
)

_TASKMANAGER_PATTERNS = (
    _pattern(
        # The producer did not have the partition yet, and the JobManager said that it will.
        "partition_state_request",
        "1.9+ DEBUG",
        rf"{t.TASK_ATTEMPT} \({t.EXECUTION}\): Retriggering partition request ",
        contains=": Retriggering partition request ",
    ),
    _pattern(
        "job_manager_lost",
        "1.9+",
        rf"The heartbeat of JobManager with id {t.WORKER} timed out",
    ),
    _pattern(
        "job_manager_lost",
        "1.15+",
        rf"JobManager with id {t.WORKER} is no longer reachable",
    ),
    _pattern(
        # TaskManagers log it until the JobManager answers: once or twice at each start is normal.
        "registration_retried",
        "1.9+",
        rf"Could not resolve (?:Resource|Job)Manager address {t.WORD:path}, retrying in "
        rf"{t.MS:duration_ms} ms(?:: {t.REST:reason_text})?",
    ),
    _pattern(
        "association_gated",
        "1.9+",
        rf"Association with remote system \[{t.WORD:path}\] has failed, address is now gated "
        rf"for \[{t.MS:duration_ms}\] ms\. Reason: {t.REST:reason_text}",
        starts="Association with remote system ",
    ),
    _pattern(
        "task_received",
        "1.12+",
        rf"Received task {t.TASK_ATTEMPT} \({t.EXECUTION}\), deploy into slot",
    ),
    _pattern(
        "task_cancel_requested",
        "1.9+",
        rf"Attempting to cancel task {t.TASK_ATTEMPT} \({t.EXECUTION}\)",
    ),
    _pattern(
        "task_failed_externally",
        "1.9+",
        rf"Attempting to fail task externally {t.TASK_ATTEMPT} \({t.EXECUTION}\)",
    ),
    _pattern(
        "task_final_state",
        "1.9+",
        rf"Un-registering task and sending final execution state {t.STATE:to_state} to "
        rf"JobManager for task {t.TASK} \({t.SUBTASK}\)(?:#{t.ATTEMPT})? {t.EXECUTION}\.",
    ),
    _pattern(
        "task_stuck",
        "1.9+",
        rf"Task '{t.TASK}' did not react to cancelling signal[^\n]*? for {t.INT:count} seconds",
    ),
    _pattern(
        "changelog_idle",
        "1.15+",
        rf"Task {t.TASK} has no state updates since last materialization",
        contains=" has no state updates since last materialization",
    ),
    _pattern(
        "fatal_error",
        "1.9+",
        rf"Encountered fatal error {t.ANY:reason_text} - terminating the JVM",
    ),
    _pattern(
        "state_restore_started",
        "1.13–1.18",
        rf"Starting to restore from state handle: {t.REST:path}",
    ),
    _pattern(
        "state_restore_started",
        "1.20+",
        rf"Starting RocksDB incremental recovery in operator {t.REST:task}",
    ),
    _pattern(
        "state_restore_finished",
        "1.20+",
        rf"Finished RocksDB incremental recovery in operator {t.REST:task}",
    ),
    _pattern(
        "partition_producer_gone",
        "1.9+",
        rf"Producer [^\n]*? of partition {t.WORD:path} disposed\. Cancelling execution",
    ),
    _pattern(
        "blob_download",
        "1.9+",
        rf"Downloading {t.JOB}/(?P<path>p-{t.HEX_BARE}{{1,80}}-{t.HEX_BARE}{{32}}) from ",
    ),
    _pattern(
        "blob_failed",
        "1.9+",
        rf"Failed to fetch BLOB {t.JOB}/{t.WORD:path} from ",
    ),
    _pattern(
        # Sinks with two-phase commit that are configured to warn. With a ratio of 0 they warn at
        # each commit, at any age of the transaction.
        "transaction_open",
        "1.9+",
        rf"Transaction {t.ANY} has been open for {t.MS:duration_ms} ms\. This is close to or "
        rf"even exceeding the transaction timeout of {t.MS:timeout_ms} ms",
    ),
    _pattern(
        "transaction_lost",
        "1.9+",
        rf"Error while committing transaction {t.ANY}\. Transaction has been open for longer "
        rf"than the transaction timeout \({t.MS:timeout_ms}\)",
    ),
    _pattern(
        # From the source of Kafka's connector: no Kafka was run. If it reuses ids, the warning may
        # be false.
        "transaction_lost",
        "Kafka connector of 1.14+",
        rf"Unable to commit (?:recovered )?transaction \({t.ANY}\) because its producer is "
        rf"already fenced\. This means {t.ANY} or recovery took longer than '{t.WORD}' "
        rf"\({t.MS:timeout_ms}ms\)",
    ),
    _pattern(
        # From the source of Kafka's and Pulsar's sinks: the records of an aborted transaction are
        # lost, and the sink goes on.
        "transaction_lost",
        "Kafka and Pulsar connectors of 1.14+",
        rf"Unable to commit (?:recovered )?transaction \({t.ANY}\) because (?:it's|its|of a "
        rf"bug in) ",
        reason="TRANSACTION_ABORTED",
    ),
    _pattern(
        # The producer cannot tell whether it was committed before or aborted by the broker.
        "transaction_unconfirmed",
        "Kafka producer of 1.9+",
        rf"Encountered error {t.ANY:reason_text} while recovering transaction {t.ANY}\. "
        rf"Presumably",
        starts="Encountered error org.apache.kafka.",
    ),
    _pattern(
        "transaction_timeout_set",
        "Kafka clients",
        r"ProducerConfig values:",
        below=(
            "timeout_ms",
            (
                rf"\ttransaction\.timeout\.ms = ({t.MS})\n(?:\t[^\n]*\n){{0,3}}\ttransactional\.id "
                rf"= "
                rf"(?!null\n)"
            ),
        ),
    ),
    _pattern(
        "file_merging_directory",
        "1.20+",
        rf"Created a directory {t.ANY:path} for checkpoint file-merging",
    ),
)

_JOB_OF_TRACE = ("job_id", rf"(?:for job|job with job id) ({t.HEX})(?: failed|\.)")
"""Dispatcher.jobMasterFailed, SessionDispatcherLeaderProcess.recoverJob: the trace alone names the
job.
"""

_PROCESS_PATTERNS = (
    # Why a process or its part of a job ended: most of these lines name no job.
    _pattern(
        "worker_terminated",
        "1.12+",
        rf"Worker {t.WORKER} is terminated\. Diagnostics: {t.REST:reason_text}",
    ),
    _pattern(
        "worker_unregistered",
        "1.13+",
        rf"Worker {t.WORKER} did not register in {t.ANY:reason_text}, will stop it",
    ),
    _pattern(
        "worker_request_failed",
        "1.12+",
        rf"Failed requesting worker with resource spec {t.ANY}, current pending count: "
        rf"{t.INT:count}",
        reason="WORKER_REQUEST_FAILED",
    ),
    _pattern(
        "worker_request_failed",
        "1.12+ on Kubernetes",
        rf"Could not create pod {t.CONTAINER}, exception: {t.REST:reason_text}",
        reason="WORKER_REQUEST_FAILED",
    ),
    _pattern(
        "worker_request_failed",
        "1.15+ on Kubernetes",
        rf"Pod {t.CONTAINER} is terminated before being scheduled",
        reason="WORKER_REQUEST_FAILED",
    ),
    _pattern(
        "slots_required",
        "1.12+",
        rf"Received resource requirements from job {t.JOB}: "
        rf"\[(?:[^\n]*?numberOfRequiredSlots={t.INT:count})?",
    ),
    _pattern(
        "slots_missing",
        "1.12+",
        rf"Could not fulfill resource requirements of job {t.JOB}\.(?: {t.REST:reason_text})?",
        reason="NO_RESOURCE_AVAILABLE",
    ),
    _pattern(
        "slots_missing",
        "1.12+",
        rf"Could not acquire the minimum required resources, failing slot requests\.[^\n]*? "
        rf"Current slot pool status: {t.REST:reason_text}",
        starts="Could not acquire the minimum required resources, ",
        reason="NO_RESOURCE_AVAILABLE",
    ),
    _pattern(
        "jobmanager_fatal",
        "1.9+",
        r"Fatal error occurred in (?:the cluster entrypoint|ResourceManager)\.",
        starts="Fatal error occurred in ",
        in_trace=_JOB_OF_TRACE,
    ),
    _pattern(
        "jobmanager_fatal",
        "1.9+",
        r"Fatal error occurred on JobManager\.",
        in_trace=_JOB_OF_TRACE,
    ),
    _pattern(
        "jobmanager_fatal",
        "1.9+",
        rf"Could not start cluster entrypoint {t.WORD}\.",
    ),
    _pattern(
        # Application mode: main() ended before the job, or before it submitted one.
        "program_failed",
        "1.11+",
        r"Application failed unexpectedly",
    ),
    _pattern(
        "program_failed",
        "1.9+",
        r"Run python process failed",
    ),
    _pattern(
        "program_failed",
        "1.11+ on Kubernetes",
        r"Could not create application program",
    ),
    _pattern(
        "program_failed",
        "1.9+",
        rf"Failed to submit job (?:{t.JOB}\.|graph )",
    ),
    _pattern(
        # Enumerators of files and of lake tables, which go on without new splits.
        "enumeration_failed",
        "1.12+",
        r"Failed to enumerate files",
    ),
    _pattern(
        "enumeration_failed",
        "Iceberg's connector",
        r"Failed to discover new splits",
    ),
    _pattern(
        "submission_ignored",
        "1.15+",
        rf"Ignoring (?:JobGraph|job) submission '{t.ANY:job_name}' \({t.JOB}\) because "
        rf"{t.REST:reason_text}",
        starts="Ignoring ",
        reason="JOB_KNOWN_ALREADY",
    ),
    _pattern(
        "client_lost",
        "1.17+",
        rf"The heartbeat from the job client is timeout and cancel the job {t.JOB}\.",
        reason="CLIENT_LOST",
    ),
    _pattern(
        "ha_entry_removed",
        "1.12+ on Kubernetes",
        rf"Could not retrieve the state handle of '{t.ANY:path}' from ConfigMap '{t.ANY}'\. "
        rf"Removing the entry",
        reason="HA_STORE_BROKEN",
    ),
    _pattern(
        "cluster_shut_down",
        "1.9+",
        rf"Shutting {t.WORD} down with application status {t.STATE:to_state}\. Diagnostics "
        rf"(?:null\.|{t.REST:reason_text})",
        starts="Shutting ",
    ),
    _pattern(
        "taskmanager_fatal",
        "1.9+",
        rf"Fatal error occurred in TaskExecutor {t.WORD}\.",
        starts="Fatal error occurred in TaskExecutor ",
    ),
    _pattern(
        "taskmanager_fatal",
        "1.9+",
        r"Fatal error occurred while executing the TaskManager\.",
    ),
    _pattern(
        "taskmanager_fatal",
        "1.9–1.12",
        r"TaskManager initialization failed\.",
    ),
    _pattern(
        "taskmanager_fatal",
        "1.9+",
        rf"Terminating TaskManagerRunner with exit code {t.INT:count}",
    ),
    _pattern(
        "fatal_error",
        "1.9+",
        rf"FATAL: Thread '{t.ANY}' produced an uncaught exception\.",
    ),
    _pattern(
        "signal_received",
        "1.9+",
        rf"RECEIVED SIGNAL {t.INT:count}: {t.ANY:reason_text}\.(?: |\n)",
    ),
    _pattern(
        "leadership_granted",
        "1.9–1.12",
        rf"JobManager runner for job {t.ANY:job_name} \({t.JOB}\) was granted leadership with "
        rf"session id ",
    ),
    _pattern(
        "leadership_granted",
        "1.13+",
        rf"JobMasterServiceLeadershipRunner for job {t.JOB} was granted leadership with leader "
        rf"id ",
        starts="JobMasterServiceLeadershipRunner for job ",
    ),
    _pattern(
        "leadership_lost",
        "1.13+",
        rf"JobMasterServiceLeadershipRunner for job {t.JOB} was revoked leadership with leader "
        rf"id ",
        starts="JobMasterServiceLeadershipRunner for job ",
        reason="LEADERSHIP_LOST",
    ),
    _pattern(
        "leadership_lost",
        "1.9–1.12",
        rf"JobManager for job {t.ANY:job_name} \({t.JOB}\) (?:at {t.ANY} )?was revoked "
        rf"leadership",
        reason="LEADERSHIP_LOST",
    ),
    _pattern(
        "leadership_lost",
        "1.9+",
        rf"JobManager for job {t.JOB} with leader id {t.ANY} lost leadership",
        reason="LEADERSHIP_LOST",
    ),
    _pattern(
        "leadership_lost",
        "1.9+",
        rf"ResourceManager {t.WORD} was revoked leadership",
        starts="ResourceManager ",
        reason="LEADERSHIP_LOST",
    ),
    _pattern(
        "leadership_lost",
        "1.11+",
        r"DefaultDispatcherRunner was revoked the leadership",
        reason="LEADERSHIP_LOST",
    ),
    _pattern(
        # org.apache.hadoop.fs.s3a.WriteOperationHelper
        STORE_RETRIED,
        "Hadoop 3.1+",
        rf"{t.ANY}: Retried {t.INT:count}: {t.REST:reason_text}",
        contains=" Retried ",
    ),
    _pattern(
        # com.google.cloud.hadoop.util.RetryHttpInitializer
        STORE_RETRIED,
        "GCS connector",
        r"Encountered status code (?:429|503) when (?:sending [A-Z]+ request to|accessing) URL ",
        starts="Encountered status code ",
        reason="STORE_THROTTLED",
    ),
    _pattern(
        "zookeeper_lost",
        "1.9+",
        rf"Connection to ZooKeeper (?:suspended|lost){t.REST:reason_text}",
        reason="ZOOKEEPER_LOST",
    ),
)

PATTERNS: tuple[Pattern, ...] = (
    _TASK_PATTERNS
    + _CHECKPOINT_PATTERNS
    + _JOB_PATTERNS
    + _TASKMANAGER_PATTERNS
    + _PROCESS_PATTERNS
)

STORE_KINDS = frozenset(
    {"store_throttled", "store_pool_exhausted", "store_refused", "store_timeout", STORE_RETRIED}
)
"""Their ``path`` is the place in an object store, if the text names a bucket."""

TRACE_PATTERNS: tuple[TracePattern, ...] = (
    TracePattern("tolerable_failures_exceeded", "Exceeded checkpoint tolerable failure threshold"),
    TracePattern("insufficient_network_buffers", "Insufficient number of network buffers"),
    TracePattern("partition_not_found", "PartitionNotFoundException"),
    TracePattern("out_of_memory", "java.lang.OutOfMemoryError"),
    TracePattern("rpc_too_large", "OversizedPayloadException"),
    TracePattern("rpc_too_large", "exceeds the maximum akka framesize"),
    TracePattern("rpc_too_large", "exceeds the maximum pekko framesize"),
    TracePattern("rpc_too_large", "'s result size "),
    TracePattern("association_quarantined", "UID that has been quarantined"),
    TracePattern("association_quarantined", "irrecoverably failed"),
    TracePattern("association_quarantined", "has quarantined this system"),
    TracePattern("registration_failed", "RegistrationTimeoutException"),
    TracePattern("store_refused", "Service: Amazon S3; Status Code: 403"),
    TracePattern("store_refused", "Service: S3, Status Code: 403"),
    TracePattern("store_refused", "[ErrorCode]: AccessDenied"),
    TracePattern("store_refused", "AuthorizationPermissionMismatch"),
    TracePattern("store_timeout", "Error Code: RequestTimeout"),
    TracePattern("store_throttled", "Service: Amazon S3; Status Code: 503"),
    TracePattern("store_throttled", "Service: S3, Status Code: 503"),
    TracePattern("store_throttled", "QpsLimitExceeded"),
    TracePattern("store_throttled", ", ServerBusy"),
    TracePattern("store_throttled", "exceeded the rate limit for object"),
    TracePattern("store_throttled", "educe your request rate"),
    TracePattern("store_pool_exhausted", "Timeout waiting for connection from pool"),
    TracePattern("store_pool_exhausted", "Acquire operation took longer"),
    TracePattern("rpc_timeout", "AskTimeoutException"),
)

UNREAD = "unread_line"
"""Lines that begin like entries of the table but match none, such as other wordings of a release.
"""

KINDS: tuple[str, ...] = tuple(
    dict.fromkeys(
        [
            *(pattern.kind for pattern in PATTERNS),
            *(pattern.kind for pattern in TRACE_PATTERNS),
            UNREAD,
        ]
    )
)

NOT_LOOKED_FOR: tuple[str, ...] = (
    "Application ",
    "Checkpoint storage is set to ",
    "Encountered status code ",
)
"""Lines that hold a piece of an entry but are known to be something else."""

READ_CHARS = 8192
"""Of a line: bounds the cost of hostile ones."""

KEPT_LEVELS: tuple[str, ...] = ("WARN", "ERROR", "FATAL")
"""Kept whether or not an entry reads them."""


def starts() -> tuple[str, ...]:
    return tuple(dict.fromkeys(pattern.starts for pattern in PATTERNS if pattern.starts))


def contained() -> tuple[str, ...]:
    pieces = list(dict.fromkeys(pattern.contains for pattern in PATTERNS if pattern.contains))
    return tuple(
        piece for piece in pieces if not any(other != piece and other in piece for other in pieces)
    )
