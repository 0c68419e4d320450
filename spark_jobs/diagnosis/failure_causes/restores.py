from ingest.messages import message
from spark_jobs.diagnosis.failure_causes.cause import FailureCause

_NOT_THERE = (
    r"FileNotFound|NoSuchFile|NoSuchKey|does not exist|(?:File|Item|Directory) not found|No such "
    r"(?:file|object)|PathNotFound|BlobNotFound"
)

PARTICULAR = (
    FailureCause(
        "STATE_INCOMPATIBLE",
        r"StateMigrationException|serializer[^\n]{0,400}must (?:not be incompatible|be compatible)"
        r"|state (?:key |value |namespace )?serializer[^\n]{0,200}incompatible"
        r"|cannot be (?:restored|read) with the new serializer",
        message("the state's serializer is incompatible with the snapshot"),
        message(
            "This version of the job cannot read that snapshot, at no attempt. Go back to the "
            "version of the job that wrote it, or write the state again: with the State Processor "
            "API, or with a serializer that can migrate (TypeSerializerSnapshot). See which type "
            "changed, and whether it fell back to Kryo."
        ),
        unreadable=True,
    ),
    FailureCause(
        "STATE_OF_REMOVED_OPERATOR",
        r"Cannot map (?:checkpoint/savepoint|savepoint|checkpoint) state for operator"
        r"|There is no operator for the state",
        message("the snapshot has state of an operator that the job does not have"),
        message(
            "Give the operator its uid() back: without one, its id changes with the job's graph. "
            "Where it was removed on purpose, start with --allowNonRestoredState: what it kept "
            "is lost then, for ever where the next snapshot replaces this one."
        ),
        unreadable=True,
    ),
    FailureCause(
        "MAX_PARALLELISM",
        r"can not be restored\. The maximum parallelism|[Mm]ax(?:imum)? ?parallelism[^\n]{0,80}"
        r"(?:mismatch|changed|does not match|cannot be changed)|with max(?:imum)? parallelism "
        r"[^\n]{0,60}(?:changed|to new program)|Cannot map checkpoint/savepoint state"
        r"[^\n]{0,80}[Mm]ax(?:imum)? parallelism",
        message("the maximum parallelism differs from that of the snapshot"),
        message(
            "Keyed state cannot be spread over another number of key groups: set the maximum "
            "parallelism that the snapshot has (setMaxParallelism), and a parallelism below it. "
            "To raise it, write the state again with the State Processor API."
        ),
        unreadable=True,
    ),
    FailureCause(
        "TOPOLOGY_CHANGED",
        r"Cannot rescale the given pointwise partitioner|Cannot get old subtasks from a descriptor"
        r"|Cannot recover from unaligned checkpoint when topology changes"
        r"|Illegal JobGraph modification|contain mixed operator finished state"
        r"|are chained into the same keyed vertex but recorded different",
        message("the snapshot does not fit the changed graph or parallelism of the job"),
        message(
            "Start it once with the version of the job and the parallelism that wrote the "
            "snapshot, take a savepoint, and change it from there: a savepoint has no records in "
            "flight, which cannot be spread over another graph."
        ),
        unreadable=True,
    ),
    FailureCause(
        "HA_STORE_BROKEN",
        r"state handle is broken|Could not retrieve checkpoint \d+ from state handle"
        r"|Could not (?:retrieve|load|recover)[^\n]{0,40}(?:JobGraph|job graph|ExecutionPlan)",
        message("the high-availability store names a file that is gone"),
        message(
            "Restore the file where its directory was cleaned up or moved. If it is lost, stop "
            "the JobManager, remove what the store keeps of this job (its ConfigMap or znode), "
            "and start the job from its newest checkpoint or savepoint that is whole: without that "
            "it would begin without state."
        ),
        unreadable=True,
    ),
    FailureCause(
        "SNAPSHOT_GONE",
        r"Cannot find checkpoint or savepoint file/directory|Cannot find meta data file"
        rf"|(?:BackendRestorerProcedure|StreamTaskStateInitializerImpl)[\s\S]*(?:{_NOT_THERE})",
        message("a file of the snapshot is not there"),
        message(
            "Bring the file back, or start from a checkpoint or savepoint that is whole. Stop what "
            "deletes files there before the next job restarts."
        ),
        unreadable=True,
    ),
    FailureCause(
        "SNAPSHOT_UNREADABLE",
        r"Unexpected magic number [0-9A-Fx]+\b|Unrecognized (?:checkpoint|savepoint) version"
        r"|Cannot (?:read|deserialize)[^\n]{0,20}(?:checkpoint|savepoint)",
        message("the snapshot is damaged or of another Flink version"),
        message(
            "Start from the checkpoint or savepoint before it. See whether a newer Flink wrote it, "
            "or whether its files were cut short by a copy."
        ),
        unreadable=True,
    ),
    FailureCause(
        "STOPPED_AFTER_SAVEPOINT",
        r"StopWithSavepointStoppingException|failed during stopping\. The savepoint is consistent",
        message("the savepoint is complete, but the job failed while it stopped"),
        message(
            "Start the next job from that savepoint, whose path is named, and from no older "
            "checkpoint: transactions of sinks that it has prepared are committed by its restore "
            "alone."
        ),
    ),
    FailureCause(
        "MEMORY_STATE_TOO_LARGE",
        r"maximum permitted memory-backed state",
        message("state is larger than the JobManager's memory storage allows"),
        message(
            "Set state.checkpoints.dir (execution.checkpointing.dir), so that checkpoints are "
            "written to a file system: without it they go to the JobManager's heap, 5 MB for each "
            "state."
        ),
    ),
)

