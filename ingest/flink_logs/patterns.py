"""The pattern table: every log line that becomes a typed event.

An entry is tried on the first 8,192 characters of the first line of a message (the part behind the header) when that line begins with
``starts`` or holds ``contains``; the first entry whose ``regex`` then matches decides. Rules for a regex:

* of one meaning in every engine and for every alphabet: so ``[0-9]`` and ``[^ ]`` instead of ``\\d`` and ``\\S``,
  ``[^\\n]`` instead of ``.``, positional groups, no ``$``; it begins with ``^``;
* linear: names of jobs and tasks may hold anything, so at most one unbounded group before each literal;
* group *n* feeds ``fields[n-1]``; a field named twice takes whichever group took part;
* ``subtask_number`` is the 1-based ``i`` of ``(i/p)``; it becomes the 0-based ``subtask``.

To add a pattern: copy the nearest entry, give it an example line; the tests pick it up.
"""

from dataclasses import dataclass

from ingest.flink_logs import templates as t


@dataclass(frozen=True, slots=True)
class Pattern:
    """Exactly one of ``starts`` and ``contains`` is set. ``reason`` is a code that the line itself implies."""

    kind: str
    regex: str
    fields: tuple[str, ...]
    versions: str
    example: str
    starts: str = ""
    contains: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TracePattern:
    """An event that only the stack trace of a record shows, where no :class:`Pattern` matches; the leftmost ``piece`` decides."""

    kind: str
    piece: str
    reason: str
    example: str


_TASK_PATTERNS = (
    Pattern(
        "task_state",
        rf"^{t.ANY} \({t.SUBTASK}\)(?:#{t.INT})? \({t.EXECUTION}\) switched from {t.STATE} to {t.STATE}"
        rf"(?: on {t.LOCATION_OR_NONE}| with failure cause:(?: {t.REST})?)?[^\n]*",
        ("task", "subtask_number", "parallelism", "attempt", "execution_id", "from_state", "to_state", "container", "host", "reason_text"),
        "1.9+",
        f"Source: clicks (1/2) ({t.SAMPLE_EXECUTION}) switched from RUNNING to FAILED on tm-1:4-d1 @ host-1 (dataPort=44467).",
        contains=" switched from ",
    ),
    Pattern(
        "job_state",
        rf"^Job {t.ANY} \({t.JOB}\) switched from state {t.STATE} to {t.STATE}[^\n]*",
        ("job_name", "job_id", "from_state", "to_state"),
        "1.9+",
        f"Job orders (eu) ({t.SAMPLE_JOB}) switched from state RUNNING to FAILING.",
        contains=" switched from state ",
    ),
    Pattern(
        "checkpoint_sync_done",
        # Where it was unaligned, barriers are still to come, and Flink prints 0 for what is not known yet.
        rf"^{t.ANY} \({t.SUBTASK}\)(?:#{t.INT})? - finished synchronous part of checkpoint {t.INT}\. Alignment duration: "
        rf"(?:-?[0-9]+ ms, snapshot duration {t.SIGNED_MS} ms, is unaligned checkpoint : true"
        rf"|{t.MS} ms, snapshot duration {t.SIGNED_MS} ms)[^\n]*",
        ("task", "subtask_number", "parallelism", "attempt", "checkpoint_id", "duration_ms", "alignment_ms", "duration_ms"),
        "1.9+ DEBUG",
        "parse (2/2)#0 - finished synchronous part of checkpoint 7. Alignment duration: 1 ms, snapshot duration 4 ms, "
        "is unaligned checkpoint : false",
        contains=" part of checkpoint ",
    ),
    Pattern(
        "checkpoint_sync_failed",
        rf"^{t.ANY} \({t.SUBTASK}\)(?:#{t.INT})? - did NOT finish synchronous part of checkpoint {t.INT}[^\n]*",
        ("task", "subtask_number", "parallelism", "attempt", "checkpoint_id"),
        "1.11+ DEBUG",
        "parse (2/2)#0 - did NOT finish synchronous part of checkpoint 7. Alignment duration: 1 ms, snapshot duration 4 ms",
        contains=" part of checkpoint ",
    ),
    Pattern(
        "checkpoint_async_started",
        rf"^{t.ANY} \({t.SUBTASK}\)(?:#{t.INT})? - started executing asynchronous part of checkpoint {t.INT}\."
        rf" Asynchronous start delay: {t.SIGNED_MS} ms[^\n]*",
        ("task", "subtask_number", "parallelism", "attempt", "checkpoint_id", "duration_ms"),
        "1.12+ DEBUG",
        "parse (2/2)#0 - started executing asynchronous part of checkpoint 7. Asynchronous start delay: 2 ms",
        contains=" part of checkpoint ",
    ),
    Pattern(
        "checkpoint_async_done",
        rf"^{t.ANY} \({t.SUBTASK}\)(?:#{t.INT})? - finished asynchronous part of checkpoint {t.INT}\."
        rf" Asynchronous duration: {t.SIGNED_MS} ms[^\n]*",
        ("task", "subtask_number", "parallelism", "attempt", "checkpoint_id", "duration_ms"),
        "1.11+ DEBUG",
        "parse (2/2)#0 - finished asynchronous part of checkpoint 7. Asynchronous duration: 31 ms",
        contains=" part of checkpoint ",
    ),
    Pattern(
        "checkpoint_async_failed",
        rf"^{t.ANY} \({t.SUBTASK}\)(?:#{t.INT})? - asynchronous part of checkpoint {t.INT} could not be completed\.[^\n]*",
        ("task", "subtask_number", "parallelism", "attempt", "checkpoint_id"),
        "1.11+",
        "enrich (2/4)#0 - asynchronous part of checkpoint 3 could not be completed.",
        contains=" part of checkpoint ",
    ),
    Pattern(
        # Its checkpoint is named by the directory only, that of a savepoint not at all; its job follows from the task.
        "backend_sync_done",
        rf"^[A-Za-z ]{{1,80}} \({t.CHECKPOINT_LOCATION}, synchronous part\) in thread Thread\[(?:Async calls on )?{t.ANY} \({t.SUBTASK}\)"
        rf"(?:#{t.INT})?,[0-9]{{1,2}},[^\],\n]*\] took {t.MS} ms[^\n]*",
        ("checkpoint_id", "checkpoint_id", "task", "subtask_number", "parallelism", "attempt", "duration_ms"),
        "1.9+ DEBUG",
        f"DefaultOperatorStateBackend snapshot ({t.SAMPLE_LOCATION}, synchronous part) in thread Thread[parse (2/2)#0,5,Flink Task Threads]"
        " took 1 ms.",
        contains=" part) in thread ",
    ),
    Pattern(
        "backend_async_done",
        rf"^[A-Za-z ]{{1,80}} \({t.JOB_LOCATION}, asynchronous part\) in thread [^\n]*?\] took {t.MS} ms[^\n]*",
        ("job_id", "checkpoint_id", "checkpoint_id", "duration_ms"),
        "1.9+ DEBUG",
        f"Asynchronous incremental RocksDB snapshot ({t.SAMPLE_LOCATION}, asynchronous part) in thread "
        "Thread[AsyncOperations-thread-1,5,Flink Task Threads] took 43 ms.",
        contains=" part) in thread ",
    ),
    Pattern(
        "barriers_aligned",
        rf"^{t.ANY} \({t.SUBTASK}\)(?:#{t.INT})? \({t.EXECUTION}\): All the channels are aligned for checkpoint {t.INT}[^\n]*",
        ("task", "subtask_number", "parallelism", "attempt", "execution_id", "checkpoint_id"),
        "1.13+ DEBUG",
        f"parse (2/2)#0 ({t.SAMPLE_EXECUTION}): All the channels are aligned for checkpoint 7.",
        contains=": All the channels are aligned for checkpoint ",
    ),
    Pattern(
        "barrier_skipped",
        rf"^{t.ANY} \({t.SUBTASK}\)(?:#{t.INT})? \({t.EXECUTION}\): Received checkpoint barrier for checkpoint {t.INT} before completing"
        rf" current checkpoint {t.INT}[^\n]*",
        ("task", "subtask_number", "parallelism", "attempt", "execution_id", "count", "checkpoint_id"),
        "1.13+",
        f"parse (1/2)#0 ({t.SAMPLE_EXECUTION}): Received checkpoint barrier for checkpoint 9 before completing current checkpoint 8. "
        "Skipping current checkpoint.",
        contains=": Received checkpoint barrier for checkpoint ",
    ),
    Pattern(
        "region_restart",
        rf"^{t.INT} tasks (?:will|should) be restarted to recover the failed task {t.EXECUTION}[^\n]*",
        ("count", "execution_id"),
        "1.9+",
        f"10 tasks will be restarted to recover the failed task {t.SAMPLE_EXECUTION}. ",
        contains=" be restarted to recover ",
    ),
    Pattern(
        "global_restart",
        rf"^{t.INT} tasks will be restarted to recover from a global failure[^\n]*",
        ("count",),
        "1.16+",
        "10 tasks will be restarted to recover from a global failure.",
        contains=" be restarted to recover ",
    ),
)

