"""The pattern table: every log line that becomes a typed event.

An entry is tried on the first 8,192 characters of the first line of a message (the part behind the
header) when that line begins with ``starts`` or holds ``contains``; the first entry whose ``regex``
then matches decides. Rules for the expression of an entry:

* the same meaning in every engine and alphabet: ``[0-9]`` and ``[^ ]`` instead of ``\\d`` and
  ``\\S``, ``[^\\n]`` instead of ``.``, no ``$``; it is matched from the beginning of the line on;
* linear: names of jobs and tasks may hold anything, so at most one unbounded group before each
  literal;
* ``{piece:field}`` is a group that feeds a field of the event; a field named twice takes whichever
  group took part;
* ``subtask_number`` is the 1-based ``i`` of ``(i/p)``; it becomes the 0-based ``subtask``.

To add a pattern: copy the nearest entry, give it an example line; the tests pick it up.
"""

import re
from dataclasses import dataclass

from ingest.flink_logs import templates as t


@dataclass(frozen=True, slots=True)
class Pattern:
    """Group *n* of ``regex`` feeds ``fields[n-1]``. Exactly one of ``starts`` and ``contains`` is
    set.

    ``reason`` is a code that the line itself implies. ``below``: a field, and an expression for the
    lines below the first; its group feeds the field and must match. These lines are not kept.
    ``in_trace``: the same for lines that are kept; without a match the event lacks the field.
    ``tolerant`` is tried if no ``regex`` matches: ids and locations may have any form, and unknown
    forms are not read.
    """

    kind: str
    versions: str
    regex: str
    fields: tuple[str, ...]
    example: str
    starts: str = ""
    contains: str = ""
    reason: str = ""
    below: tuple[str, str] | None = None
    in_trace: tuple[str, str] | None = None
    tolerant: str = ""
    tolerant_fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TracePattern:
    """An event that only the stack trace of a record shows, where no :class:`Pattern` matches; the
    leftmost ``piece`` decides.
    """

    kind: str
    piece: str
    reason: str
    example: str


STORE_RETRIED = "store_retried"
"""A client tries a request again: nothing has failed yet."""

_LITERAL = re.compile(r"(?:(?:[^][\\^$.|?*+(){}]|\\[^A-Za-z0-9])(?![*+?{]))*")


def _pattern(
    kind: str,
    versions: str,
    line: str,
    example: str,
    *,
    starts: str = "",
    contains: str = "",
    reason: str = "",
    below: tuple[str, str] | None = None,
    in_trace: tuple[str, str] | None = None,
) -> Pattern:
    """``starts`` is what ``line`` literally begins with, unless it or ``contains`` is given."""
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
        example,
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
        rf"{t.STATE:to_state}"
        rf"(?: on {t.LOCATION_OR_NONE}| with failure cause:(?: {t.REST:reason_text})?)?",
        (
            f"Source: clicks (1/2) ({t.SAMPLE_EXECUTION}) switched from RUNNING to FAILED on "
            "tm-1:4-d1 @ host-1 (dataPort=44467)."
        ),
        contains=" switched from ",
    ),
    _pattern(
        "job_state",
        "1.9+",
        (
            rf"Job {t.ANY:job_name} \({t.JOB}\) switched from state {t.STATE:from_state} to "
            rf"{t.STATE:to_state}"
        ),
        f"Job orders (eu) ({t.SAMPLE_JOB}) switched from state RUNNING to FAILING.",
        contains=" switched from state ",
    ),
    _pattern(
        # If it was unaligned, barriers are still to come: Flink prints 0 for what is not known yet.
        "checkpoint_sync_done",
        "1.9+ DEBUG",
        rf"{t.TASK_ATTEMPT} - finished synchronous part of checkpoint {t.CHECKPOINT}\. Alignment "
        rf"duration: "
        rf"(?:-?[0-9]+ ms, snapshot duration {t.SIGNED_MS:duration_ms} ms, is unaligned checkpoint "
        rf": true"
        rf"|{t.MS:alignment_ms} ms, snapshot duration {t.SIGNED_MS:duration_ms} ms)",
        "parse (2/2)#0 - finished synchronous part of checkpoint 7. Alignment duration: 1 ms, "
        "snapshot duration 4 ms, is unaligned checkpoint : false",
        contains=" part of checkpoint ",
    ),
    _pattern(
        "checkpoint_sync_failed",
        "1.11+ DEBUG",
        rf"{t.TASK_ATTEMPT} - did NOT finish synchronous part of checkpoint {t.CHECKPOINT}",
        (
            "parse (2/2)#0 - did NOT finish synchronous part of checkpoint 7. Alignment duration: "
            "1 ms, snapshot duration 4 ms"
        ),
        contains=" part of checkpoint ",
    ),
    _pattern(
        "checkpoint_async_started",
        "1.12+ DEBUG",
        rf"{t.TASK_ATTEMPT} - started executing asynchronous part of checkpoint {t.CHECKPOINT}\."
        rf" Asynchronous start delay: {t.SIGNED_MS:duration_ms} ms",
        (
            "parse (2/2)#0 - started executing asynchronous part of checkpoint 7. Asynchronous "
            "start delay: 2 ms"
        ),
        contains=" part of checkpoint ",
    ),
    _pattern(
        "checkpoint_async_done",
        "1.11+ DEBUG",
        rf"{t.TASK_ATTEMPT} - finished asynchronous part of checkpoint {t.CHECKPOINT}\."
        rf" Asynchronous duration: {t.SIGNED_MS:duration_ms} ms",
        "parse (2/2)#0 - finished asynchronous part of checkpoint 7. Asynchronous duration: 31 ms",
        contains=" part of checkpoint ",
    ),
    _pattern(
        "checkpoint_async_failed",
        "1.11+",
        (
            rf"{t.TASK_ATTEMPT} - asynchronous part of checkpoint {t.CHECKPOINT} could not be "
            rf"completed\."
        ),
        "enrich (2/4)#0 - asynchronous part of checkpoint 3 could not be completed.",
        contains=" part of checkpoint ",
    ),
    _pattern(
        # The task was cancelled or the checkpoint aborted while it ran.
        "checkpoint_async_failed",
        "1.11+ DEBUG",
        (
            rf"{t.TASK_ATTEMPT} - asynchronous part of checkpoint {t.CHECKPOINT} could not be "
            rf"completed because it was closed before\."
        ),
        (
            "enrich (2/4)#0 - asynchronous part of checkpoint 21 could not be completed because it "
            "was closed before."
        ),
        contains=" part of checkpoint ",
    ),
    _pattern(
        # Its checkpoint is named by the directory only, that of a savepoint not at all; its job
        # follows from the task.
        "backend_sync_done",
        "1.9+ DEBUG",
        rf"[A-Za-z ]{{1,80}} \({t.CHECKPOINT_LOCATION}, synchronous part\) in thread "
        rf"Thread\[(?:Async calls on )?{t.TASK} \({t.SUBTASK}\)"
        rf"(?:#{t.ATTEMPT})?,[0-9]{{1,2}},[^\],\n]*\] took {t.MS:duration_ms} ms",
        f"DefaultOperatorStateBackend snapshot ({t.SAMPLE_LOCATION}, synchronous part) in thread "
        "Thread[parse (2/2)#0,5,Flink Task Threads] took 1 ms.",
        contains=" part) in thread ",
    ),
    _pattern(
        "backend_async_done",
        "1.9+ DEBUG",
        (
            rf"[A-Za-z ]{{1,80}} \({t.JOB_LOCATION}, asynchronous part\) in thread [^\n]*?\] took "
            rf"{t.MS:duration_ms} ms"
        ),
        f"Asynchronous incremental RocksDB snapshot ({t.SAMPLE_LOCATION}, asynchronous part) in "
        "thread Thread[AsyncOperations-thread-1,5,Flink Task Threads] took 43 ms.",
        contains=" part) in thread ",
    ),
    _pattern(
        "barriers_aligned",
        "1.13+ DEBUG",
        (
            rf"{t.TASK_ATTEMPT} \({t.EXECUTION}\): All the channels are aligned for checkpoint "
            rf"{t.CHECKPOINT}"
        ),
        f"parse (2/2)#0 ({t.SAMPLE_EXECUTION}): All the channels are aligned for checkpoint 7.",
        contains=": All the channels are aligned for checkpoint ",
    ),
    _pattern(
        "barrier_skipped",
        "1.13+",
        rf"{t.TASK_ATTEMPT} \({t.EXECUTION}\): Received checkpoint barrier for checkpoint "
        rf"{t.INT:count} before completing"
        rf" current checkpoint {t.CHECKPOINT}",
        f"parse (1/2)#0 ({t.SAMPLE_EXECUTION}): Received checkpoint barrier for checkpoint 9 "
        "before completing current checkpoint 8. Skipping current checkpoint.",
        contains=": Received checkpoint barrier for checkpoint ",
    ),
    _pattern(
        "region_restart",
        "1.9+",
        (
            rf"{t.INT:count} tasks (?:will|should) be restarted to recover the failed task "
            rf"{t.EXECUTION}"
        ),
        f"10 tasks will be restarted to recover the failed task {t.SAMPLE_EXECUTION}. ",
        contains=" be restarted to recover ",
    ),
    _pattern(
        "global_restart",
        "1.16+",
        rf"{t.INT:count} tasks will be restarted to recover from a global failure",
        "10 tasks will be restarted to recover from a global failure.",
        contains=" be restarted to recover ",
    ),
)

