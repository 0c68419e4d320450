"""Causes: transactions and producers of sinks."""

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
        "org.apache.kafka.common.KafkaException: Unexpected error in InitProducerIdResponse; The "
        "transaction timeout is larger than the maximum value allowed by the broker (as configured "
        "by transaction.max.timeout.ms).",
        "org.apache.kafka.common.errors.InvalidTxnTimeoutException",
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
        "org.apache.kafka.common.errors.ProducerFencedException: Producer attempted an operation "
        "with an old epoch.",
        "org.apache.kafka.common.errors.ProducerFencedException",
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
        "org.apache.kafka.common.errors.InvalidTxnStateException: The producer attempted a "
        "transactional operation in an invalid state.",
        "org.apache.kafka.common.errors.InvalidTxnStateException",
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
        "org.apache.kafka.common.errors.RecordTooLargeException: The message is 1048620 bytes when "
        "serialized which is larger than 1048576",
        "org.apache.kafka.common.errors.RecordTooLargeException",
    ),
)
