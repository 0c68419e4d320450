"""The pattern table: the log lines that become events.

Entries are tried on the first line of a message: first those with whose ``starts`` the line begins,
then those whose ``contains`` is in the line. The first entry whose ``regex`` matches decides. Rules
for a regular expression:

* the same meaning in every engine and alphabet: ``[0-9]`` and ``[^ ]`` instead of ``\\d`` and
  ``\\S``, ``[^\\n]`` instead of ``.``, no ``$``;
* linear time: names of jobs and tasks may be any text, so at most one unbounded group before each
  literal;
* ``{piece:field}`` is a group for a field of the event; if two groups have the same field, the one
  that matches sets it;
* ``subtask_number`` is the 1-based ``i`` of ``(i/p)``; the event has the 0-based ``subtask``.

A new entry needs a line that it reads in ``tests/ingest/flink_logs/example_lines.py``.
"""

import re
from dataclasses import dataclass

from ingest.flink_logs import reports
from ingest.flink_logs.templates import (
    ANY,
    ANY_FORM,
    ATTEMPT,
    CHECKPOINT,
    CHECKPOINT_LOCATION,
    CHECKPOINT_TYPE,
    CONTAINER,
    EXECUTION,
    HEX,
    HEX_DIGIT,
    INT,
    JOB,
    JOB_LOCATION,
    LOCATION_OR_NONE,
    MS,
    REST,
    SIGNED,
    SIGNED_MS,
    SNAPSHOT_NAME,
    STATE,
    SUBTASK,
    TASK,
    TASK_ATTEMPT,
    WORD,
    WORKER,
)

_LITERAL = re.compile(r"(?:(?:[^][\\^$.|?*+(){}]|\\[^A-Za-z0-9])(?![*+?{]))*")


@dataclass(frozen=True, slots=True)
class Pattern:
    """``line``: regular expression with named groups. Group *n* of ``regex`` is ``fields[n-1]``.
    Exactly one of ``starts`` and ``contains`` is set; by default, ``starts`` is the literal text at
    the beginning of ``line``.

    ``reason``: a code that the line implies. ``below``: a field, and an expression that must match
    in the lines below the first, which are not stored. ``in_trace``: a field, and an expression for
    these lines, which need not match; they are stored. ``tolerant`` is tried if no ``regex``
    matches: it allows any form of ids and locations.
    """

    kind: str
    versions: str
    line: str
    starts: str = ""
    contains: str = ""
    reason: str = ""
    below: tuple[str, str] | None = None
    in_trace: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        literal = _LITERAL.match(self.line)
        if literal and not self.contains and not self.starts:
            object.__setattr__(self, "starts", re.sub(r"\\(.)", r"\1", literal[0]))

    @property
    def regex(self) -> str:
        return _without_names(self.line)

    @property
    def fields(self) -> tuple[str, ...]:
        return _names(self.line)

    @property
    def tolerant(self) -> str:
        return _without_names(self._any_form)

    @property
    def tolerant_fields(self) -> tuple[str, ...]:
        return _names(self._any_form)

    @property
    def _any_form(self) -> str:
        line = self.line
        for piece, any_form in ANY_FORM:
            line = line.replace(piece, any_form)
        return line


def _without_names(line: str) -> str:
    return "^" + re.sub(r"\?P<\w+>", "", line) + ("" if line.endswith(f"{REST})") else r"[^\n]*")