_CHECKPOINT_PATTERNS = (
    _pattern(
        "checkpoint_triggered",
        "1.9+",
        (
            rf"Triggering checkpoint {t.CHECKPOINT}(?: \(type={t.CHECKPOINT_TYPE}\))? @ "
            rf"{t.INT:trigger_time} for job {t.JOB}"
        ),
        "Triggering checkpoint 3 (type=CheckpointType{name='Checkpoint', "
        "sharingFilesStrategy=FORWARD_BACKWARD}) "
        f"@ 1795234350123 for job {t.SAMPLE_JOB}.",
    ),
    _pattern(
        "checkpoint_completed",
        "1.9+",
        rf"Completed checkpoint {t.CHECKPOINT} for job {t.JOB} \({t.INT:state_bytes} bytes"
        rf"(?:, checkpointDuration=| in ){t.MS:duration_ms} ms",
        (
            f"Completed checkpoint 5 for job {t.SAMPLE_JOB} (1058577 bytes, checkpointDuration=230 "
            "ms, finalizationTime=12 ms)."
        ),
    ),
    _pattern(
        "checkpoint_acknowledged",
        "1.9+ DEBUG",
        (
            rf"Received acknowledge message for checkpoint {t.CHECKPOINT} from task {t.EXECUTION} "
            rf"of "
            rf"job {t.JOB} at {t.LOCATION_OR_NONE}"
        ),
        (
            f"Received acknowledge message for checkpoint 5 from task {t.SAMPLE_EXECUTION} of job "
            f"{t.SAMPLE_JOB} {t.SAMPLE_AT}."
        ),
    ),
    _pattern(
        "checkpoint_declined",
        "1.9+",
        (
            rf"Decline checkpoint {t.CHECKPOINT} by task {t.EXECUTION} of job {t.JOB}(?: at "
            rf"{t.LOCATION_OR_NONE})?"
        ),
        f"Decline checkpoint 9 by task {t.SAMPLE_EXECUTION} of job {t.SAMPLE_JOB} {t.SAMPLE_AT}.",
    ),
    _pattern(
        "checkpoint_expired",
        "1.9+",
        rf"Checkpoint {t.CHECKPOINT} of job {t.JOB} expired before completing",
        f"Checkpoint 4 of job {t.SAMPLE_JOB} expired before completing.",
        reason="CHECKPOINT_EXPIRED",
    ),
    _pattern(
        # Up to 1.8 without "task" and without the host.
        "late_message",
        "1.5+",
        rf"Received late message for now expired checkpoint attempt {t.CHECKPOINT} from (?:task "
        rf")?{t.EXECUTION} of job {t.JOB}"
        rf"(?: at {t.LOCATION_OR_NONE})?",
        (
            "Received late message for now expired checkpoint attempt 4 from task "
            f"{t.SAMPLE_EXECUTION} of job {t.SAMPLE_JOB} {t.SAMPLE_AT}."
        ),
    ),
    _pattern(
        "late_decline",
        "1.9+ DEBUG",
        rf"Received another decline message for now expired checkpoint attempt {t.CHECKPOINT} from "
        rf"task {t.EXECUTION} of job {t.JOB}"
        rf" at {t.LOCATION_OR_NONE}(?: : {t.REST:reason_text})?",
        "Received another decline message for now expired checkpoint attempt 4 from task "
        f"{t.SAMPLE_EXECUTION} of job {t.SAMPLE_JOB}"
        f" {t.SAMPLE_AT} : Asynchronous task checkpoint failed.",
    ),
    _pattern(
        "unknown_checkpoint_message",
        "1.9+ DEBUG",
        rf"Received (?:decline )?message for an? unknown (?:\(too old\?\) )?checkpoint (?:attempt "
        rf")?{t.CHECKPOINT} from task {t.EXECUTION}"
        rf" of job {t.JOB} at {t.LOCATION_OR_NONE}(?: : {t.REST:reason_text})?",
        (
            f"Received message for an unknown checkpoint 4 from task {t.SAMPLE_EXECUTION} of job "
            f"{t.SAMPLE_JOB} {t.SAMPLE_AT}."
        ),
        starts="Received message for an unknown checkpoint ",
    ),
    _pattern(
        "unknown_checkpoint_message",
        "1.9+ DEBUG",
        rf"Received decline message for unknown \(too old\?\) checkpoint attempt {t.CHECKPOINT} "
        rf"from task {t.EXECUTION} of job {t.JOB}"
        rf" at {t.LOCATION_OR_NONE}(?: : {t.REST:reason_text})?",
        "Received decline message for unknown (too old?) checkpoint attempt 4 from task "
        f"{t.SAMPLE_EXECUTION} of job {t.SAMPLE_JOB} {t.SAMPLE_AT} : Checkpoint was declined.",
    ),
    _pattern(
        "acknowledge_failed",
        "1.9+",
        rf"Could not acknowledge the checkpoint {t.CHECKPOINT} for task {t.EXECUTION} of job "
        rf"{t.JOB} at {t.LOCATION_OR_NONE}"
        rf"(?:, because {t.ANY:reason_text}\. Discarding)?",
        f"Could not acknowledge the checkpoint 4 for task {t.SAMPLE_EXECUTION} of job "
        f"{t.SAMPLE_JOB} {t.SAMPLE_AT}, because the pending "
        "checkpoint had been discarded. Discarding the state handle tp avoid lingering state.",
    ),
    _pattern(
        "checkpoint_discarded",
        "1.9–1.10",
        rf"Discarding checkpoint {t.CHECKPOINT} of job {t.JOB}",
        f"Discarding checkpoint 4 of job {t.SAMPLE_JOB}.",
    ),
    _pattern(
        "trigger_refused",
        "1.13+",
        rf"Failed to trigger checkpoint for job {t.JOB} since {t.REST:reason_text}",
        (
            f"Failed to trigger checkpoint for job {t.SAMPLE_JOB} since Not all required tasks are "
            "currently running.."
        ),
    ),
    _pattern(
        "trigger_refused",
        "1.9–1.11",
        (
            rf"Checkpoint triggering task {t.TASK} \({t.SUBTASK}\)(?:#[0-9]+)? of job {t.JOB} is "
            rf"not "
            rf"{t.REST:reason_text}"
        ),
        f"Checkpoint triggering task Source: clicks (1/2) of job {t.SAMPLE_JOB} is not in state "
        "RUNNING but SCHEDULED instead. Aborting checkpoint.",
        reason="NOT_ALL_REQUIRED_TASKS_RUNNING",
    ),
    _pattern(
        "checkpoint_failed",
        "1.14+",
        (
            rf"Failed to trigger or complete checkpoint (?:{t.CHECKPOINT}|UNKNOWN_CHECKPOINT_ID) "
            rf"for "
            rf"job {t.JOB}\. \({t.INT:count} consecutive"
        ),
        (
            f"Failed to trigger or complete checkpoint 4 for job {t.SAMPLE_JOB}. (0 consecutive "
            "failed attempts so far)"
        ),
    ),
    _pattern(
        "trigger_failed",
        "1.9–1.13",
        (
            rf"Failed to trigger checkpoint (?:{t.CHECKPOINT} )?for job {t.JOB}\.? \({t.INT:count} "
            rf"consecutive"
        ),
        (
            f"Failed to trigger checkpoint 4 for job {t.SAMPLE_JOB}. (2 consecutive failed "
            "attempts so far)"
        ),
    ),
    _pattern(
        "trigger_failed",
        "1.15+",
        (
            rf"Triggering Checkpoint {t.SIGNED:checkpoint_id} for job {t.JOB} failed due to "
            rf"{t.REST:reason_text}"
        ),
        (
            f"Triggering Checkpoint 4 for job {t.SAMPLE_JOB} failed due to java.io.IOException: "
            "disk full"
        ),
    ),
    _pattern(
        "coordinator_stopped",
        "1.9+",
        rf"Stopping checkpoint coordinator for job {t.JOB}",
        f"Stopping checkpoint coordinator for job {t.SAMPLE_JOB}.",
    ),
    _pattern(
        # All barriers arrived, or the first one of an unaligned checkpoint; at a source, its
        # mailbox was free.
        "checkpoint_sync_started",
        "1.9+ DEBUG",
        (
            rf"Starting checkpoint \(?{t.CHECKPOINT}\)? {t.CHECKPOINT_TYPE} on task {t.REST:task} "
            rf"\({t.SUBTASK}\)(?:#{t.ATTEMPT})?"
        ),
        (
            "Starting checkpoint 7 CheckpointType{name='Checkpoint', "
            "sharingFilesStrategy=FORWARD_BACKWARD} on task parse (2/2)#0"
        ),
    ),
    _pattern(
        "scheduler_started",
        "2.3+",
        r"Starting checkpoint scheduler",
        "Starting checkpoint scheduler",
    ),
    _pattern(
        "scheduler_stopped",
        "2.3+",
        rf"Stopping checkpoint scheduler, current job status: {t.STATE:to_state}",
        "Stopping checkpoint scheduler, current job status: FAILING",
        starts="Stopping checkpoint scheduler",
    ),
    _pattern(
        "abort_not_sent",
        "1.20+",
        (
            rf"Could not send aborted message of checkpoint {t.CHECKPOINT} to task {t.EXECUTION} "
            rf"belonging to job {t.JOB}"
        ),
        (
            f"Could not send aborted message of checkpoint 4 to task {t.SAMPLE_EXECUTION} "
            f"belonging to job {t.SAMPLE_JOB}."
        ),
    ),
    _pattern(
        "metadata_uncertain",
        "1.13+",
        (
            rf"An error occurred while writing checkpoint {t.CHECKPOINT} to the underlying "
            rf"metadata "
            rf"store[^\n]*? located at '{t.ANY:path}'"
        ),
        "An error occurred while writing checkpoint 4 to the underlying metadata store. Flink was "
        "not able to determine whether the metadata was successfully persisted. The corresponding "
        "state located at 's3://b/c/chk-4' won't be discarded and needs to be cleaned up manually.",
    ),
    _pattern(
        "checkpoint_retained",
        "1.12+",
        rf"Checkpoint with ID {t.CHECKPOINT} at '{t.ANY:path}' not discarded",
        "Checkpoint with ID 7 at 'file:/data/sp/savepoint-26eb67-f0' not discarded.",
    ),
    _pattern(
        "discard_failed",
        "1.13–1.16",
        (
            rf"(?:Could not properly discard completed checkpoint|Fail to discard the old "
            rf"checkpoint) "
            rf"[^0-9\n]{{0,60}}{t.CHECKPOINT}"
        ),
        "Could not properly discard completed checkpoint 4.",
        starts="Could not properly discard completed checkpoint ",
    ),
    _pattern(
        "discard_failed",
        "1.17+",
        rf"Fail to discard the old checkpoint [^0-9\n]{{0,60}}{t.CHECKPOINT}",
        "Fail to discard the old checkpoint 4.",
    ),
    _pattern(
        "subsume_failed",
        "1.13+",
        r"Fail to subsume the old checkpoint",
        "Fail to subsume the old checkpoint.",
    ),
    _pattern(
        "restore_without_checkpoint",
        "1.11+",
        r"No checkpoint found during restore",
        "No checkpoint found during restore.",
    ),
    _pattern(
        # It names no job. With --allowNonRestoredState the state of such an operator is dropped.
        "state_skipped",
        "1.9+",
        rf"Skipping savepoint state for operator {t.HEX:reason_text}",
        f"Skipping savepoint state for operator {t.SAMPLE_VERTEX}.",
    ),
    _pattern(
        "restored",
        "1.9+",
        rf"Restoring job {t.JOB} from (?:latest valid checkpoint: "
        rf")?{t.SNAPSHOT_NAME:checkpoint_type} {t.CHECKPOINT}"
        rf" @ {t.INT:trigger_time} for [0-9a-f]{{32}}(?: located at {t.REST:path})?",
        (
            f"Restoring job {t.SAMPLE_JOB} from Savepoint 7 @ 1795234350123 for {t.SAMPLE_JOB} "
            "located at file:/data/sp/savepoint-26eb67-f0."
        ),
    ),
    _pattern(
        "restore_requested",
        "1.9+",
        rf"Starting job {t.JOB} from savepoint {t.ANY:path} \([^()\n]{{0,40}}\)",
        (
            f"Starting job {t.SAMPLE_JOB} from savepoint file:/data/sp/savepoint-26eb67-f0 "
            "(allowing non restored state)"
        ),
    ),
    _pattern(
        "checkpoint_id_reset",
        "1.9+",
        rf"Reset the checkpoint ID of job {t.JOB} to {t.CHECKPOINT}",
        f"Reset the checkpoint ID of job {t.SAMPLE_JOB} to 8.",
    ),
    _pattern(
        "savepoint_requested",
        "1.11+",
        rf"Triggering (?P<reason_text>cancel-with-|stop-with-)?savepoint for job {t.JOB}",
        f"Triggering stop-with-savepoint for job {t.SAMPLE_JOB}.",
        starts="Triggering stop-with-savepoint for job ",
    ),
    _pattern(
        "savepoint_requested",
        "1.11+",
        rf"Triggering (?P<reason_text>cancel-with-)?savepoint for job {t.JOB}",
        f"Triggering cancel-with-savepoint for job {t.SAMPLE_JOB}.",
        starts="Triggering cancel-with-savepoint for job ",
    ),
    _pattern(
        "savepoint_requested",
        "1.11+",
        rf"Triggering savepoint for job {t.JOB}",
        f"Triggering savepoint for job {t.SAMPLE_JOB}.",
    ),
    _pattern(
        "savepoint_stored",
        "1.11+",
        rf"Savepoint stored in {t.ANY:path}\. Now cancelling {t.JOB}",
        f"Savepoint stored in file:/data/sp/savepoint-26eb67-f0. Now cancelling {t.SAMPLE_JOB}.",
    ),
    _pattern(
        "checkpoint_requested",
        "1.15+",
        rf"Triggering a manual checkpoint for job {t.JOB}",
        f"Triggering a manual checkpoint for job {t.SAMPLE_JOB}.",
    ),
    _pattern(
        "ha_recovery",
        "1.9+",
        rf"Recovering checkpoints from {t.REST:path}",
        "Recovering checkpoints from ZooKeeperStateHandleStore{namespace='flink/default'}.",
    ),
    _pattern(
        "ha_recovery",
        "1.9+",
        rf"Found {t.INT:count} checkpoints in {t.REST:path}",
        "Found 1 checkpoints in ZooKeeperStateHandleStore{namespace='flink/default'}.",
    ),
    _pattern(
        "ha_recovery",
        "1.9+",
        rf"Trying to retrieve checkpoint {t.CHECKPOINT}",
        "Trying to retrieve checkpoint 41.",
    ),
    _pattern(
        "checkpoint_aborted_notice",
        "1.11+",
        (
            rf"Checkpoint {t.CHECKPOINT} has been notified as aborted, would not trigger any "
            rf"checkpoint"
        ),
        "Checkpoint 4 has been notified as aborted, would not trigger any checkpoint.",
    ),
    _pattern(
        "barrier_out_of_order",
        "1.11+",
        (
            rf"Out of order checkpoint barrier \(aborted previously\?\): {t.INT:count} >= "
            rf"{t.CHECKPOINT}"
        ),
        "Out of order checkpoint barrier (aborted previously?): 9 >= 8",
        starts="Out of order checkpoint barrier ",
    ),
    _pattern(
        "slow_barrier",
        "1.13+",
        rf"Time from receiving all checkpoint barriers/RPC (?:for checkpoint {t.CHECKPOINT} )?to "
        rf"executing it exceeded threshold:"
        rf" {t.MS:duration_ms}ms",
        (
            "Time from receiving all checkpoint barriers/RPC for checkpoint 9 to executing it "
            "exceeded threshold: 30012ms"
        ),
    ),
    _pattern(
        "coordinator_missing",
        "1.9+",
        rf"Received {t.ANY:reason_text} message for job {t.JOB} with no CheckpointCoordinator",
        (
            f"Received AcknowledgeCheckpoint message for job {t.SAMPLE_JOB} with no "
            "CheckpointCoordinator"
        ),
        contains=" with no CheckpointCoordinator",
    ),
)

