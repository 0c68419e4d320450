from ingest.messages import message
from spark_jobs.diagnosis.failure_causes.cause import FailureCause

CAUSES = (
    FailureCause(
        "SOURCE_POSITION_GONE",
        r"this is no longer available on the server|purged (?:required )?binary logs"
        r"|Could not find first log file name in binary log|[Rr]esume of change stream was not "
        r"possible|ChangeStreamHistoryLost|[Rr]esume ?[Tt]oken (?:was )?not found"
        r"|ORA-(?:01291|01292|00308)|do not contain the offset scn"
        r"|requested WAL segment [^\n]{0,80}has already been removed"
        r"|replication slot \"[^\"\n]{0,200}\" does not exist|exceeded the maximum reserved size"
        r"|OffsetOutOfRange|no configured reset policy"
        r"|is not a parent ancestor of|[Ss]napshot (?:with id )?\d+ (?:does not exist or )?has expired",
        message("the position that a source restores is not kept any more"),
        message(
            "Read that source from its beginning: give it alone another uid() and allow "
            "non-restored state, so that the other operators keep theirs; the sinks then get its "
            "records once more. Let the source keep its log (binlog, WAL, oplog, archive logs, "
            "retention, snapshots of a table) for longer than the longest stop, and send "
            "heartbeats where its tables seldom change."
        ),
        unreadable=True,
    ),
    FailureCause(
        "TOPIC_MISSING",
        r"UnknownTopicOrPartition|does not host this topic-partition|InvalidTopicException"
        r"|UnknownTopicId|\$(?:Topic)?NotFoundException: [^\n]{0,80}[Tt]opic"
        r"|Stream \S+ under account \d+ not found",
        message("a topic, partition or stream is not there"),
        message(
            "See whether it was deleted, whether its name and its cluster are right, and whether the "
            "job may see it. A topic that was made anew has none of the offsets that the job "
            "restores."
        ),
    ),
    FailureCause(
        "SOURCE_TAKEN",
        r"same server_uuid/server_id|replication slot \"[^\"\n]{0,200}\" (?:is active for PID"
        r"|already exists)|ConsumerBusyException|Exclusive consumer is already connected",
        message("another reader uses what this source may only use alone"),
        message(
            "Find the other reader: a second job, or an attempt before that still runs. Give each "
            "job its own replication slot or subscription, and a range of server ids as wide as "
            "its parallelism. Do not drop a slot that is in use: its position goes with it."
        ),
    ),
    FailureCause(
        "SOURCE_SCHEMA_UNKNOWN",
        r"schema isn't known to this connector|db history (?:topic )?[^\n]{0,60}missing"
        r"|Retrieve schema history failed",
        message("a change source does not know the schema of a table"),
        message(
            "The snapshot has no schema of a table that was added or changed since. Start with the "
            "list of tables that wrote it, or with scan.newly-added-table.enabled; several sources "
            "need histories of their own. Else read that source from its beginning, "
            "with another uid()."
        ),
    ),
)