_CHECKPOINT_PATTERNS = (
    Pattern(
        "checkpoint_triggered",
        rf"^Triggering checkpoint {t.INT}(?: \(type={t.CHECKPOINT_TYPE}\))? @ {t.INT} for job {t.JOB}[^\n]*",
        ("checkpoint_id", "checkpoint_type", "checkpoint_type", "trigger_time", "job_id"),
        "1.9+",
        "Triggering checkpoint 3 (type=CheckpointType{name='Checkpoint', sharingFilesStrategy=FORWARD_BACKWARD}) "
        f"@ 1795234350123 for job {t.SAMPLE_JOB}.",
        starts="Triggering checkpoint ",
    ),
    Pattern(
        "checkpoint_completed",
        rf"^Completed checkpoint {t.INT} for job {t.JOB} \({t.INT} bytes(?:, checkpointDuration=| in ){t.MS} ms[^\n]*",
        ("checkpoint_id", "job_id", "state_bytes", "duration_ms"),
        "1.9+",
        f"Completed checkpoint 5 for job {t.SAMPLE_JOB} (1058577 bytes, checkpointDuration=230 ms, finalizationTime=12 ms).",
        starts="Completed checkpoint ",
    ),
    Pattern(
        "checkpoint_acknowledged",
        rf"^Received acknowledge message for checkpoint {t.INT} from task {t.EXECUTION} of job {t.JOB} at {t.LOCATION_OR_NONE}[^\n]*",
        ("checkpoint_id", "execution_id", "job_id", "container", "host"),
        "1.9+ DEBUG",
        f"Received acknowledge message for checkpoint 5 from task {t.SAMPLE_EXECUTION} of job {t.SAMPLE_JOB} {t.SAMPLE_AT}.",
        starts="Received acknowledge message for checkpoint ",
    ),
    Pattern(
        "checkpoint_declined",
        rf"^Decline checkpoint {t.INT} by task {t.EXECUTION} of job {t.JOB}(?: at {t.LOCATION_OR_NONE})?[^\n]*",
        ("checkpoint_id", "execution_id", "job_id", "container", "host"),
        "1.9+",
        f"Decline checkpoint 9 by task {t.SAMPLE_EXECUTION} of job {t.SAMPLE_JOB} {t.SAMPLE_AT}.",
        starts="Decline checkpoint ",
    ),
    Pattern(
        "checkpoint_expired",
        rf"^Checkpoint {t.INT} of job {t.JOB} expired before completing[^\n]*",
        ("checkpoint_id", "job_id"),
        "1.9+",
        f"Checkpoint 4 of job {t.SAMPLE_JOB} expired before completing.",
        starts="Checkpoint ",
        reason="CHECKPOINT_EXPIRED",
    ),
    Pattern(
        "late_message",
        # Up to 1.8 without "task" and without the host.
        rf"^Received late message for now expired checkpoint attempt {t.INT} from (?:task )?{t.EXECUTION} of job {t.JOB}"
        rf"(?: at {t.LOCATION_OR_NONE})?[^\n]*",
        ("checkpoint_id", "execution_id", "job_id", "container", "host"),
        "1.5+",
        f"Received late message for now expired checkpoint attempt 4 from task {t.SAMPLE_EXECUTION} of job {t.SAMPLE_JOB} {t.SAMPLE_AT}.",
        starts="Received late message for now expired checkpoint attempt ",
    ),
    Pattern(
        "late_decline",
        rf"^Received another decline message for now expired checkpoint attempt {t.INT} from task {t.EXECUTION} of job {t.JOB}"
        rf" at {t.LOCATION_OR_NONE}(?: : {t.REST})?[^\n]*",
        ("checkpoint_id", "execution_id", "job_id", "container", "host", "reason_text"),
        "1.9+ DEBUG",
        f"Received another decline message for now expired checkpoint attempt 4 from task {t.SAMPLE_EXECUTION} of job {t.SAMPLE_JOB}"
        f" {t.SAMPLE_AT} : Asynchronous task checkpoint failed.",
        starts="Received another decline message for now expired checkpoint attempt ",
    ),
    Pattern(
        "unknown_checkpoint_message",
        rf"^Received (?:decline )?message for an? unknown (?:\(too old\?\) )?checkpoint (?:attempt )?{t.INT} from task {t.EXECUTION}"
        rf" of job {t.JOB} at {t.LOCATION_OR_NONE}(?: : {t.REST})?[^\n]*",
        ("checkpoint_id", "execution_id", "job_id", "container", "host", "reason_text"),
        "1.9+ DEBUG",
        f"Received message for an unknown checkpoint 4 from task {t.SAMPLE_EXECUTION} of job {t.SAMPLE_JOB} {t.SAMPLE_AT}.",
        starts="Received message for an unknown checkpoint ",
    ),
    Pattern(
        "unknown_checkpoint_message",
        rf"^Received decline message for unknown \(too old\?\) checkpoint attempt {t.INT} from task {t.EXECUTION} of job {t.JOB}"
        rf" at {t.LOCATION_OR_NONE}(?: : {t.REST})?[^\n]*",
        ("checkpoint_id", "execution_id", "job_id", "container", "host", "reason_text"),
        "1.9+ DEBUG",
        f"Received decline message for unknown (too old?) checkpoint attempt 4 from task {t.SAMPLE_EXECUTION} of job {t.SAMPLE_JOB}"
        f" {t.SAMPLE_AT} : Checkpoint was declined.",
        starts="Received decline message for unknown (too old?) checkpoint attempt ",
    ),
    Pattern(
        "acknowledge_failed",
        rf"^Could not acknowledge the checkpoint {t.INT} for task {t.EXECUTION} of job {t.JOB} at {t.LOCATION_OR_NONE}"
        rf"(?:, because {t.ANY}\. Discarding)?[^\n]*",
        ("checkpoint_id", "execution_id", "job_id", "container", "host", "reason_text"),
        "1.9+",
        f"Could not acknowledge the checkpoint 4 for task {t.SAMPLE_EXECUTION} of job {t.SAMPLE_JOB} {t.SAMPLE_AT}, because the pending "
        "checkpoint had been discarded. Discarding the state handle tp avoid lingering state.",
        starts="Could not acknowledge the checkpoint ",
    ),
    Pattern(
        "checkpoint_discarded",
        rf"^Discarding checkpoint {t.INT} of job {t.JOB}[^\n]*",
        ("checkpoint_id", "job_id"),
        "1.9–1.10",
        f"Discarding checkpoint 4 of job {t.SAMPLE_JOB}.",
        starts="Discarding checkpoint ",
    ),
    Pattern(
        "trigger_refused",
        rf"^Failed to trigger checkpoint for job {t.JOB} since {t.REST}",
        ("job_id", "reason_text"),
        "1.13+",
        f"Failed to trigger checkpoint for job {t.SAMPLE_JOB} since Not all required tasks are currently running..",
        starts="Failed to trigger checkpoint for job ",
    ),
    Pattern(
        "trigger_refused",
        rf"^Checkpoint triggering task {t.ANY} \({t.SUBTASK}\)(?:#[0-9]+)? of job {t.JOB} is not {t.REST}",
        ("task", "subtask_number", "parallelism", "job_id", "reason_text"),
        "1.9–1.11",
        f"Checkpoint triggering task Source: clicks (1/2) of job {t.SAMPLE_JOB} is not in state RUNNING but SCHEDULED instead. "
        "Aborting checkpoint.",
        starts="Checkpoint triggering task ",
        reason="NOT_ALL_REQUIRED_TASKS_RUNNING",
    ),
    Pattern(
        "checkpoint_failed",
        rf"^Failed to trigger or complete checkpoint (?:{t.INT}|UNKNOWN_CHECKPOINT_ID) for job {t.JOB}\. \({t.INT} consecutive[^\n]*",
        ("checkpoint_id", "job_id", "count"),
        "1.14+",
        f"Failed to trigger or complete checkpoint 4 for job {t.SAMPLE_JOB}. (0 consecutive failed attempts so far)",
        starts="Failed to trigger or complete checkpoint ",
    ),
    Pattern(
        "trigger_failed",
        rf"^Failed to trigger checkpoint (?:{t.INT} )?for job {t.JOB}\.? \({t.INT} consecutive[^\n]*",
        ("checkpoint_id", "job_id", "count"),
        "1.9–1.13",
        f"Failed to trigger checkpoint 4 for job {t.SAMPLE_JOB}. (2 consecutive failed attempts so far)",
        starts="Failed to trigger checkpoint ",
    ),
    Pattern(
        "trigger_failed",
        rf"^Triggering Checkpoint {t.SIGNED} for job {t.JOB} failed due to {t.REST}",
        ("checkpoint_id", "job_id", "reason_text"),
        "1.15+",
        f"Triggering Checkpoint 4 for job {t.SAMPLE_JOB} failed due to java.io.IOException: disk full",
        starts="Triggering Checkpoint ",
    ),
    Pattern(
        "coordinator_stopped",
        rf"^Stopping checkpoint coordinator for job {t.JOB}[^\n]*",
        ("job_id",),
        "1.9+",
        f"Stopping checkpoint coordinator for job {t.SAMPLE_JOB}.",
        starts="Stopping checkpoint coordinator for job ",
    ),
    Pattern(
        # All its barriers are there, or the first one of an unaligned checkpoint; at a source, its mailbox was free.
        "checkpoint_sync_started",
        rf"^Starting checkpoint \(?{t.INT}\)? {t.CHECKPOINT_TYPE} on task {t.REST} \({t.SUBTASK}\)(?:#{t.INT})?",
        ("checkpoint_id", "checkpoint_type", "checkpoint_type", "task", "subtask_number", "parallelism", "attempt"),
        "1.9+ DEBUG",
        "Starting checkpoint 7 CheckpointType{name='Checkpoint', sharingFilesStrategy=FORWARD_BACKWARD} on task parse (2/2)#0",
        starts="Starting checkpoint ",
    ),
    Pattern(
        "scheduler_started",
        r"^Starting checkpoint scheduler[^\n]*",
        (),
        "2.3+",
        "Starting checkpoint scheduler",
        starts="Starting checkpoint scheduler",
    ),
    Pattern(
        "scheduler_stopped",
        rf"^Stopping checkpoint scheduler, current job status: {t.STATE}[^\n]*",
        ("to_state",),
        "2.3+",
        "Stopping checkpoint scheduler, current job status: FAILING",
        starts="Stopping checkpoint scheduler",
    ),
    Pattern(
        "abort_not_sent",
        rf"^Could not send aborted message of checkpoint {t.INT} to task {t.EXECUTION} belonging to job {t.JOB}[^\n]*",
        ("checkpoint_id", "execution_id", "job_id"),
        "1.20+",
        f"Could not send aborted message of checkpoint 4 to task {t.SAMPLE_EXECUTION} belonging to job {t.SAMPLE_JOB}.",
        starts="Could not send aborted message of checkpoint ",
    ),
    Pattern(
        "metadata_uncertain",
        rf"^An error occurred while writing checkpoint {t.INT} to the underlying metadata store[^\n]*? located at '{t.PATH}'[^\n]*",
        ("checkpoint_id", "path"),
        "1.13+",
        "An error occurred while writing checkpoint 4 to the underlying metadata store. Flink was not able to determine whether the "
        "metadata was successfully persisted. The corresponding state located at 's3://b/c/chk-4' won't be discarded and needs to be "
        "cleaned up manually.",
        starts="An error occurred while writing checkpoint ",
    ),
    Pattern(
        "checkpoint_retained",
        rf"^Checkpoint with ID {t.INT} at '{t.PATH}' not discarded[^\n]*",
        ("checkpoint_id", "path"),
        "1.12+",
        "Checkpoint with ID 7 at 'file:/data/sp/savepoint-26eb67-f0' not discarded.",
        starts="Checkpoint with ID ",
    ),
    Pattern(
        "discard_failed",
        rf"^(?:Could not properly discard completed checkpoint|Fail to discard the old checkpoint) [^0-9\n]{{0,60}}{t.INT}[^\n]*",
        ("checkpoint_id",),
        "1.13–1.16",
        "Could not properly discard completed checkpoint 4.",
        starts="Could not properly discard completed checkpoint ",
    ),
    Pattern(
        "discard_failed",
        rf"^Fail to discard the old checkpoint [^0-9\n]{{0,60}}{t.INT}[^\n]*",
        ("checkpoint_id",),
        "1.17+",
        "Fail to discard the old checkpoint 4.",
        starts="Fail to discard the old checkpoint ",
    ),
    Pattern(
        "subsume_failed",
        r"^Fail to subsume the old checkpoint[^\n]*",
        (),
        "1.13+",
        "Fail to subsume the old checkpoint.",
        starts="Fail to subsume the old checkpoint",
    ),
    Pattern(
        "restore_without_checkpoint",
        r"^No checkpoint found during restore[^\n]*",
        (),
        "1.11+",
        "No checkpoint found during restore.",
        starts="No checkpoint found during restore",
    ),
    Pattern(
        "restored",
        rf"^Restoring job {t.JOB} from (?:latest valid checkpoint: )?{t.SNAPSHOT_NAME} {t.INT} @ {t.INT} for [0-9a-f]{{32}}"
        rf"(?: located at {t.REST})?[^\n]*",
        ("job_id", "checkpoint_type", "checkpoint_id", "trigger_time", "path"),
        "1.9+",
        f"Restoring job {t.SAMPLE_JOB} from Savepoint 7 @ 1795234350123 for {t.SAMPLE_JOB} located at file:/data/sp/savepoint-26eb67-f0.",
        starts="Restoring job ",
    ),
    Pattern(
        "restore_requested",
        rf"^Starting job {t.JOB} from savepoint {t.ANY} \([^()\n]{{0,40}}\)[^\n]*",
        ("job_id", "path"),
        "1.9+",
        f"Starting job {t.SAMPLE_JOB} from savepoint file:/data/sp/savepoint-26eb67-f0 (allowing non restored state)",
        starts="Starting job ",
    ),
    Pattern(
        "checkpoint_id_reset",
        rf"^Reset the checkpoint ID of job {t.JOB} to {t.INT}[^\n]*",
        ("job_id", "checkpoint_id"),
        "1.9+",
        f"Reset the checkpoint ID of job {t.SAMPLE_JOB} to 8.",
        starts="Reset the checkpoint ID of job ",
    ),
    Pattern(
        "savepoint_requested",
        rf"^Triggering (cancel-with-|stop-with-)?savepoint for job {t.JOB}[^\n]*",
        ("reason_text", "job_id"),
        "1.11+",
        f"Triggering stop-with-savepoint for job {t.SAMPLE_JOB}.",
        starts="Triggering stop-with-savepoint for job ",
    ),
    Pattern(
        "savepoint_requested",
        rf"^Triggering (cancel-with-)?savepoint for job {t.JOB}[^\n]*",
        ("reason_text", "job_id"),
        "1.11+",
        f"Triggering cancel-with-savepoint for job {t.SAMPLE_JOB}.",
        starts="Triggering cancel-with-savepoint for job ",
    ),
    Pattern(
        "savepoint_requested",
        rf"^Triggering savepoint for job {t.JOB}[^\n]*",
        ("job_id",),
        "1.11+",
        f"Triggering savepoint for job {t.SAMPLE_JOB}.",
        starts="Triggering savepoint for job ",
    ),
    Pattern(
        "savepoint_stored",
        rf"^Savepoint stored in {t.ANY}\. Now cancelling {t.JOB}[^\n]*",
        ("path", "job_id"),
        "1.11+",
        f"Savepoint stored in file:/data/sp/savepoint-26eb67-f0. Now cancelling {t.SAMPLE_JOB}.",
        starts="Savepoint stored in ",
    ),
    Pattern(
        "checkpoint_requested",
        rf"^Triggering a manual checkpoint for job {t.JOB}[^\n]*",
        ("job_id",),
        "1.15+",
        f"Triggering a manual checkpoint for job {t.SAMPLE_JOB}.",
        starts="Triggering a manual checkpoint for job ",
    ),
    Pattern(
        "ha_recovery",
        rf"^Recovering checkpoints from {t.REST}",
        ("path",),
        "1.9+",
        "Recovering checkpoints from ZooKeeperStateHandleStore{namespace='flink/default'}.",
        starts="Recovering checkpoints from ",
    ),
    Pattern(
        "ha_recovery",
        rf"^Found {t.INT} checkpoints in {t.REST}",
        ("count", "path"),
        "1.9+",
        "Found 1 checkpoints in ZooKeeperStateHandleStore{namespace='flink/default'}.",
        starts="Found ",
    ),
    Pattern(
        "ha_recovery",
        rf"^Trying to retrieve checkpoint {t.INT}[^\n]*",
        ("checkpoint_id",),
        "1.9+",
        "Trying to retrieve checkpoint 41.",
        starts="Trying to retrieve checkpoint ",
    ),
    Pattern(
        "checkpoint_aborted_notice",
        rf"^Checkpoint {t.INT} has been notified as aborted, would not trigger any checkpoint[^\n]*",
        ("checkpoint_id",),
        "1.11+",
        "Checkpoint 4 has been notified as aborted, would not trigger any checkpoint.",
        starts="Checkpoint ",
    ),
    Pattern(
        "barrier_out_of_order",
        rf"^Out of order checkpoint barrier \(aborted previously\?\): {t.INT} >= {t.INT}[^\n]*",
        ("count", "checkpoint_id"),
        "1.11+",
        "Out of order checkpoint barrier (aborted previously?): 9 >= 8",
        starts="Out of order checkpoint barrier ",
    ),
    Pattern(
        "slow_barrier",
        rf"^Time from receiving all checkpoint barriers/RPC (?:for checkpoint {t.INT} )?to executing it exceeded threshold:"
        rf" {t.MS}ms[^\n]*",
        ("checkpoint_id", "duration_ms"),
        "1.13+",
        "Time from receiving all checkpoint barriers/RPC for checkpoint 9 to executing it exceeded threshold: 30012ms",
        starts="Time from receiving all checkpoint barriers/RPC ",
    ),
    Pattern(
        "coordinator_missing",
        rf"^Received {t.ANY} message for job {t.JOB} with no CheckpointCoordinator[^\n]*",
        ("reason_text", "job_id"),
        "1.9+",
        f"Received AcknowledgeCheckpoint message for job {t.SAMPLE_JOB} with no CheckpointCoordinator",
        contains=" with no CheckpointCoordinator",
    ),
)