_JOB_PATTERNS = (
    _pattern(
        "task_deployed",
        "1.9+",
        rf"Deploying {t.TASK} \({t.SUBTASK}\) \(attempt #{t.ATTEMPT}\)"
        rf"(?: with attempt id {t.EXECUTION}(?: and vertex id {t.HEX:vertex_id}_[0-9]+)?)? to "
        rf"{t.LOCATION_OR_NONE}",
        f"Deploying enrich (2/4) (attempt #0) with attempt id {t.SAMPLE_EXECUTION} and vertex id "
        f"{t.SAMPLE_VERTEX}_1 to "
        f"tm-1:4-d1 @ host-1 (dataPort=44467) with allocation id {t.SAMPLE_JOB}",
    ),
    _pattern(
        "task_deployed",
        "before 1.9",
        (
            rf"Deploying {t.TASK} \({t.SUBTASK}\) \(attempt #{t.ATTEMPT}\) to slot "
            rf"{t.WORD:container} "
            rf"on {t.WORD:host}"
        ),
        (
            "Deploying enrich (2/4) (attempt #0) to slot "
            "container_e24_1566836790522_8088_04_013155_1 on host-1"
        ),
    ),
    _pattern(
        # Its execution_id is that of the graph, with which the ids of its attempts begin.
        "execution_graph_created",
        "1.16+",
        rf"Created execution graph {t.HEX:execution_id} for job {t.JOB}",
        f"Created execution graph a932b3badd0047fc56bb20dcdd6164f3 for job {t.SAMPLE_JOB}.",
    ),
    _pattern(
        "global_restart",
        "1.9+",
        r"Trying to recover from a global failure",
        "Trying to recover from a global failure.",
    ),
    _pattern(
        "region_restart_started",
        "1.9–1.15",
        rf"Calculating tasks to restart to recover the failed task {t.EXECUTION}",
        f"Calculating tasks to restart to recover the failed task {t.SAMPLE_EXECUTION}.",
    ),
    _pattern(
        "job_terminal",
        "1.9+",
        rf"Job {t.JOB} reached (?:globally )?terminal state {t.STATE:to_state}",
        f"Job {t.SAMPLE_JOB} reached terminal state FAILED.",
    ),
    _pattern(
        "job_archived",
        "1.9–2.2",
        rf"Job {t.JOB} has been archived at {t.REST:path}",
        f"Job {t.SAMPLE_JOB} has been archived at hdfs:/archive/{t.SAMPLE_JOB}.",
    ),
    _pattern(
        "job_archived",
        "2.3+",
        rf"Successfully archived {t.REST:path}",
        "Successfully archived hdfs:/archive/1.",
    ),
    _pattern(
        "job_submitted",
        "1.9+",
        (
            rf"Received (?:JobGraph|job) submission (?:{t.JOB} "
            rf"\({t.ANY:job_name}\)\.|'{t.ANY:job_name}' \({t.JOB}\)\.)"
        ),
        f"Received JobGraph submission 'orders (eu)' ({t.SAMPLE_JOB}).",
        starts="Received JobGraph submission ",
    ),
    _pattern(
        "job_submitted",
        "2.0+",
        rf"Received job submission '{t.ANY:job_name}' \({t.JOB}\)\.",
        f"Received job submission 'orders (eu)' ({t.SAMPLE_JOB}).",
        starts="Received job submission ",
    ),
    _pattern(
        "operator_event",
        "of the Kubernetes operator, written by ingest.operator_log",
        (
            rf"Kubernetes operator: (?P<to_state>[A-Za-z0-9]{{1,60}}) of job {t.JOB}(?:, at "
            rf"{t.WORD:path})?: {t.REST:reason_text}"
        ),
        (
            f"Kubernetes operator: SpecChanged of job {t.SAMPLE_JOB}: UPGRADE change(s) detected, "
            "starting reconciliation."
        ),
    ),
    _pattern(
        "job_started",
        "1.9+",
        rf"Starting execution of job '?{t.ANY:job_name}'? \({t.JOB}\) under job master id ",
        (
            f"Starting execution of job 'orders (eu)' ({t.SAMPLE_JOB}) under job master id "
            "00000000000000000000000000000000."
        ),
    ),
    _pattern(
        "tm_heartbeat_timeout",
        "1.9+",
        (rf"(?:The h|H)eartbeat of TaskManager with id {t.WORKER} timed out"),
        "Heartbeat of TaskManager with id tm-1:4-d1(host-1:6122) timed out.",
        starts="Heartbeat of TaskManager with id ",
    ),
    _pattern(
        "tm_heartbeat_timeout",
        "1.9+",
        rf"The heartbeat of TaskManager with id {t.WORKER} timed out",
        "The heartbeat of TaskManager with id tm-1:4-d1 timed out.",
    ),
    _pattern(
        "tm_unreachable",
        "1.14+",
        rf"TaskManager with id {t.WORKER} is no longer reachable",
        "TaskManager with id tm-1:4-d1(host-1:6122) is no longer reachable.",
    ),
    _pattern(
        "tm_disconnected",
        "1.16+",
        rf"Disconnect TaskExecutor {t.WORKER} because: {t.REST:reason_text}",
        "Disconnect TaskExecutor tm-1:4-d1 because: The TaskExecutor is shutting down.",
    ),
    _pattern(
        "tm_disconnected",
        "1.9+",
        rf"Closing TaskExecutor connection {t.WORKER} because: {t.REST:reason_text}",
        "Closing TaskExecutor connection tm-1:4-d1 because: The TaskExecutor is shutting down.",
    ),
    _pattern(
        "tm_registered",
        "1.11+",
        (
            rf"Registering TaskManager with ResourceID {t.WORKER} \({t.ANY:path}\) at "
            rf"ResourceManager"
        ),
        (
            "Registering TaskManager with ResourceID tm-1:4-d1 "
            "(pekko.tcp://flink@host-1:6122/user/rpc/taskmanager_0) at ResourceManager"
        ),
    ),
    _pattern(
        "resource_manager_lost",
        "1.9+",
        rf"The heartbeat of ResourceManager with id {t.WORKER} timed out",
        "The heartbeat of ResourceManager with id a1b2 timed out.",
    ),
    _pattern(
        "resource_manager_lost",
        "1.9+",
        rf"Close ResourceManager connection {t.WORKER}(?:: {t.REST:reason_text})?",
        "Close ResourceManager connection a1b2: Stopping JobMaster for job orders.",
    ),
    _pattern(
        "slot_request_failed",
        "1.16+",
        rf"Slot allocation for allocation {t.HEX} for job {t.JOB} failed\.",
        f"Slot allocation for allocation {t.SAMPLE_VERTEX} for job {t.SAMPLE_JOB} failed.",
    ),
    _pattern(
        "partition_state_request",
        "1.9+",
        r"Error while requesting partition state",
        "Error while requesting partition state",
    ),
)

