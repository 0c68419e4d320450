from ingest.messages import message
from spark_jobs.diagnosis.failure_causes.cause import FailureCause

CAUSES = (
    FailureCause(
        "TABLE_COMMIT_CONFLICT",
        r"[Cc]onflicts detected! Give[ ]up committing"
        r"|iceberg\.exceptions\.(?:CommitFailed|Validation)Exception"
        r"|HoodieWriteConflictException|Heartbeat for instant \w+ has expired",
        message("another writer changed the table at the same time"),
        message(
            "Find who else writes or maintains that table: a second job, compaction, clean-up, "
            "deletes. Let one of them compact and the others only write, or use the table's lock. "
            "A job that was started from an older snapshot than the table's newest commit "
            "conflicts at each attempt: start it from its newest one."
        ),
    ),
    FailureCause(
        "TABLE_COMMIT_UNKNOWN",
        r"CommitStateUnknownException",
        message("it is not known whether a commit reached the table"),
        message(
            "Let the job restart from its own newest checkpoint: it looks which commits the table "
            "has, and adds what is missing. Delete no file of that commit, and start no clean-up, "
            "before its snapshots say so."
        ),
    ),
    FailureCause(
        "TABLE_FILE_GONE",
        r"iceberg\.exceptions\.NotFoundException|Possible causes: 1\. ?snapshot expires too fast"
        r"|org\.apache\.hudi\.[\s\S]*(?:FileNotFoundException|File does not exist)",
        message("a file of a table that the job reads or writes is not there"),
        message(
            "See who deleted it: expired snapshots, orphan clean-up or compaction while the job "
            "was stopped or behind. Bring the file back, and keep snapshots for longer than the "
            "longest stop. If the table is known to have what the sink still wants to commit, "
            "start without the sink's state (another uid(), allow non-restored state); else it "
            "would be lost."
        ),
        unreadable=True,
    ),
    FailureCause(
        "TABLE_SINK_WAITS",
        r"while waiting for instant initialize",
        message("Hudi's sink waited for its coordinator in vain"),
        message(
            "Look for the checkpoint that did not complete, and for errors of the commit in the "
            "JobManager's log: they say why. A longer write.commit.ack.timeout only postpones it."
        ),
    ),
)