_JOB_PATTERNS = (
    Pattern(
        "task_deployed",
        rf"^Deploying {t.ANY} \({t.SUBTASK}\) \(attempt #{t.INT}\)(?: with attempt id {t.EXECUTION}(?: and vertex id {t.HEX}_[0-9]+)?)?"
        rf" to {t.LOCATION_OR_NONE}[^\n]*",
        ("task", "subtask_number", "parallelism", "attempt", "execution_id", "vertex_id", "container", "host"),
        "1.9+",
        f"Deploying enrich (2/4) (attempt #0) with attempt id {t.SAMPLE_EXECUTION} and vertex id {t.SAMPLE_VERTEX}_1 to "
        f"tm-1:4-d1 @ host-1 (dataPort=44467) with allocation id {t.SAMPLE_JOB}",
        starts="Deploying ",
    ),
    Pattern(
        "task_deployed",
        rf"^Deploying {t.ANY} \({t.SUBTASK}\) \(attempt #{t.INT}\) to slot {t.WORD} on {t.WORD}[^\n]*",
        ("task", "subtask_number", "parallelism", "attempt", "container", "host"),
        "before 1.9",
        "Deploying enrich (2/4) (attempt #0) to slot container_e24_1566836790522_8088_04_013155_1 on host-1",
        starts="Deploying ",
    ),
    Pattern(
        # Its execution_id is that of the graph, with which the ids of its attempts begin.
        "execution_graph_created",
        rf"^Created execution graph {t.HEX} for job {t.JOB}[^\n]*",
        ("execution_id", "job_id"),
        "1.16+",
        f"Created execution graph a932b3badd0047fc56bb20dcdd6164f3 for job {t.SAMPLE_JOB}.",
        starts="Created execution graph ",
    ),
    Pattern(
        "global_restart",
        r"^Trying to recover from a global failure[^\n]*",
        (),
        "1.9+",
        "Trying to recover from a global failure.",
        starts="Trying to recover from a global failure",
    ),
    Pattern(
        "region_restart_started",
        rf"^Calculating tasks to restart to recover the failed task {t.EXECUTION}[^\n]*",
        ("execution_id",),
        "1.9–1.15",
        f"Calculating tasks to restart to recover the failed task {t.SAMPLE_EXECUTION}.",
        starts="Calculating tasks to restart to recover the failed task ",
    ),
    Pattern(
        "job_terminal",
        rf"^Job {t.JOB} reached (?:globally )?terminal state {t.STATE}[^\n]*",
        ("job_id", "to_state"),
        "1.9+",
        f"Job {t.SAMPLE_JOB} reached terminal state FAILED.",
        starts="Job ",
    ),
    Pattern(
        "job_archived",
        rf"^Job {t.JOB} has been archived at {t.REST}",
        ("job_id", "path"),
        "1.9–2.2",
        f"Job {t.SAMPLE_JOB} has been archived at hdfs:/archive/{t.SAMPLE_JOB}.",
        starts="Job ",
    ),
    Pattern(
        "job_archived",
        rf"^Successfully archived {t.REST}",
        ("path",),
        "2.3+",
        "Successfully archived hdfs:/archive/1.",
        starts="Successfully archived ",
    ),
    Pattern(
        "job_submitted",
        rf"^Received (?:JobGraph|job) submission (?:{t.JOB} \({t.ANY}\)\.|'{t.ANY}' \({t.JOB}\)\.)[^\n]*",
        ("job_id", "job_name", "job_name", "job_id"),
        "1.9+",
        f"Received JobGraph submission 'orders (eu)' ({t.SAMPLE_JOB}).",
        starts="Received JobGraph submission ",
    ),
    Pattern(
        "job_submitted",
        rf"^Received job submission '{t.ANY}' \({t.JOB}\)\.[^\n]*",
        ("job_name", "job_id"),
        "2.0+",
        f"Received job submission 'orders (eu)' ({t.SAMPLE_JOB}).",
        starts="Received job submission ",
    ),
    Pattern(
        "job_started",
        rf"^Starting execution of job '?{t.ANY}'? \({t.JOB}\) under job master id [^\n]*",
        ("job_name", "job_id"),
        "1.9+",
        f"Starting execution of job 'orders (eu)' ({t.SAMPLE_JOB}) under job master id 00000000000000000000000000000000.",
        starts="Starting execution of job ",
    ),
    Pattern(
        "tm_heartbeat_timeout",
        rf"^(?:The h|H)eartbeat of TaskManager with id {t.CONTAINER}(?:\({t.HOST}[^)\n]*\))? timed out[^\n]*",
        ("container", "host"),
        "1.9+",
        "Heartbeat of TaskManager with id tm-1:4-d1(host-1:6122) timed out.",
        starts="Heartbeat of TaskManager with id ",
    ),
    Pattern(
        "tm_heartbeat_timeout",
        rf"^The heartbeat of TaskManager with id {t.CONTAINER}(?:\({t.HOST}[^)\n]*\))? timed out[^\n]*",
        ("container", "host"),
        "1.9+",
        "The heartbeat of TaskManager with id tm-1:4-d1 timed out.",
        starts="The heartbeat of TaskManager with id ",
    ),
    Pattern(
        "tm_unreachable",
        rf"^TaskManager with id {t.CONTAINER}(?:\({t.HOST}[^)\n]*\))? is no longer reachable[^\n]*",
        ("container", "host"),
        "1.14+",
        "TaskManager with id tm-1:4-d1(host-1:6122) is no longer reachable.",
        starts="TaskManager with id ",
    ),
    Pattern(
        "tm_disconnected",
        rf"^Disconnect TaskExecutor {t.CONTAINER} because: {t.REST}",
        ("container", "reason_text"),
        "1.16+",
        "Disconnect TaskExecutor tm-1:4-d1 because: The TaskExecutor is shutting down.",
        starts="Disconnect TaskExecutor ",
    ),
    Pattern(
        "tm_disconnected",
        rf"^Closing TaskExecutor connection {t.CONTAINER} because: {t.REST}",
        ("container", "reason_text"),
        "1.9+",
        "Closing TaskExecutor connection tm-1:4-d1 because: The TaskExecutor is shutting down.",
        starts="Closing TaskExecutor connection ",
    ),
    Pattern(
        "tm_registered",
        rf"^Registering TaskManager with ResourceID {t.CONTAINER} \({t.ANY}\) at ResourceManager[^\n]*",
        ("container", "path"),
        "1.11+",
        "Registering TaskManager with ResourceID tm-1:4-d1 (pekko.tcp://flink@host-1:6122/user/rpc/taskmanager_0) at ResourceManager",
        starts="Registering TaskManager with ResourceID ",
    ),
    Pattern(
        "resource_manager_lost",
        rf"^The heartbeat of ResourceManager with id {t.CONTAINER} timed out[^\n]*",
        ("container",),
        "1.9+",
        "The heartbeat of ResourceManager with id a1b2 timed out.",
        starts="The heartbeat of ResourceManager with id ",
    ),
    Pattern(
        "resource_manager_lost",
        rf"^Close ResourceManager connection {t.CONTAINER}: {t.REST}",
        ("container", "reason_text"),
        "1.9+",
        "Close ResourceManager connection a1b2: Stopping JobMaster for job orders.",
        starts="Close ResourceManager connection ",
    ),
    Pattern(
        "partition_state_request",
        r"^Error while requesting partition state[^\n]*",
        (),
        "1.9+",
        "Error while requesting partition state",
        starts="Error while requesting partition state",
    ),
)