_TASKMANAGER_PATTERNS = (
    _pattern(
        # The producer did not have the partition yet, and the JobManager said that it will.
        "partition_state_request",
        "1.9+ DEBUG",
        rf"{t.TASK_ATTEMPT} \({t.EXECUTION}\): Retriggering partition request ",
        (
            f"enrich (2/4)#0 ({t.SAMPLE_EXECUTION}): Retriggering partition request "
            f"{t.SAMPLE_VERTEX}#1@{t.SAMPLE_EXECUTION}:[6, 6]."
        ),
        contains=": Retriggering partition request ",
    ),
    _pattern(
        "job_manager_lost",
        "1.9+",
        rf"The heartbeat of JobManager with id {t.WORKER} timed out",
        "The heartbeat of JobManager with id a1b2 timed out.",
    ),
    _pattern(
        "job_manager_lost",
        "1.15+",
        rf"JobManager with id {t.WORKER} is no longer reachable",
        "JobManager with id a1b2 is no longer reachable.",
    ),
    _pattern(
        # TaskManagers log it until the JobManager answers: once or twice at each start is normal.
        "registration_retried",
        "1.9+",
        rf"Could not resolve (?:Resource|Job)Manager address {t.WORD:path}, retrying in "
        rf"{t.MS:duration_ms} ms(?:: {t.REST:reason_text})?",
        (
            "Could not resolve ResourceManager address pekko.tcp://flink@jm:6123/user/rpc/"
            "resourcemanager_*, retrying in 10000 ms: Could not connect to rpc endpoint under "
            "address pekko.tcp://flink@jm:6123/user/rpc/resourcemanager_*."
        ),
    ),
    _pattern(
        "association_gated",
        "1.9+",
        rf"Association with remote system \[{t.WORD:path}\] has failed, address is now gated for "
        rf"\[{t.MS:duration_ms}\] ms\. Reason: {t.REST:reason_text}",
        (
            "Association with remote system [pekko.tcp://flink@tm-1:42352] has failed, address is "
            "now gated for [50] ms. Reason: [Association failed with [pekko.tcp://flink@tm-1:42352]"
            "] Caused by: [java.net.ConnectException: Connection refused: tm-1/10.0.0.2:42352]"
        ),
        starts="Association with remote system ",
    ),
    _pattern(
        "task_received",
        "1.12+",
        rf"Received task {t.TASK_ATTEMPT} \({t.EXECUTION}\), deploy into slot",
        (
            f"Received task enrich (2/4)#0 ({t.SAMPLE_EXECUTION}), deploy into slot with "
            f"allocation id {t.SAMPLE_JOB}."
        ),
    ),
    _pattern(
        "task_cancel_requested",
        "1.9+",
        rf"Attempting to cancel task {t.TASK_ATTEMPT} \({t.EXECUTION}\)",
        f"Attempting to cancel task enrich (2/4)#0 ({t.SAMPLE_EXECUTION}).",
    ),
    _pattern(
        "task_failed_externally",
        "1.9+",
        rf"Attempting to fail task externally {t.TASK_ATTEMPT} \({t.EXECUTION}\)",
        f"Attempting to fail task externally enrich (2/4)#0 ({t.SAMPLE_EXECUTION}).",
    ),
    _pattern(
        "task_final_state",
        "1.9+",
        rf"Un-registering task and sending final execution state {t.STATE:to_state} to JobManager "
        rf"for task {t.TASK}"
        rf" \({t.SUBTASK}\)(?:#{t.ATTEMPT})? {t.EXECUTION}\.",
        (
            "Un-registering task and sending final execution state FAILED to JobManager for task "
            f"enrich (2/4)#0 {t.SAMPLE_EXECUTION}."
        ),
    ),
    _pattern(
        "task_stuck",
        "1.9+",
        rf"Task '{t.TASK}' did not react to cancelling signal[^\n]*? for {t.INT:count} seconds",
        (
            "Task 'enrich (2/4)#0' did not react to cancelling signal - interrupting; it is stuck "
            "for 30 seconds in method:"
        ),
    ),
    _pattern(
        "changelog_idle",
        "1.15+",
        rf"Task {t.TASK} has no state updates since last materialization",
        (
            "Task enrich (2/4)#0 has no state updates since last materialization, skip this one "
            "and schedule the next one in 600 seconds"
        ),
        contains=" has no state updates since last materialization",
    ),
    _pattern(
        "fatal_error",
        "1.9+",
        rf"Encountered fatal error {t.ANY:reason_text} - terminating the JVM",
        "Encountered fatal error java.lang.OutOfMemoryError - terminating the JVM",
    ),
    _pattern(
        "state_restore_started",
        "1.13–1.18",
        rf"Starting to restore from state handle: {t.REST:path}",
        (
            "Starting to restore from state handle: IncrementalRemoteKeyedStateHandle{} with "
            "rescaling."
        ),
    ),
    _pattern(
        "state_restore_started",
        "1.20+",
        rf"Starting RocksDB incremental recovery in operator {t.REST:task}",
        (
            "Starting RocksDB incremental recovery in operator enrich_9c target key-group range "
            "KeyGroupRange{startKeyGroup=0, endKeyGroup=3}"
        ),
    ),
    _pattern(
        "state_restore_finished",
        "1.20+",
        rf"Finished RocksDB incremental recovery in operator {t.REST:task}",
        (
            "Finished RocksDB incremental recovery in operator enrich_9c target key-group range "
            "KeyGroupRange{startKeyGroup=0, endKeyGroup=3}"
        ),
    ),
    _pattern(
        "partition_producer_gone",
        "1.9+",
        rf"Producer [^\n]*? of partition {t.WORD:path} disposed\. Cancelling execution",
        "Producer a1 of partition 6f1c#0@2b disposed. Cancelling execution.",
    ),
    _pattern(
        "blob_download",
        "1.9+",
        rf"Downloading {t.JOB}/(?P<path>p-{t.HEX_BARE}{{1,80}}-{t.HEX_BARE}{{32}}) from ",
        f"Downloading {t.SAMPLE_JOB}/p-0a1b2c-{t.SAMPLE_JOB} from jm/127.0.0.1:6124",
    ),
    _pattern(
        "blob_failed",
        "1.9+",
        rf"Failed to fetch BLOB {t.JOB}/{t.WORD:path} from ",
        (
            f"Failed to fetch BLOB {t.SAMPLE_JOB}/p-0a1b2c from jm/127.0.0.1:6124 and store it "
            "under /tmp/x Retrying..."
        ),
    ),
    _pattern(
        # Sinks with two-phase commit that are configured to warn. With a ratio of 0 they warn at
        # each commit, at any age of the transaction.
        "transaction_open",
        "1.9+",
        rf"Transaction {t.ANY} has been open for {t.MS:duration_ms} ms\. "
        rf"This is close to or even exceeding the transaction timeout of {t.MS:timeout_ms} ms",
        "Transaction 1790000000000-6f1c has been open for 55123 ms. "
        "This is close to or even exceeding the transaction timeout of 60000 ms.",
    ),
    _pattern(
        "transaction_lost",
        "1.9+",
        rf"Error while committing transaction {t.ANY}\. "
        rf"Transaction has been open for longer than the transaction timeout \({t.MS:timeout_ms}\)",
        "Error while committing transaction 1790000000000-6f1c. Transaction has been open for "
        "longer than the transaction timeout (60000)."
        "Commit will not be attempted again. Data loss might have occurred.",
    ),
    _pattern(
        # From the source of Kafka's connector: no Kafka was run. If it reuses ids, the warning may
        # be false.
        "transaction_lost",
        "Kafka connector of 1.14+",
        rf"Unable to commit (?:recovered )?transaction \({t.ANY}\) because its producer is already fenced\."
        rf" This means {t.ANY} or recovery took longer than '{t.WORD}' \({t.MS:timeout_ms}ms\)",
        "Unable to commit transaction (KafkaCommittable{producerId=1, epoch=0, "
        "transactionalId=orders-0-7}) because its producer is already fenced. This means that you "
        "either have a different producer with the same 'transactional.id' (this is unlikely with "
        "the 'KafkaSink' as all generated ids are unique and shouldn't be reused) or recovery took "
        "longer than 'transaction.timeout.ms' (60000ms).",
    ),
    _pattern(
        # From the source of Kafka's and Pulsar's sinks: the records of an aborted transaction are
        # lost, and the sink goes on.
        "transaction_lost",
        "Kafka and Pulsar connectors of 1.14+",
        rf"Unable to commit (?:recovered )?transaction \({t.ANY}\) because (?:it's|its|of a bug in) ",
        (
            "Unable to commit transaction (KafkaCommittable{producerId=12, epoch=3, "
            "transactionalId=orders-0-7}) because it's in an invalid state. Most likely the "
            "transaction has been aborted for some reason. Please check the Kafka logs for more "
            "details."
        ),
        reason="TRANSACTION_ABORTED",
    ),
    _pattern(
        # The producer cannot tell whether it was committed before or aborted by the broker.
        "transaction_unconfirmed",
        "Kafka producer of 1.9+",
        rf"Encountered error {t.ANY:reason_text} while recovering transaction {t.ANY}\. Presumably",
        (
            "Encountered error org.apache.kafka.common.errors.InvalidTxnStateException: The "
            "producer attempted a transactional operation in an invalid state. while recovering "
            "transaction KafkaTransactionState [transactionalId=out-2, producerId=1001, epoch=4]. "
            "Presumably this transaction has been already committed before"
        ),
        starts="Encountered error org.apache.kafka.",
    ),
    _pattern(
        "transaction_timeout_set",
        "Kafka clients",
        r"ProducerConfig values:",
        (
            "ProducerConfig values: \n\tacks = -1\n\ttransaction.timeout.ms = "
            "60000\n\ttransactional.id = orders-0-7\n"
        ),
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
        "Created a directory file:/data/ckpt/taskowned/job_1 for checkpoint file-merging.",
    ),
)