def _names(line: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\?P<(\w+)>", line))


STORE_RETRIED = "store_retried"


_TASK_PATTERNS = (
    Pattern(
        "task_state",
        "1.9+",
        rf"{TASK_ATTEMPT} \({EXECUTION}\) switched from {STATE:from_state} to {STATE:to_state}(?: "
        rf"on {LOCATION_OR_NONE}| with failure cause:(?: {REST:reason_text})?)?",
        contains=" switched from ",
    ),
    Pattern(
        "job_state",
        "1.9+",
        rf"Job {ANY:job_name} \({JOB}\) switched from state {STATE:from_state} to {STATE:to_state}",
        contains=" switched from state ",
    ),
    Pattern(
        # Of an unaligned checkpoint, Flink prints 0 for the alignment, which is not known yet.
        "checkpoint_sync_done",
        "1.9+ DEBUG",
        rf"{TASK_ATTEMPT} - finished synchronous part of checkpoint {CHECKPOINT}\. Alignment "
        rf"duration: (?:-?[0-9]+ ms, snapshot duration {SIGNED_MS:duration_ms} ms, is unaligned "
        rf"checkpoint : true|{MS:alignment_ms} ms, snapshot duration {SIGNED_MS:duration_ms} ms)",
        contains=" part of checkpoint ",
    ),
    Pattern(
        "checkpoint_sync_failed",
        "1.11+ DEBUG",
        rf"{TASK_ATTEMPT} - did NOT finish synchronous part of checkpoint {CHECKPOINT}",
        contains=" part of checkpoint ",
    ),
    Pattern(
        "checkpoint_async_started",
        "1.12+ DEBUG",
        rf"{TASK_ATTEMPT} - started executing asynchronous part of checkpoint {CHECKPOINT}\. "
        rf"Asynchronous start delay: {SIGNED_MS:duration_ms} ms",
        contains=" part of checkpoint ",
    ),
    Pattern(
        "checkpoint_async_done",
        "1.11+ DEBUG",
        rf"{TASK_ATTEMPT} - finished asynchronous part of checkpoint {CHECKPOINT}\. Asynchronous "
        rf"duration: {SIGNED_MS:duration_ms} ms",
        contains=" part of checkpoint ",
    ),
    Pattern(
        "checkpoint_async_failed",
        "1.11+",
        rf"{TASK_ATTEMPT} - asynchronous part of checkpoint {CHECKPOINT} could not be completed\.",
        contains=" part of checkpoint ",
    ),
    Pattern(
        # The task was cancelled or the checkpoint aborted while it ran.
        "checkpoint_async_failed",
        "1.11+ DEBUG",
        rf"{TASK_ATTEMPT} - asynchronous part of checkpoint {CHECKPOINT} could not be completed "
        rf"because it was closed before\.",
        contains=" part of checkpoint ",
    ),
    Pattern(
        # Only the directory names the checkpoint; a savepoint is not named. The job follows from
        # the task.
        "backend_sync_done",
        "1.9+ DEBUG",
        rf"[A-Za-z ]{{1,80}} \({CHECKPOINT_LOCATION}, synchronous part\) in thread "
        rf"Thread\[(?:Async calls on )?{TASK} "
        rf"\({SUBTASK}\)(?:#{ATTEMPT})?,[0-9]{{1,2}},[^\],\n]*\] took {MS:duration_ms} ms",
        contains=" part) in thread ",
    ),
    Pattern(
        "backend_async_done",
        "1.9+ DEBUG",
        rf"[A-Za-z ]{{1,80}} \({JOB_LOCATION}, asynchronous part\) in thread [^\n]*?\] took "
        rf"{MS:duration_ms} ms",
        contains=" part) in thread ",
    ),
    Pattern(
        "barriers_aligned",
        "1.13+ DEBUG",
        rf"{TASK_ATTEMPT} \({EXECUTION}\): All the channels are aligned for checkpoint "
        rf"{CHECKPOINT}",
        contains=": All the channels are aligned for checkpoint ",
    ),
    Pattern(
        "barrier_skipped",
        "1.13+",
        rf"{TASK_ATTEMPT} \({EXECUTION}\): Received checkpoint barrier for checkpoint {INT:count} "
        rf"before completing current checkpoint {CHECKPOINT}",
        contains=": Received checkpoint barrier for checkpoint ",
    ),
    Pattern(
        "region_restart",
        "1.9+",
        rf"{INT:count} tasks (?:will|should) be restarted to recover the failed task {EXECUTION}",
        contains=" be restarted to recover ",
    ),
    Pattern(
        "global_restart",
        "1.16+",
        rf"{INT:count} tasks will be restarted to recover from a global failure",
        contains=" be restarted to recover ",
    ),
)

_CHECKPOINT_PATTERNS = (
    Pattern(
        "checkpoint_triggered",
        "1.9+",
        rf"Triggering checkpoint {CHECKPOINT}(?: \(type={CHECKPOINT_TYPE}\))? @ "
        rf"{INT:trigger_time} for job {JOB}",
    ),
    Pattern(
        "checkpoint_completed",
        "1.9+",
        rf"Completed checkpoint {CHECKPOINT} for job {JOB} \({INT:state_bytes} bytes(?:, "
        rf"checkpointDuration=| in ){MS:duration_ms} ms",
    ),
    Pattern(
        "checkpoint_acknowledged",
        "1.9+ DEBUG",
        rf"Received acknowledge message for checkpoint {CHECKPOINT} from task {EXECUTION} of job "
        rf"{JOB} at {LOCATION_OR_NONE}",
    ),
    Pattern(
        "checkpoint_declined",
        "1.9+",
        rf"Decline checkpoint {CHECKPOINT} by task {EXECUTION} of job {JOB}(?: at "
        rf"{LOCATION_OR_NONE})?",
    ),
    Pattern(
        "checkpoint_expired",
        "1.9+",
        rf"Checkpoint {CHECKPOINT} of job {JOB} expired before completing",
        reason="CHECKPOINT_EXPIRED",
    ),
    Pattern(
        # Up to 1.8 without "task" and without the host.
        "late_message",
        "1.5+",
        rf"Received late message for now expired checkpoint attempt {CHECKPOINT} from (?:task "
        rf")?{EXECUTION} of job {JOB}(?: at {LOCATION_OR_NONE})?",
    ),
    Pattern(
        "late_decline",
        "1.9+ DEBUG",
        rf"Received another decline message for now expired checkpoint attempt {CHECKPOINT} from "
        rf"task {EXECUTION} of job {JOB} at {LOCATION_OR_NONE}(?: : {REST:reason_text})?",
    ),
    Pattern(
        "unknown_checkpoint_message",
        "1.9+ DEBUG",
        rf"Received message for an unknown checkpoint (?:attempt )?{CHECKPOINT} from task "
        rf"{EXECUTION} of job {JOB} at {LOCATION_OR_NONE}(?: : {REST:reason_text})?",
    ),
    Pattern(
        "unknown_checkpoint_message",
        "1.9+ DEBUG",
        rf"Received decline message for unknown \(too old\?\) checkpoint attempt {CHECKPOINT} "
        rf"from task {EXECUTION} of job {JOB} at {LOCATION_OR_NONE}(?: : {REST:reason_text})?",
    ),
    Pattern(
        "acknowledge_failed",
        "1.9+",
        rf"Could not acknowledge the checkpoint {CHECKPOINT} for task {EXECUTION} of job {JOB} at "
        rf"{LOCATION_OR_NONE}(?:, because {ANY:reason_text}\. Discarding)?",
    ),
    Pattern(
        "checkpoint_discarded", "1.9–1.10", rf"Discarding checkpoint {CHECKPOINT} of job {JOB}"
    ),
    Pattern(
        "trigger_refused",
        "1.13+",
        rf"Failed to trigger checkpoint for job {JOB} since {REST:reason_text}",
    ),
    Pattern(
        "trigger_refused",
        "1.9–1.11",
        rf"Checkpoint triggering task {TASK} \({SUBTASK}\)(?:#[0-9]+)? of job {JOB} is not "
        rf"{REST:reason_text}",
        reason="NOT_ALL_REQUIRED_TASKS_RUNNING",
    ),
    Pattern(
        "checkpoint_failed",
        "1.14+",
        rf"Failed to trigger or complete checkpoint (?:{CHECKPOINT}|UNKNOWN_CHECKPOINT_ID) for "
        rf"job {JOB}\. \({INT:count} consecutive",
    ),
    Pattern(
        "trigger_failed",
        "1.9–1.13",
        rf"Failed to trigger checkpoint (?:{CHECKPOINT} )?for job {JOB}\.? \({INT:count} "
        rf"consecutive",
    ),
    Pattern(
        "trigger_failed",
        "1.15+",
        rf"Triggering Checkpoint {SIGNED:checkpoint_id} for job {JOB} failed due to "
        rf"{REST:reason_text}",
    ),
    Pattern("coordinator_stopped", "1.9+", rf"Stopping checkpoint coordinator for job {JOB}"),
    Pattern(
        # All barriers have arrived, of an unaligned checkpoint the first one. In a source, the
        # mailbox is free.
        "checkpoint_sync_started",
        "1.9+ DEBUG",
        rf"Starting checkpoint \(?{CHECKPOINT}\)? {CHECKPOINT_TYPE} on task {REST:task} "
        rf"\({SUBTASK}\)(?:#{ATTEMPT})?",
    ),
    Pattern("scheduler_started", "2.3+", r"Starting checkpoint scheduler"),
    Pattern(
        "scheduler_stopped",
        "2.3+",
        rf"Stopping checkpoint scheduler, current job status: {STATE:to_state}",
        starts="Stopping checkpoint scheduler",
    ),
    Pattern(
        "abort_not_sent",
        "1.20+",
        rf"Could not send aborted message of checkpoint {CHECKPOINT} to task {EXECUTION} "
        rf"belonging to job {JOB}",
    ),
    Pattern(
        "metadata_uncertain",
        "1.13+",
        rf"An error occurred while writing checkpoint {CHECKPOINT} to the underlying metadata "
        rf"store[^\n]*? located at '{ANY:path}'",
    ),
    Pattern(
        "checkpoint_retained",
        "1.12+",
        rf"Checkpoint with ID {CHECKPOINT} at '{ANY:path}' not discarded",
    ),
    Pattern(
        "discard_failed",
        "1.13–1.16",
        rf"Could not properly discard completed checkpoint [^0-9\n]{{0,60}}{CHECKPOINT}",
    ),
    Pattern(
        "discard_failed",
        "1.17+",
        rf"Fail to discard the old checkpoint [^0-9\n]{{0,60}}{CHECKPOINT}",
    ),
    Pattern("subsume_failed", "1.13+", r"Fail to subsume the old checkpoint"),
    Pattern("restore_without_checkpoint", "1.11+", r"No checkpoint found during restore"),
    Pattern(
        # The line names no job. --allowNonRestoredState drops the state of such an operator.
        "state_skipped",
        "1.9+",
        rf"Skipping savepoint state for operator {HEX:reason_text}",
    ),
    Pattern(
        "restored",
        "1.9+",
        rf"Restoring job {JOB} from (?:latest valid checkpoint: )?{SNAPSHOT_NAME:checkpoint_type} "
        rf"{CHECKPOINT} @ {INT:trigger_time} for [0-9a-f]{{32}}(?: located at {REST:path})?",
    ),
    Pattern(
        "restore_requested",
        "1.9+",
        rf"Starting job {JOB} from savepoint {ANY:path} \([^()\n]{{0,40}}\)",
    ),
    Pattern(
        "checkpoint_id_reset", "1.9+", rf"Reset the checkpoint ID of job {JOB} to {CHECKPOINT}"
    ),
    Pattern(
        "savepoint_requested",
        "1.11+",
        rf"Triggering (?P<reason_text>stop-with-)savepoint for job {JOB}",
        starts="Triggering stop-with-savepoint for job ",
    ),
    Pattern(
        "savepoint_requested",
        "1.11+",
        rf"Triggering (?P<reason_text>cancel-with-)savepoint for job {JOB}",
        starts="Triggering cancel-with-savepoint for job ",
    ),
    Pattern("savepoint_requested", "1.11+", rf"Triggering savepoint for job {JOB}"),
    Pattern("savepoint_stored", "1.11+", rf"Savepoint stored in {ANY:path}\. Now cancelling {JOB}"),
    Pattern("checkpoint_requested", "1.15+", rf"Triggering a manual checkpoint for job {JOB}"),
    Pattern("ha_recovery", "1.9+", rf"Recovering checkpoints from {REST:path}"),
    Pattern("ha_recovery", "1.9+", rf"Found {INT:count} checkpoints in {REST:path}"),
    Pattern("ha_recovery", "1.9+", rf"Trying to retrieve checkpoint {CHECKPOINT}"),
    Pattern(
        "checkpoint_aborted_notice",
        "1.11+",
        rf"Checkpoint {CHECKPOINT} has been notified as aborted, would not trigger any checkpoint",
    ),
    Pattern(
        "barrier_out_of_order",
        "1.11+",
        rf"Out of order checkpoint barrier \(aborted previously\?\): {INT:count} >= {CHECKPOINT}",
        starts="Out of order checkpoint barrier ",
    ),
    Pattern(
        "slow_barrier",
        "1.13+",
        rf"Time from receiving all checkpoint barriers/RPC (?:for checkpoint {CHECKPOINT} )?to "
        rf"executing it exceeded threshold: {MS:duration_ms}ms",
    ),
    Pattern(
        "coordinator_missing",
        "1.9+",
        rf"Received {ANY:reason_text} message for job {JOB} with no CheckpointCoordinator",
        contains=" with no CheckpointCoordinator",
    ),
)

_JOB_PATTERNS = (
    Pattern(
        "task_deployed",
        "1.9+",
        rf"Deploying {TASK} \({SUBTASK}\) \(attempt #{ATTEMPT}\)(?: with attempt id "
        rf"{EXECUTION}(?: and vertex id {HEX:vertex_id}_[0-9]+)?)? to {LOCATION_OR_NONE}",
    ),
    Pattern(
        "task_deployed",
        "before 1.9",
        rf"Deploying {TASK} \({SUBTASK}\) \(attempt #{ATTEMPT}\) to slot {WORD:container} on "
        rf"{WORD:host}",
    ),
    Pattern(
        # execution_id is here the id of the graph, with which ids of its attempts begin.
        "execution_graph_created",
        "1.16+",
        rf"Created execution graph {HEX:execution_id} for job {JOB}",
    ),
    Pattern("global_restart", "1.9+", r"Trying to recover from a global failure"),
    Pattern(
        "region_restart_started",
        "1.9–1.15",
        rf"Calculating tasks to restart to recover the failed task {EXECUTION}",
    ),
    Pattern(
        "job_terminal", "1.9+", rf"Job {JOB} reached (?:globally )?terminal state {STATE:to_state}"
    ),
    Pattern("job_archived", "1.9–2.2", rf"Job {JOB} has been archived at {REST:path}"),
    Pattern("job_archived", "2.3+", rf"Successfully archived {REST:path}"),
    Pattern(
        "job_submitted",
        "1.9+",
        rf"Received JobGraph submission (?:{JOB} \({ANY:job_name}\)\.|'{ANY:job_name}' "
        rf"\({JOB}\)\.)",
    ),
    Pattern(
        "job_submitted",
        "2.0+",
        rf"Received job submission '{ANY:job_name}' \({JOB}\)\.",
        starts="Received job submission ",
    ),
    Pattern(
        "operator_event",
        "of the Kubernetes operator, written by ingest.operator_log",
        rf"Kubernetes operator: (?P<to_state>[A-Za-z0-9]{{1,60}}) of job {JOB}(?:, at "
        rf"{WORD:path})?: {REST:reason_text}",
    ),
    *(
        Pattern(
            kind,
            "of pods, written by ingest.pod_log",
            rf"Kubernetes pod {WORKER} {verb}(?: for job {JOB})?: {REST:reason_text}",
        )
        for kind, verb in (
            ("pod_started", "runs"),
            ("pod_waiting", "waits"),
            ("pod_ended", "ended"),
            ("pod_removed", "was removed"),
        )
    ),
    Pattern(
        "job_started",
        "1.9+",
        rf"Starting execution of job '?{ANY:job_name}'? \({JOB}\) under job master id ",
    ),
    Pattern(
        "tm_heartbeat_timeout",
        "1.9+",
        rf"Heartbeat of TaskManager with id {WORKER} timed out",
    ),
    Pattern(
        "tm_heartbeat_timeout", "1.9+", rf"The heartbeat of TaskManager with id {WORKER} timed out"
    ),
    Pattern("tm_unreachable", "1.14+", rf"TaskManager with id {WORKER} is no longer reachable"),
    Pattern(
        "tm_disconnected", "1.16+", rf"Disconnect TaskExecutor {WORKER} because: {REST:reason_text}"
    ),
    Pattern(
        "tm_disconnected",
        "1.9+",
        rf"Closing TaskExecutor connection {WORKER} because: {REST:reason_text}",
    ),
    Pattern(
        "tm_registered",
        "1.11+",
        rf"Registering TaskManager with ResourceID {WORKER} \({ANY:path}\) at ResourceManager",
    ),
    Pattern(
        "resource_manager_lost",
        "1.9+",
        rf"The heartbeat of ResourceManager with id {WORKER} timed out",
    ),
    Pattern(
        "resource_manager_lost",
        "1.9+",
        rf"Close ResourceManager connection {WORKER}(?:: {REST:reason_text})?",
    ),
    Pattern(
        "slot_request_failed",
        "1.16+",
        rf"Slot allocation for allocation {HEX} for job {JOB} failed\.",
    ),
    Pattern("partition_state_request", "1.9+", r"Error while requesting partition state"),
)

_TASKMANAGER_PATTERNS = (
    Pattern(
        # The producer did not have the partition yet.
        "partition_state_request",
        "1.9+ DEBUG",
        rf"{TASK_ATTEMPT} \({EXECUTION}\): Retriggering partition request ",
        contains=": Retriggering partition request ",
    ),
    Pattern("job_manager_lost", "1.9+", rf"The heartbeat of JobManager with id {WORKER} timed out"),
    Pattern("job_manager_lost", "1.15+", rf"JobManager with id {WORKER} is no longer reachable"),
    Pattern(
        # TaskManagers log this until the JobManager answers. Twice at each start is normal.
        "registration_retried",
        "1.9+",
        rf"Could not resolve (?:Resource|Job)Manager address {WORD:path}, retrying in "
        rf"{MS:duration_ms} ms(?:: {REST:reason_text})?",
    ),
    Pattern(
        "association_gated",
        "1.9+",
        rf"Association with remote system \[{WORD:path}\] has failed, address is now gated for "
        rf"\[{MS:duration_ms}\] ms\. Reason: {REST:reason_text}",
        starts="Association with remote system ",
    ),
    Pattern(
        "task_received", "1.12+", rf"Received task {TASK_ATTEMPT} \({EXECUTION}\), deploy into slot"
    ),
    Pattern(
        "task_cancel_requested",
        "1.9+",
        rf"Attempting to cancel task {TASK_ATTEMPT} \({EXECUTION}\)",
    ),
    Pattern(
        "task_failed_externally",
        "1.9+",
        rf"Attempting to fail task externally {TASK_ATTEMPT} \({EXECUTION}\)",
    ),
    Pattern(
        "task_final_state",
        "1.9+",
        rf"Un-registering task and sending final execution state {STATE:to_state} to JobManager "
        rf"for task {TASK} \({SUBTASK}\)(?:#{ATTEMPT})? {EXECUTION}\.",
    ),
    Pattern(
        "task_stuck",
        "1.9+",
        rf"Task '{TASK}' did not react to cancelling signal[^\n]*? for {INT:count} seconds",
    ),
    Pattern(
        "changelog_idle",
        "1.15+",
        rf"Task {TASK} has no state updates since last materialization",
        contains=" has no state updates since last materialization",
    ),
    Pattern(
        "fatal_error", "1.9+", rf"Encountered fatal error {ANY:reason_text} - terminating the JVM"
    ),
    Pattern(
        "state_restore_started", "1.13–1.18", rf"Starting to restore from state handle: {REST:path}"
    ),
    Pattern(
        "state_restore_started",
        "1.20+",
        rf"Starting RocksDB incremental recovery in operator {REST:task}",
    ),
    Pattern(
        "state_restore_finished",
        "1.20+",
        rf"Finished RocksDB incremental recovery in operator {REST:task}",
    ),
    Pattern(
        "partition_producer_gone",
        "1.9+",
        rf"Producer [^\n]*? of partition {WORD:path} disposed\. Cancelling execution",
    ),
    Pattern(
        "blob_download",
        "1.9+",
        rf"Downloading {JOB}/(?P<path>p-{HEX_DIGIT}{{1,80}}-{HEX_DIGIT}{{32}}) from ",
    ),
    Pattern("blob_failed", "1.9+", rf"Failed to fetch BLOB {JOB}/{WORD:path} from "),
    Pattern(
        # Of sinks with two-phase commit that are configured to warn; with a ratio of 0, at each
        # commit.
        "transaction_open",
        "1.9+",
        rf"Transaction {ANY} has been open for {MS:duration_ms} ms\. This is close to or even "
        rf"exceeding the transaction timeout of {MS:timeout_ms} ms",
    ),
    Pattern(
        "transaction_lost",
        "1.9+",
        rf"Error while committing transaction {ANY}\. Transaction has been open for longer than "
        rf"the transaction timeout \({MS:timeout_ms}\)",
    ),
    Pattern(
        # From the source code of Kafka's connector, not seen in a run. If the connector reuses ids,
        # the warning may be false.
        "transaction_lost",
        "Kafka connector of 1.14+",
        rf"Unable to commit (?:recovered )?transaction \({ANY}\) because its producer is already "
        rf"fenced\. This means {ANY} or recovery took longer than '{WORD}' \({MS:timeout_ms}ms\)",
    ),
    Pattern(
        # From the source code of Kafka's and Pulsar's sinks, which lose the records and go on.
        "transaction_lost",
        "Kafka and Pulsar connectors of 1.14+",
        rf"Unable to commit (?:recovered )?transaction \({ANY}\) because (?:it's|its|of a bug in) ",
        reason="TRANSACTION_ABORTED",
    ),
    Pattern(
        # The producer cannot know whether the broker committed or aborted the transaction.
        "transaction_unconfirmed",
        "Kafka producer of 1.9+",
        rf"Encountered error {ANY:reason_text} while recovering transaction {ANY}\. Presumably",
        starts="Encountered error org.apache.kafka.",
    ),
    Pattern(
        "transaction_timeout_set",
        "Kafka clients",
        r"ProducerConfig values:",
        below=(
            "timeout_ms",
            rf"\ttransaction\.timeout\.ms = ({MS})\n(?:\t[^\n]*\n){{0,3}}\ttransactional\.id = "
            rf"(?!null\n)",
        ),
    ),
    Pattern(
        "file_merging_directory",
        "1.20+",
        rf"Created a directory {ANY:path} for checkpoint file-merging",
    ),
)

_JOB_OF_TRACE = ("job_id", rf"(?:for job|job with job id) ({HEX})(?: failed|\.)")

_PROCESS_PATTERNS = (
    # Why a process, or its work for a job, ended. Most of these lines do not name a job.
    Pattern(
        "worker_terminated",
        "1.12+",
        rf"Worker {WORKER} is terminated\. Diagnostics: {REST:reason_text}",
    ),
    Pattern(
        "worker_unregistered",
        "1.13+",
        rf"Worker {WORKER} did not register in {ANY:reason_text}, will stop it",
    ),
    Pattern(
        "worker_request_failed",
        "1.12+",
        rf"Failed requesting worker with resource spec {ANY}, current pending count: {INT:count}",
        reason="WORKER_REQUEST_FAILED",
    ),
    Pattern(
        "worker_request_failed",
        "1.12+ on Kubernetes",
        rf"Could not create pod {CONTAINER}, exception: {REST:reason_text}",
        reason="WORKER_REQUEST_FAILED",
    ),
    Pattern(
        "worker_request_failed",
        "1.15+ on Kubernetes",
        rf"Pod {CONTAINER} is terminated before being scheduled",
        reason="WORKER_REQUEST_FAILED",
    ),
    Pattern(
        "slots_required",
        "1.12+",
        rf"Received resource requirements from job {JOB}: "
        rf"\[(?:[^\n]*?numberOfRequiredSlots={INT:count})?",
    ),
    Pattern(
        "slots_missing",
        "1.12+",
        rf"Could not fulfill resource requirements of job {JOB}\.(?: {REST:reason_text})?",
        reason="NO_RESOURCE_AVAILABLE",
    ),
    Pattern(
        "slots_missing",
        "1.12+",
        rf"Could not acquire the minimum required resources, failing slot requests\.[^\n]*? "
        rf"Current slot pool status: {REST:reason_text}",
        starts="Could not acquire the minimum required resources, ",
        reason="NO_RESOURCE_AVAILABLE",
    ),
    Pattern(
        "jobmanager_fatal",
        "1.9+",
        r"Fatal error occurred in (?:the cluster entrypoint|ResourceManager)\.",
        in_trace=_JOB_OF_TRACE,
    ),
    Pattern(
        "jobmanager_fatal", "1.9+", r"Fatal error occurred on JobManager\.", in_trace=_JOB_OF_TRACE
    ),
    Pattern("jobmanager_fatal", "1.9+", rf"Could not start cluster entrypoint {WORD}\."),
    Pattern(
        # Application mode: main() ended before the job, or before it submitted one.
        "program_failed",
        "1.11+",
        r"Application failed unexpectedly",
    ),
    Pattern(
        "program_failed",
        "2.3+, of REST, written by ingest.flink_rest.applications",
        rf"Flink application {WORD} failed without a job",
    ),
    Pattern("program_failed", "1.9+", r"Run python process failed"),
    Pattern("program_failed", "1.11+ on Kubernetes", r"Could not create application program"),
    Pattern("program_failed", "1.9+", rf"Failed to submit job (?:{JOB}\.|graph )"),
    Pattern(
        # The enumerator of files or of a lake table goes on without new splits.
        "enumeration_failed",
        "1.12+",
        r"Failed to enumerate files",
    ),
    Pattern("enumeration_failed", "Iceberg's connector", r"Failed to discover new splits"),
    Pattern(
        "submission_ignored",
        "1.15+",
        rf"Ignoring (?:JobGraph|job) submission '{ANY:job_name}' \({JOB}\) because "
        rf"{REST:reason_text}",
        reason="JOB_KNOWN_ALREADY",
    ),
    Pattern(
        "client_lost",
        "1.17+",
        rf"The heartbeat from the job client is timeout and cancel the job {JOB}\.",
        reason="CLIENT_LOST",
    ),
    Pattern(
        "ha_entry_removed",
        "1.12+ on Kubernetes",
        rf"Could not retrieve the state handle of '{ANY:path}' from ConfigMap '{ANY}'\. Removing "
        rf"the entry",
        reason="HA_STORE_BROKEN",
    ),
    Pattern(
        "cluster_shut_down",
        "1.9+",
        rf"Shutting {WORD} down with application status {STATE:to_state}\. Diagnostics "
        rf"(?:null\.|{REST:reason_text})",
    ),
    Pattern("taskmanager_fatal", "1.9+", rf"Fatal error occurred in TaskExecutor {WORD}\."),
    Pattern("taskmanager_fatal", "1.9+", r"Fatal error occurred while executing the TaskManager\."),
    Pattern("taskmanager_fatal", "1.9–1.12", r"TaskManager initialization failed\."),
    Pattern(
        "taskmanager_fatal", "1.9+", rf"Terminating TaskManagerRunner with exit code {INT:count}"
    ),
    Pattern("fatal_error", "1.9+", rf"FATAL: Thread '{ANY}' produced an uncaught exception\."),
    Pattern(
        "signal_received", "1.9+", rf"RECEIVED SIGNAL {INT:count}: {ANY:reason_text}\.(?: |\n)"
    ),
    Pattern(
        "leadership_granted",
        "1.9–1.12",
        rf"JobManager runner for job {ANY:job_name} \({JOB}\) was granted leadership with session "
        rf"id ",
    ),
    Pattern(
        "leadership_granted",
        "1.13+",
        rf"JobMasterServiceLeadershipRunner for job {JOB} was granted leadership with leader id ",
    ),
    Pattern(
        "leadership_lost",
        "1.13+",
        rf"JobMasterServiceLeadershipRunner for job {JOB} was revoked leadership with leader id ",
        reason="LEADERSHIP_LOST",
    ),
    Pattern(
        "leadership_lost",
        "1.9–1.12",
        rf"JobManager for job {ANY:job_name} \({JOB}\) (?:at {ANY} )?was revoked leadership",
        reason="LEADERSHIP_LOST",
    ),
    Pattern(
        "leadership_lost",
        "1.9+",
        rf"JobManager for job {JOB} with leader id {ANY} lost leadership",
        reason="LEADERSHIP_LOST",
    ),
    Pattern(
        "leadership_lost",
        "1.9+",
        rf"ResourceManager {WORD} was revoked leadership",
        reason="LEADERSHIP_LOST",
    ),
    Pattern(
        "leadership_lost",
        "1.11+",
        r"DefaultDispatcherRunner was revoked the leadership",
        reason="LEADERSHIP_LOST",
    ),
    Pattern(
        # org.apache.hadoop.fs.s3a.WriteOperationHelper
        STORE_RETRIED,
        "Hadoop 3.1+",
        rf"{ANY}: Retried {INT:count}: {REST:reason_text}",
        contains=" Retried ",
    ),
    Pattern(
        # com.google.cloud.hadoop.util.RetryHttpInitializer
        STORE_RETRIED,
        "GCS connector",
        r"Encountered status code (?:429|503) when (?:sending [A-Z]+ request to|accessing) URL ",
        reason="STORE_THROTTLED",
    ),
    Pattern(
        "zookeeper_lost",
        "1.9+",
        rf"Connection to ZooKeeper (?:suspended|lost){REST:reason_text}",
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
"""Events whose ``path`` is the place in an object store, if the text names a bucket."""

KIND_OF_PIECE = {
    "Exceeded checkpoint tolerable failure threshold": "tolerable_failures_exceeded",
    "Insufficient number of network buffers": "insufficient_network_buffers",
    "PartitionNotFoundException": "partition_not_found",
    "java.lang.OutOfMemoryError": "out_of_memory",
    "OversizedPayloadException": "rpc_too_large",
    "exceeds the maximum akka framesize": "rpc_too_large",
    "exceeds the maximum pekko framesize": "rpc_too_large",
    "'s result size ": "rpc_too_large",
    "UID that has been quarantined": "association_quarantined",
    "irrecoverably failed": "association_quarantined",
    "has quarantined this system": "association_quarantined",
    "RegistrationTimeoutException": "registration_failed",
    "Service: Amazon S3; Status Code: 403": "store_refused",
    "Service: S3, Status Code: 403": "store_refused",
    "[ErrorCode]: AccessDenied": "store_refused",
    "AuthorizationPermissionMismatch": "store_refused",
    "Error Code: RequestTimeout": "store_timeout",
    "Service: Amazon S3; Status Code: 503": "store_throttled",
    "Service: S3, Status Code: 503": "store_throttled",
    "QpsLimitExceeded": "store_throttled",
    ", ServerBusy": "store_throttled",
    "exceeded the rate limit for object": "store_throttled",
    "educe your request rate": "store_throttled",
    "Timeout waiting for connection from pool": "store_pool_exhausted",
    "Acquire operation took longer": "store_pool_exhausted",
    "AskTimeoutException": "rpc_timeout",
}
"""Piece of a stack trace → kind of an event that only the trace shows, if no ``Pattern`` matches the
line. The leftmost piece decides.
"""

UNREAD = "unread_line"
"""A line that begins like an entry but does not match: a release may word it otherwise."""

KINDS: tuple[str, ...] = tuple(
    dict.fromkeys(
        [*(pattern.kind for pattern in PATTERNS), *reports.KINDS, *KIND_OF_PIECE.values(), UNREAD]
    )
)

IGNORED_STARTS: tuple[str, ...] = (
    "Application ",
    "Checkpoint storage is set to ",
    "Encountered status code ",
)
"""Usual lines without an event, which are not ``UNREAD``."""

READ_CHARS = 8192

KEPT_LEVELS: tuple[str, ...] = ("WARN", "ERROR", "FATAL")


def starts() -> tuple[str, ...]:
    patterns = (pattern.starts for pattern in PATTERNS if pattern.starts)
    return tuple(dict.fromkeys((*patterns, reports.OPENING)))


def contained() -> tuple[str, ...]:
    """Each ``contains``, except those with another one inside."""
    pieces = list(dict.fromkeys(pattern.contains for pattern in PATTERNS if pattern.contains))
    return tuple(
        piece for piece in pieces if not any(other != piece and other in piece for other in pieces)
    )