_TASKMANAGER_PATTERNS = (
    Pattern(
        "job_manager_lost",
        rf"^The heartbeat of JobManager with id {t.CONTAINER} timed out[^\n]*",
        ("container",),
        "1.9+",
        "The heartbeat of JobManager with id a1b2 timed out.",
        starts="The heartbeat of JobManager with id ",
    ),
    Pattern(
        "job_manager_lost",
        rf"^JobManager with id {t.CONTAINER} is no longer reachable[^\n]*",
        ("container",),
        "1.15+",
        "JobManager with id a1b2 is no longer reachable.",
        starts="JobManager with id ",
    ),
    Pattern(
        "task_received",
        rf"^Received task {t.ANY} \({t.SUBTASK}\)(?:#{t.INT})? \({t.EXECUTION}\), deploy into slot[^\n]*",
        ("task", "subtask_number", "parallelism", "attempt", "execution_id"),
        "1.12+",
        f"Received task enrich (2/4)#0 ({t.SAMPLE_EXECUTION}), deploy into slot with allocation id {t.SAMPLE_JOB}.",
        starts="Received task ",
    ),
    Pattern(
        "task_cancel_requested",
        rf"^Attempting to cancel task {t.ANY} \({t.SUBTASK}\)(?:#{t.INT})? \({t.EXECUTION}\)[^\n]*",
        ("task", "subtask_number", "parallelism", "attempt", "execution_id"),
        "1.9+",
        f"Attempting to cancel task enrich (2/4)#0 ({t.SAMPLE_EXECUTION}).",
        starts="Attempting to cancel task ",
    ),
    Pattern(
        "task_failed_externally",
        rf"^Attempting to fail task externally {t.ANY} \({t.SUBTASK}\)(?:#{t.INT})? \({t.EXECUTION}\)[^\n]*",
        ("task", "subtask_number", "parallelism", "attempt", "execution_id"),
        "1.9+",
        f"Attempting to fail task externally enrich (2/4)#0 ({t.SAMPLE_EXECUTION}).",
        starts="Attempting to fail task externally ",
    ),
    Pattern(
        "task_final_state",
        rf"^Un-registering task and sending final execution state {t.STATE} to JobManager for task {t.ANY}"
        rf" \({t.SUBTASK}\)(?:#{t.INT})? {t.EXECUTION}\.[^\n]*",
        ("to_state", "task", "subtask_number", "parallelism", "attempt", "execution_id"),
        "1.9+",
        f"Un-registering task and sending final execution state FAILED to JobManager for task enrich (2/4)#0 {t.SAMPLE_EXECUTION}.",
        starts="Un-registering task and sending final execution state ",
    ),
    Pattern(
        "task_stuck",
        rf"^Task '{t.ANY}' did not react to cancelling signal[^\n]*? for {t.INT} seconds[^\n]*",
        ("task", "count"),
        "1.9+",
        "Task 'enrich (2/4)#0' did not react to cancelling signal - interrupting; it is stuck for 30 seconds in method:",
        starts="Task '",
    ),
    Pattern(
        "changelog_idle",
        rf"^Task {t.ANY} has no state updates since last materialization[^\n]*",
        ("task",),
        "1.15+",
        "Task enrich (2/4)#0 has no state updates since last materialization, skip this one and schedule the next one in 600 seconds",
        contains=" has no state updates since last materialization",
    ),
    Pattern(
        "fatal_error",
        rf"^Encountered fatal error {t.ANY} - terminating the JVM[^\n]*",
        ("reason_text",),
        "1.9+",
        "Encountered fatal error java.lang.OutOfMemoryError - terminating the JVM",
        starts="Encountered fatal error ",
    ),
    Pattern(
        "state_restore_started",
        rf"^Starting to restore from state handle: {t.REST}",
        ("path",),
        "1.13–1.18",
        "Starting to restore from state handle: IncrementalRemoteKeyedStateHandle{} with rescaling.",
        starts="Starting to restore from state handle: ",
    ),
    Pattern(
        "state_restore_started",
        rf"^Starting RocksDB incremental recovery in operator {t.REST}",
        ("task",),
        "1.20+",
        "Starting RocksDB incremental recovery in operator enrich_9c target key-group range KeyGroupRange{startKeyGroup=0, endKeyGroup=3}",
        starts="Starting RocksDB incremental recovery in operator ",
    ),
    Pattern(
        "state_restore_finished",
        rf"^Finished RocksDB incremental recovery in operator {t.REST}",
        ("task",),
        "1.20+",
        "Finished RocksDB incremental recovery in operator enrich_9c target key-group range KeyGroupRange{startKeyGroup=0, endKeyGroup=3}",
        starts="Finished RocksDB incremental recovery in operator ",
    ),
    Pattern(
        "partition_producer_gone",
        rf"^Producer [^\n]*? of partition {t.WORD} disposed\. Cancelling execution[^\n]*",
        ("path",),
        "1.9+",
        "Producer a1 of partition 6f1c#0@2b disposed. Cancelling execution.",
        starts="Producer ",
    ),
    Pattern(
        "blob_download",
        rf"^Downloading {t.JOB}/(p-{t.HEX_BARE}{{1,80}}-{t.HEX_BARE}{{32}}) from [^\n]*",
        ("job_id", "path"),
        "1.9+",
        f"Downloading {t.SAMPLE_JOB}/p-0a1b2c-{t.SAMPLE_JOB} from jm/127.0.0.1:6124",
        starts="Downloading ",
    ),
    Pattern(
        "blob_failed",
        rf"^Failed to fetch BLOB {t.JOB}/{t.WORD} from [^\n]*",
        ("job_id", "path"),
        "1.9+",
        f"Failed to fetch BLOB {t.SAMPLE_JOB}/p-0a1b2c from jm/127.0.0.1:6124 and store it under /tmp/x Retrying...",
        starts="Failed to fetch BLOB ",
    ),
    Pattern(
        "file_merging_directory",
        rf"^Created a directory {t.ANY} for checkpoint file-merging[^\n]*",
        ("path",),
        "1.20+",
        "Created a directory file:/data/ckpt/taskowned/job_1 for checkpoint file-merging.",
        starts="Created a directory ",
    ),
)