_JOB_OF_TRACE = ("job_id", rf"(?:for job|job with job id) ({t.HEX})(?: failed|\.)")
"""Dispatcher.jobMasterFailed, SessionDispatcherLeaderProcess.recoverJob: the process ends, and the
trace alone names the job.
"""

_PROCESS_PATTERNS = (
    # Why a process or its part of a job ended: most of these lines name no job.
    _pattern(
        "worker_terminated",
        "1.12+",
        rf"Worker {t.WORKER} is terminated\. Diagnostics: {t.REST:reason_text}",
        (
            "Worker orders-taskmanager-1-3 is terminated. Diagnostics: Pod terminated, container "
            "termination statuses: [flink-main-container(exitCode=137, reason=OOMKilled, "
            "message=null)], pod status: Failed(reason=null, message=null)"
        ),
    ),
    _pattern(
        "worker_unregistered",
        "1.13+",
        rf"Worker {t.WORKER} did not register in {t.ANY:reason_text}, will stop it",
        (
            "Worker orders-taskmanager-1-3 did not register in PT5M, will stop it and request a "
            "new one if needed."
        ),
    ),
    _pattern(
        "worker_request_failed",
        "1.12+",
        rf"Failed requesting worker with resource spec {t.ANY}, current pending count: "
        rf"{t.INT:count}",
        (
            "Failed requesting worker with resource spec WorkerResourceSpec {cpuCores=1.0}, "
            "current pending count: 0\njava.lang.RuntimeException: exceeded quota: pods=40"
        ),
        reason="WORKER_REQUEST_FAILED",
    ),
    _pattern(
        "worker_request_failed",
        "1.12+ on Kubernetes",
        rf"Could not create pod {t.CONTAINER}, exception: {t.REST:reason_text}",
        (
            "Could not create pod orders-taskmanager-1-3, exception: "
            "io.fabric8.kubernetes.client.KubernetesClientException: exceeded quota: pods=40"
        ),
        reason="WORKER_REQUEST_FAILED",
    ),
    _pattern(
        "worker_request_failed",
        "1.15+ on Kubernetes",
        rf"Pod {t.CONTAINER} is terminated before being scheduled",
        "Pod orders-taskmanager-1-3 is terminated before being scheduled.",
        reason="WORKER_REQUEST_FAILED",
    ),
    _pattern(
        "slots_required",
        "1.12+",
        (
            rf"Received resource requirements from job {t.JOB}: \[(?:[^\n]*?numberOfRequiredSlots="
            rf"{t.INT:count})?"
        ),
        (
            f"Received resource requirements from job {t.SAMPLE_JOB}: [ResourceRequirement"
            "{resourceProfile=ResourceProfile{UNKNOWN}, numberOfRequiredSlots=4}]"
        ),
    ),
    _pattern(
        "slots_missing",
        "1.12+",
        rf"Could not fulfill resource requirements of job {t.JOB}\.(?: {t.REST:reason_text})?",
        f"Could not fulfill resource requirements of job {t.SAMPLE_JOB}. Free slots: 0",
        reason="NO_RESOURCE_AVAILABLE",
    ),
    _pattern(
        "slots_missing",
        "1.12+",
        (
            rf"Could not acquire the minimum required resources, failing slot requests\."
            rf"[^\n]*? Current slot pool status: {t.REST:reason_text}"
        ),
        (
            "Could not acquire the minimum required resources, failing slot requests. Acquired: []."
            " Current slot pool status: Registered TMs: 0, registered slots: 0 free slots: 0"
        ),
        starts="Could not acquire the minimum required resources, ",
        reason="NO_RESOURCE_AVAILABLE",
    ),
    _pattern(
        "jobmanager_fatal",
        "1.9+",
        r"Fatal error occurred in (?:the cluster entrypoint|ResourceManager)\.",
        (
            "Fatal error occurred in the cluster "
            "entrypoint.\norg.apache.flink.util.FlinkException: "
            f"JobMaster for job {t.SAMPLE_JOB} failed.\nCaused by: java.io.FileNotFoundException: "
            "/ha/completedCheckpoint4d1c (No such file or directory)"
        ),
        starts="Fatal error occurred in ",
        in_trace=_JOB_OF_TRACE,
    ),
    _pattern(
        "jobmanager_fatal",
        "1.9+",
        r"Fatal error occurred on JobManager\.",
        "Fatal error occurred on JobManager.\njava.lang.IllegalStateException: no leader",
        in_trace=_JOB_OF_TRACE,
    ),
    _pattern(
        "jobmanager_fatal",
        "1.9+",
        rf"Could not start cluster entrypoint {t.WORD}\.",
        (
            "Could not start cluster entrypoint KubernetesApplicationClusterEntrypoint.\n"
            "org.apache.flink.runtime.entrypoint.ClusterEntrypointException: Failed to initialize"
        ),
    ),
    _pattern(
        # Application mode: main() ended before the job, or before it submitted one.
        "program_failed",
        "1.11+",
        r"Application failed unexpectedly",
        (
            "Application failed unexpectedly: \njava.util.concurrent.CompletionException: "
            "org.apache.flink.client.program.ProgramInvocationException: The main method caused an "
            "error\nCaused by: java.lang.IllegalArgumentException: no topic"
        ),
    ),
    _pattern(
        "program_failed",
        "1.9+",
        r"Run python process failed",
        (
            "Run python process failed\njava.lang.RuntimeException: Python process exits with "
            "code: 1"
        ),
    ),
    _pattern(
        "program_failed",
        "1.11+ on Kubernetes",
        r"Could not create application program",
        (
            "Could not create application program.\njava.io.FileNotFoundException: "
            "/opt/flink/usrlib/job.jar"
        ),
    ),
    _pattern(
        "program_failed",
        "1.9+",
        rf"Failed to submit job (?:{t.JOB}\.|graph )",
        (
            f"Failed to submit job {t.SAMPLE_JOB}.\norg.apache.flink.runtime.client."
            "JobExecutionException: Could not initialize task 'enrich'"
        ),
    ),
    _pattern(
        # Enumerators of files and of lake tables, which go on without new splits.
        "enumeration_failed",
        "1.12+",
        r"Failed to enumerate files",
        (
            "Failed to enumerate files\norg.apache.paimon.table.source.OutOfRangeException: The "
            "snapshot with id 41 has expired. You can: 1. increase the snapshot or changelog "
            "expiration time."
        ),
    ),
    _pattern(
        "enumeration_failed",
        "Iceberg's connector",
        r"Failed to discover new splits",
        (
            "Failed to discover new splits\norg.apache.iceberg.exceptions.NotFoundException: "
            "Failed to open input stream for file: s3://lake/t/metadata/1.avro"
        ),
    ),
    _pattern(
        "submission_ignored",
        "1.15+",
        rf"Ignoring (?:JobGraph|job) submission '{t.ANY:job_name}' \({t.JOB}\) because "
        rf"{t.REST:reason_text}",
        (
            f"Ignoring job submission 'orders (eu)' ({t.SAMPLE_JOB}) because the job already "
            "reached a globally-terminal state (i.e. FAILED, CANCELED, FINISHED) in a previous "
            "execution."
        ),
        starts="Ignoring ",
        reason="JOB_KNOWN_ALREADY",
    ),
    _pattern(
        "client_lost",
        "1.17+",
        rf"The heartbeat from the job client is timeout and cancel the job {t.JOB}\.",
        (
            f"The heartbeat from the job client is timeout and cancel the job {t.SAMPLE_JOB}. You "
            "can adjust the heartbeat interval by 'client.heartbeat.interval' and the timeout by "
            "'client.heartbeat.timeout'"
        ),
        reason="CLIENT_LOST",
    ),
    _pattern(
        "ha_entry_removed",
        "1.12+ on Kubernetes",
        rf"Could not retrieve the state handle of '{t.ANY:path}' from ConfigMap '{t.ANY}'\. "
        rf"Removing the entry",
        (
            "Could not retrieve the state handle of 'checkpointID-0000000000000009702' from "
            "ConfigMap 'orders-config-map'. Removing the entry as we don't have any way to recover."
        ),
        reason="HA_STORE_BROKEN",
    ),
    _pattern(
        "cluster_shut_down",
        "1.9+",
        rf"Shutting {t.WORD} down with application status {t.STATE:to_state}\. Diagnostics "
        rf"(?:null\.|{t.REST:reason_text})",
        (
            "Shutting StandaloneJobClusterEntryPoint down with application status FAILED. "
            "Diagnostics org.apache.flink.util.FlinkException: Could not create the "
            "DispatcherResourceManagerComponent."
        ),
        starts="Shutting ",
    ),
    _pattern(
        "taskmanager_fatal",
        "1.9+",
        rf"Fatal error occurred in TaskExecutor {t.WORD}\.",
        (
            "Fatal error occurred in TaskExecutor akka.tcp://flink@10.0.0.7:6122/user/rpc/"
            "taskmanager_0.\njava.lang.OutOfMemoryError: Metaspace. The metaspace"
        ),
        starts="Fatal error occurred in TaskExecutor ",
    ),
    _pattern(
        "taskmanager_fatal",
        "1.9+",
        r"Fatal error occurred while executing the TaskManager\.",
        (
            "Fatal error occurred while executing the TaskManager. Shutting it down...\n"
            "java.lang.OutOfMemoryError: Direct buffer memory"
        ),
    ),
    _pattern(
        "taskmanager_fatal",
        "1.9–1.12",
        r"TaskManager initialization failed\.",
        "TaskManager initialization failed.\njava.io.IOException: Could not create FileSystem",
    ),
    _pattern(
        "taskmanager_fatal",
        "1.9+",
        rf"Terminating TaskManagerRunner with exit code {t.INT:count}",
        "Terminating TaskManagerRunner with exit code 1.",
    ),
    _pattern(
        "fatal_error",
        "1.9+",
        rf"FATAL: Thread '{t.ANY}' produced an uncaught exception\.",
        (
            "FATAL: Thread 'flink-akka.actor.default-dispatcher-4' produced an uncaught exception. "
            "Stopping the process...\njava.lang.OutOfMemoryError: Java heap space"
        ),
    ),
    _pattern(
        "signal_received",
        "1.9+",
        rf"RECEIVED SIGNAL {t.INT:count}: {t.ANY:reason_text}\.(?: |\n)",
        "RECEIVED SIGNAL 15: SIGTERM. Shutting down as requested.",
    ),
    _pattern(
        "leadership_granted",
        "1.9–1.12",
        (
            rf"JobManager runner for job {t.ANY:job_name} \({t.JOB}\) was granted leadership with "
            rf"session id "
        ),
        (
            f"JobManager runner for job orders (eu) ({t.SAMPLE_JOB}) was granted leadership with "
            "session id 5fdd1a2e-0001-4f1d-9c2e-0f4f1e6b7a99 at akka.tcp://flink@jm:6123/user/rpc."
        ),
    ),
    _pattern(
        "leadership_granted",
        "1.13+",
        rf"JobMasterServiceLeadershipRunner for job {t.JOB} was granted leadership with leader id ",
        (
            f"JobMasterServiceLeadershipRunner for job {t.SAMPLE_JOB} was granted leadership with "
            "leader id 5fdd1a2e-0001-4f1d-9c2e-0f4f1e6b7a99. Creating new JobMasterServiceProcess."
        ),
        starts="JobMasterServiceLeadershipRunner for job ",
    ),
    _pattern(
        "leadership_lost",
        "1.13+",
        rf"JobMasterServiceLeadershipRunner for job {t.JOB} was revoked leadership with leader id ",
        (
            f"JobMasterServiceLeadershipRunner for job {t.SAMPLE_JOB} was revoked leadership with "
            "leader id 5fdd1a2e-0001-4f1d-9c2e-0f4f1e6b7a99. Stopping current "
            "JobMasterServiceProcess."
        ),
        starts="JobMasterServiceLeadershipRunner for job ",
        reason="LEADERSHIP_LOST",
    ),
    _pattern(
        "leadership_lost",
        "1.9–1.12",
        rf"JobManager for job {t.ANY:job_name} \({t.JOB}\) (?:at {t.ANY} )?was revoked leadership",
        (
            f"JobManager for job orders (eu) ({t.SAMPLE_JOB}) was revoked leadership at "
            "akka.tcp://flink@jm:6123/user/rpc/jobmanager_2."
        ),
        reason="LEADERSHIP_LOST",
    ),
    _pattern(
        "leadership_lost",
        "1.9+",
        rf"JobManager for job {t.JOB} with leader id {t.ANY} lost leadership",
        (
            f"JobManager for job {t.SAMPLE_JOB} with leader id 9c2e0f4f1e6b7a995fdd1a2e00014f1d "
            "lost leadership."
        ),
        reason="LEADERSHIP_LOST",
    ),
    _pattern(
        "leadership_lost",
        "1.9+",
        rf"ResourceManager {t.WORD} was revoked leadership",
        "ResourceManager akka.tcp://flink@jm:6123/user/rpc/rm_1 was revoked leadership. Clearing.",
        starts="ResourceManager ",
        reason="LEADERSHIP_LOST",
    ),
    _pattern(
        "leadership_lost",
        "1.11+",
        r"DefaultDispatcherRunner was revoked the leadership",
        (
            "DefaultDispatcherRunner was revoked the leadership with leader id "
            "5fdd1a2e-0001-4f1d-9c2e-0f4f1e6b7a99. Stopping the DispatcherLeaderProcess."
        ),
        reason="LEADERSHIP_LOST",
    ),
    _pattern(
        # org.apache.hadoop.fs.s3a.WriteOperationHelper
        STORE_RETRIED,
        "Hadoop 3.1+",
        rf"{t.ANY}: Retried {t.INT:count}: {t.REST:reason_text}",
        (
            "Writing Object on flink/ck/chk-4/x: Retried 2: "
            "org.apache.hadoop.fs.s3a.AWSServiceThrottledException: Writing Object on "
            "s3a://lake/flink/ck/chk-4/x: Please reduce your request rate."
        ),
        contains=" Retried ",
    ),
    _pattern(
        # com.google.cloud.hadoop.util.RetryHttpInitializer
        STORE_RETRIED,
        "GCS connector",
        r"Encountered status code (?:429|503) when (?:sending [A-Z]+ request to|accessing) URL ",
        (
            "Encountered status code 429 when sending POST request to URL "
            "'https://storage.googleapis.com/upload/storage/v1/b/lake/o?uploadType=multipart'. "
            "Delegating to response handler for possible retry."
        ),
        starts="Encountered status code ",
        reason="STORE_THROTTLED",
    ),
    _pattern(
        "zookeeper_lost",
        "1.9+",
        rf"Connection to ZooKeeper (?:suspended|lost){t.REST:reason_text}",
        ("Connection to ZooKeeper suspended, waiting for reconnection."),
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
"""Kinds whose ``path`` is the place in an object store, if the text names a bucket."""

TRACE_PATTERNS: tuple[TracePattern, ...] = (
    TracePattern(
        "tolerable_failures_exceeded",
        "Exceeded checkpoint tolerable failure threshold",
        "TOLERABLE_FAILURES_EXCEEDED",
        (
            "org.apache.flink.util.FlinkRuntimeException: Exceeded checkpoint tolerable failure "
            "threshold."
        ),
    ),
    TracePattern(
        "insufficient_network_buffers",
        "Insufficient number of network buffers",
        "INSUFFICIENT_NETWORK_BUFFERS",
        (
            "java.io.IOException: Insufficient number of network buffers: required 65, but only 6 "
            "available."
        ),
    ),
    TracePattern(
        "partition_not_found",
        "PartitionNotFoundException",
        "PARTITION_NOT_FOUND",
        (
            "org.apache.flink.runtime.io.network.partition.PartitionNotFoundException: Partition "
            "6f1c#0@2b not found."
        ),
    ),
    TracePattern(
        "out_of_memory",
        "java.lang.OutOfMemoryError",
        "OUT_OF_MEMORY",
        "java.lang.OutOfMemoryError: Metaspace",
    ),
    TracePattern(
        "rpc_too_large",
        "OversizedPayloadException",
        "RPC_TOO_LARGE",
        (
            "akka.remote.OversizedPayloadException: Discarding oversized payload sent to "
            "Actor[akka.tcp://flink@jm:6123/]: max allowed size 10485760 bytes"
        ),
    ),
    TracePattern(
        "rpc_too_large",
        "exceeds the maximum akka framesize",
        "RPC_TOO_LARGE",
        "java.io.IOException: The rpc invocation size 12000000 exceeds the maximum akka framesize.",
    ),
    TracePattern(
        "rpc_too_large",
        "exceeds the maximum pekko framesize",
        "RPC_TOO_LARGE",
        "java.io.IOException: The rpc invocation size 12000000 exceeds the maximum pekko "
        "framesize.",
    ),
    TracePattern(
        "rpc_too_large",
        "'s result size ",
        "RPC_TOO_LARGE",
        (
            "org.apache.flink.runtime.rpc.exceptions.RpcException: The method requestJob's result "
            "size 14123456 exceeds the maximum size 10485760 ."
        ),
    ),
    TracePattern(
        "association_quarantined",
        "UID that has been quarantined",
        "ASSOCIATION_QUARANTINED",
        (
            "akka.remote.transport.netty.NettyTransport: The remote system has a UID that has been "
            "quarantined. Association aborted."
        ),
    ),
    TracePattern(
        "association_quarantined",
        "irrecoverably failed",
        "ASSOCIATION_QUARANTINED",
        (
            "Association to [pekko.tcp://flink@tm-1:6122] having UID [7] is irrecoverably failed. "
            "UID is now quarantined and all messages to this UID will be delivered to dead letters."
        ),
    ),
    TracePattern(
        "association_quarantined",
        "has quarantined this system",
        "ASSOCIATION_QUARANTINED",
        (
            "The remote system has quarantined this system. No further associations to the remote "
            "system are possible until this system is restarted."
        ),
    ),
    TracePattern(
        "registration_failed",
        "RegistrationTimeoutException",
        "REGISTRATION_FAILED",
        (
            "org.apache.flink.runtime.taskexecutor.exceptions.RegistrationTimeoutException: Could "
            "not register at the ResourceManager within the specified maximum registration duration"
        ),
    ),
    TracePattern(
        "store_refused",
        "Service: Amazon S3; Status Code: 403",
        "STORE_REFUSED",
        (
            "com.amazonaws.services.s3.model.AmazonS3Exception: Access Denied (Service: Amazon S3; "
            "Status Code: 403; Error Code: AccessDenied)"
        ),
    ),
    TracePattern(
        "store_refused",
        "Service: S3, Status Code: 403",
        "STORE_REFUSED",
        (
            "software.amazon.awssdk.services.s3.model.S3Exception: User: arn:aws:iam::1:role/flink "
            'is not authorized to perform: s3:PutObject on resource: "arn:aws:s3:::lake/ck/a" '
            "(Service: S3, Status Code: 403, Request ID: 4442587FB7D0A2F9)"
        ),
    ),
    TracePattern(
        "store_refused",
        "[ErrorCode]: AccessDenied",
        "STORE_REFUSED",
        (
            "com.aliyun.oss.OSSException: You have no right to access this object because of "
            "bucket acl.\n[ErrorCode]: AccessDenied\n[HostId]: lake.oss-cn-beijing.aliyuncs.com"
        ),
    ),
    TracePattern(
        "store_refused",
        "AuthorizationPermissionMismatch",
        "STORE_REFUSED",
        (
            'Operation failed: "This request is not authorized to perform this operation using '
            'this permission.", 403, PUT, https://acct.dfs.core.windows.net/ck/a, '
            "AuthorizationPermissionMismatch"
        ),
    ),
    TracePattern(
        "store_timeout",
        "Error Code: RequestTimeout",
        "STORE_TIMEOUT",
        (
            "com.amazonaws.services.s3.model.AmazonS3Exception: Your socket connection to the "
            "server was not read from or written to within the timeout period. (Service: Amazon "
            "S3; Status Code: 400; Error Code: RequestTimeout)"
        ),
    ),
    TracePattern(
        "store_throttled",
        "Service: Amazon S3; Status Code: 503",
        "STORE_THROTTLED",
        (
            "com.amazonaws.services.s3.model.AmazonS3Exception: Slow Down (Service: Amazon S3; "
            "Status Code: 503; Error Code: 503 Slow Down)"
        ),
    ),
    TracePattern(
        "store_throttled",
        "Service: S3, Status Code: 503",
        "STORE_THROTTLED",
        (
            "software.amazon.awssdk.services.s3.model.S3Exception: Slow down (Service: S3, Status "
            "Code: 503, Request ID: 4442587FB7D0A2F9)"
        ),
    ),
    TracePattern(
        "store_throttled",
        "QpsLimitExceeded",
        "STORE_THROTTLED",
        (
            "com.aliyun.oss.OSSException: QPS Limit Exceeded.\n[ErrorCode]: QpsLimitExceeded\n"
            "[HostId]: lake.oss-cn-beijing.aliyuncs.com"
        ),
    ),
    TracePattern(
        "store_throttled",
        ", ServerBusy",
        "STORE_THROTTLED",
        (
            'Operation failed: "Ingress is over the account limit.", 503, PUT, '
            "https://acct.dfs.core.windows.net/ck/a?action=append, ServerBusy"
        ),
    ),
    TracePattern(
        "store_throttled",
        "exceeded the rate limit for object",
        "STORE_THROTTLED",
        (
            "com.google.cloud.storage.StorageException: The object lake/ck/a exceeded the rate "
            "limit for object mutation operations (create, update, and delete)."
        ),
    ),
    TracePattern(
        "store_throttled",
        "educe your request rate",
        "STORE_THROTTLED",
        (
            "com.amazonaws.services.s3.model.AmazonS3Exception: Please reduce your request rate. "
            "(Service: Amazon S3; Status Code: 503; Error Code: SlowDown)"
        ),
    ),
    TracePattern(
        "store_pool_exhausted",
        "Timeout waiting for connection from pool",
        "STORE_POOL_EXHAUSTED",
        "com.amazonaws.SdkClientException: Timeout waiting for connection from pool",
    ),
    TracePattern(
        "store_pool_exhausted",
        "Acquire operation took longer",
        "STORE_POOL_EXHAUSTED",
        (
            "software.amazon.awssdk.core.exception.SdkClientException: Unable to execute HTTP "
            "request: Acquire operation took longer than the configured maximum time."
        ),
    ),
    TracePattern(
        "rpc_timeout",
        "AskTimeoutException",
        "RPC_TIMEOUT",
        (
            "akka.pattern.AskTimeoutException: Ask timed out on "
            "[Actor[akka://flink/user/rpc/dispatcher_1#1]] after [10000 ms]."
        ),
    ),
)

UNREAD = "unread_line"
"""The kind of lines that begin like entries of the table but match none, such as other wordings of
another Flink release.
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
"""Beginnings of lines that contain a piece of an entry but are known to be something else."""

READ_CHARS = 8192
"""Expressions see at most this much of a line, which bounds the cost of hostile ones."""

KEPT_LEVELS: tuple[str, ...] = ("WARN", "ERROR", "FATAL")
"""Records of these levels are kept whether or not an entry reads them."""


def starts() -> tuple[str, ...]:
    return tuple(dict.fromkeys(pattern.starts for pattern in PATTERNS if pattern.starts))


def contained() -> tuple[str, ...]:
    pieces = list(dict.fromkeys(pattern.contains for pattern in PATTERNS if pattern.contains))
    return tuple(
        piece for piece in pieces if not any(other != piece and other in piece for other in pieces)
    )
