from ingest.messages import message
from spark_jobs.diagnosis.failure_causes.cause import FailureCause

CAUSES = (
    FailureCause(
        "TRANSACTION_TIMEOUT_REFUSED",
        r"transaction timeout is larger than the maximum value allowed|InvalidTxnTimeoutException",
        message("the broker refuses the producer's transaction time-out"),
        message(
            "Set the producer's transaction.timeout.ms to at most the broker's "
            "transaction.max.timeout.ms (15 min unless set), or raise the latter. It has to be "
            "longer than a checkpoint and a restart together."
        ),
    ),
    FailureCause(
        "PRODUCER_FENCED",
        r"ProducerFenced|InvalidProducerEpoch|[Pp]roducer attempted (?:an operation with an old "
        r"epoch|to produce with an old epoch)|newer producer with the same transactionalId",
        message("a producer with the same transactional id took over (fenced)"),
        message(
            "See whether two jobs, or an old attempt that still runs, use the same "
            "transactionalIdPrefix: give each job its own. Else the transaction was open for "
            "longer than transaction.timeout.ms, and what it held is lost: raise that above a "
            "checkpoint and a restart together."
        ),
    ),
    FailureCause(
        "TRANSACTION_ABORTED",
        r"InvalidTxnState|TransactionAbortedException|transactional operation in an invalid state"
        r"|InvalidPidMapping|TransactionalIdNotFound|TransactionNotFoundException",
        message("the store aborted a transaction before it was committed"),
        message(
            "What the transaction held is not in the target: replay it from the source, or start "
            "from an older checkpoint. Raise transaction.timeout.ms above the time from one "
            "checkpoint to the end of the next and a restart together."
        ),
    ),
    FailureCause(
        "RECORD_TOO_LARGE",
        r"RecordTooLargeException|MessageSizeTooLarge|larger than the maximum request size",
        message("a record is larger than its target accepts"),
        message(
            "The same record comes again after each restart. Raise max.request.size of the "
            "producer and message.max.bytes of the topic, or leave such records out before the "
            "sink."
        ),
    ),
    FailureCause(
        "TARGET_REFUSES_RECORD",
        r"too many filtered rows|ETL_QUALITY_UNSATISFIED|(?:mapper|document)_parsing_exception"
        r"|is NOT NULL, however, a null value|Data too long for column|Data truncation"
        r"|Duplicate entry '|violates (?:unique|not-null|foreign key|check) constraint"
        r"|value too long for type|ORA-(?:00001|01400|12899)",
        message("the target refuses a record"),
        message(
            "The same record comes again after each restart. Compare it with the target's schema: "
            "a null, a type, a length, a partition that does not exist, a key that is there "
            "already. Change the schema, or treat such records in the job before the sink: what "
            "is dropped there (table.exec.sink.not-null-enforcer) is not in the target."
        ),
    ),
    FailureCause(
        "TARGET_OVERLOADED",
        r"es_rejected_execution|EsRejectedExecution|circuit_breaking_exception|Too many parts"
        r"|TOO_MANY_PARTS|too many (?:tablet )?versions|err(?:or)?(?: code)?[=: ]+-235\b"
        r"|Deadlock found when trying to get lock|Lock wait timeout exceeded|deadlock detected"
        r"|Too many connections|too many clients already",
        message("the target cannot keep up with the sink"),
        message(
            "Write fewer and larger batches, from fewer subtasks, and keep rows of one key in one "
            "of them, so that they do not wait for each other's locks. See what the target itself "
            "is busy with: merges, compaction, connections of others."
        ),
    ),
    FailureCause(
        "BROKER_TROUBLE",
        r"NotEnoughReplicas|CoordinatorNotAvailable|NotLeaderOrFollower|NotLeaderForPartition"
        r"|LeaderNotAvailable|BrokerNotAvailable|KafkaStorageException|OutOfOrderSequence"
        r"|UnknownProducerId|ConcurrentTransactions",
        message("Kafka's brokers could not take a request"),
        message(
            "Look at the brokers at that time: too few replicas in sync (min.insync.replicas), "
            "elections of leaders, a rolling restart, a full disk. To live through these, raise "
            "delivery.timeout.ms."
        ),
    ),
    FailureCause(
        "SINK_PART_GONE",
        r"(?:FileNotFound|NoSuchFile|NoSuchKey|NoSuchUpload|does not exist)[\s\S]*"
        r"(?:recoverInProgressPart|RecoverableMultipartUpload|RecoverableFsDataOutputStream)"
        r"|(?:recoverInProgressPart|RecoverableMultipartUpload|RecoverableFsDataOutputStream)"
        r"[\s\S]*(?:FileNotFound|NoSuchFile|NoSuchKey|NoSuchUpload|does not exist)",
        message("a file that the file sink had not finished is not there"),
        message(
            "The snapshot continues a part file that was finished or deleted since: mostly it "
            "is not the newest snapshot, or a lifecycle rule removed uploads that were not "
            "complete. Start from the newest one. If that fails as well, start without the sink's "
            "state (give the sink another uid(), allow non-restored state): what it had not "
            "published yet is then to be written again from the source."
        ),
        unreadable=True,
    ),
)