GENERAL = (
    FailureCause(
        "SYNC_PHASE_TIMEOUT",
        r"did not complete the synchronous phase of checkpoint \d+",
        message("the synchronous part of a checkpoint did not end in time"),
        message(
            "Take a thread dump of that task while a checkpoint runs: a lock or a flush in "
            "RocksDB, or snapshotState() itself, holds its thread. Look at the local disk of its "
            "host. If it only is slow, raise execution.checkpointing.sync-phase-timeout."
        ),
    ),
    FailureCause(
        "CHECKPOINTS_FAILED",
        r"Exceeded checkpoint tolerable failure threshold",
        message("more checkpoints failed in a row than the job tolerates"),
        message(
            "Look at the findings about expired and declined checkpoints: they say why. Until that "
            "is repaired, raise execution.checkpointing.tolerable-failed-checkpoints, so that the "
            "job at least keeps running."
        ),
    ),
    FailureCause(
        "RESTORE_FAILED",
        r"Could not restore (?:keyed|operator) state backend|Exception while creating "
        r"StreamOperatorStateContext|Failed to rollback to checkpoint/savepoint"
        r"|Failed to restore from (?:checkpoint|savepoint)",
        message("the state could not be restored"),
        message(
            "Read the innermost cause: the next attempt reads the same snapshot. Where it says "
            "nothing of the network or the storage's limits, go back to the version of the job "
            "that "
            "wrote the snapshot, or start from an older checkpoint or savepoint."
        ),
        unreadable=True,
    ),
    FailureCause(
        "PARTITION_NOT_FOUND",
        r"PartitionNotFoundException",
        message("a task did not find the partition that it reads"),
        message(
            "The task that writes it had failed: read its own failure, which is the earlier one. "
            "Where there is none, it was deployed too late: raise "
            "taskmanager.network.request-backoff.max."
        ),
    ),
    FailureCause(
        "RPC_TIMEOUT",
        r"AskTimeoutException|This is usually caused by: 1\) ",
        message("calls between Flink's processes timed out"),
        message(
            "Look at the CPU and the garbage collections of the JobManager and of the process that "
            "did not answer. If they are only slow while many tasks start, raise "
            "pekko.ask.timeout (before 1.18 akka.ask.timeout)."
        ),
    ),
)