PATTERNS: tuple[Pattern, ...] = _TASK_PATTERNS + _CHECKPOINT_PATTERNS + _JOB_PATTERNS + _TASKMANAGER_PATTERNS

TRACE_PATTERNS: tuple[TracePattern, ...] = (
    TracePattern(
        "tolerable_failures_exceeded",
        "Exceeded checkpoint tolerable failure threshold",
        "TOLERABLE_FAILURES_EXCEEDED",
        "org.apache.flink.util.FlinkRuntimeException: Exceeded checkpoint tolerable failure threshold.",
    ),
    TracePattern(
        "insufficient_network_buffers",
        "Insufficient number of network buffers",
        "INSUFFICIENT_NETWORK_BUFFERS",
        "java.io.IOException: Insufficient number of network buffers: required 65, but only 6 available.",
    ),
    TracePattern(
        "partition_not_found",
        "PartitionNotFoundException",
        "PARTITION_NOT_FOUND",
        "org.apache.flink.runtime.io.network.partition.PartitionNotFoundException: Partition 6f1c#0@2b not found.",
    ),
    TracePattern(
        "rpc_timeout",
        "AskTimeoutException",
        "RPC_TIMEOUT",
        "akka.pattern.AskTimeoutException: Ask timed out on [Actor[akka://flink/user/rpc/dispatcher_1#1]] after [10000 ms].",
    ),
)

KINDS: tuple[str, ...] = tuple(dict.fromkeys([*(pattern.kind for pattern in PATTERNS), *(pattern.kind for pattern in TRACE_PATTERNS)]))

READ_CHARS = 8192
"""Expressions see at most so much of a line, which bounds what a hostile one can cost."""

KEPT_LEVELS: tuple[str, ...] = ("WARN", "ERROR", "FATAL")
"""Records of these levels are kept whether or not an entry reads them."""


def starts() -> tuple[str, ...]:
    """All distinct openings of a relevant message."""
    return tuple(dict.fromkeys(pattern.starts for pattern in PATTERNS if pattern.starts))


def contained() -> tuple[str, ...]:
    """All distinct pieces of a relevant message that may stand anywhere, those that hold another one left out."""
    pieces = list(dict.fromkeys(pattern.contains for pattern in PATTERNS if pattern.contains))
    return tuple(piece for piece in pieces if not any(other != piece and other in piece for other in pieces))
