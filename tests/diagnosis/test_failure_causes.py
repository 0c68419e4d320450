"""The table of failure causes, entry by entry, and what must stay unknown."""

import re

import pytest

from spark_jobs.diagnosis.failure_causes.table import CAUSES, UNKNOWN, cause_of, code_of, of_code
from tests.selections import for_each


@for_each(cause=CAUSES)
def test_each_entry_reads_its_own_example_and_none_before_it_does(cause):
    assert cause_of(cause.example) is cause
    assert cause.title and cause.next_step and cause.source
    assert re.compile(cause.regex)


def test_codes_are_distinct_and_found_again():
    codes = [cause.code for cause in CAUSES]
    assert len(set(codes)) == len(codes) >= 40
    assert UNKNOWN not in codes
    assert all(of_code(code).code == code for code in codes)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Container container_1_01_000003 exited normally.", None),
        ("java.lang.IllegalStateException: order 17 has no customer\n\tat a.B.c(B.java:1)", None),
        ("java.lang.NullPointerException\n\tat com.example.Enrich.map(Enrich.java:7)", None),
        ("", None),
        (None, None),
        ("exitCode=0, reason=Completed", None),
        ("java.io.FileNotFoundException: /tmp/rules.json (No such file or directory)", None),
        ("exitCode=143, reason=Error", "TASKMANAGER_STOPPED"),
        ("Pod terminated (exitCode=1, reason=Error, message=null)", "CONTAINER_EXITED"),
        ("java.lang.OutOfMemoryError: Direct buffer memory", "DIRECT_MEMORY_FULL"),
        ("java.lang.OutOfMemoryError: GC overhead limit exceeded", "HEAP_FULL"),
        (
            "java.net.SocketException: Connection reset\n\tat org.postgresql.core.VisibleBuffered",
            "CONNECTION_BROKEN",
        ),
        (
            "software.amazon.awssdk.services.s3.model.S3Exception: Slow Down (Service: S3, Status "
            "Code: 503)",
            "STORE_THROTTLED",
        ),
        (
            "com.microsoft.azure.storage.StorageException: The server is busy. ServerBusy, 503",
            "STORE_THROTTLED",
        ),
        (
            "org.apache.hadoop.security.AccessControlException: Permission denied: user=flink, "
            'access=WRITE, inode="/flink"',
            "STORE_REFUSED",
        ),
        (
            "java.lang.ClassCastException: cannot assign instance of java.lang.invoke."
            "SerializedLambda to field",
            "CLASS_VERSIONS",
        ),
        (
            "org.apache.flink.runtime.rpc.exceptions.FencingTokenException: Fencing token mismatch",
            "FENCING",
        ),
        (
            "org.apache.kafka.common.errors.InvalidProducerEpochException: Producer attempted to "
            "produce with an old epoch.",
            "PRODUCER_FENCED",
        ),
        ("org.rocksdb.RocksDBException: Corruption: block checksum mismatch in x.sst", "ROCKSDB"),
        (
            "org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access "
            "topics: [orders]",
            "AUTHENTICATION_FAILED",
        ),
        ("java.net.ConnectException: refused by the host", "CONNECTION_BROKEN"),
        (
            'PSQLException: ERROR: replication slot "orders" does not exist',
            "SOURCE_POSITION_GONE",
        ),
        (
            "org.apache.pulsar.client.api.PulsarClientException$ConsumerBusyException: Exclusive "
            "consumer is already connected",
            "SOURCE_TAKEN",
        ),
        (
            "ValidationException: Could not find any factory for identifier 'kafka' that "
            "implements 'DynamicTableFactory' in the classpath.",
            "CLASS_MISSING",
        ),
        ("MySQLTransactionRollbackException: Lock wait timeout exceeded", "TARGET_OVERLOADED"),
        (
            "org.apache.flink.runtime.checkpoint.x: Illegal JobGraph modification. Cannot run a "
            "program with fully finished vertices",
            "TOPOLOGY_CHANGED",
        ),
    ],
)
def test_siblings_of_the_examples(text, code):
    found = cause_of(text)
    assert (found.code if found else None) == code
    assert code_of(found) == (code or UNKNOWN)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("java.lang.IllegalStateException: StackOverflow answered 500", None),
        ("Pod terminated (exitCode=13, reason=Error, message=null)", "CONTAINER_EXITED"),
        ("Exit code:-105.", "CONTAINER_EXITED"),
        ("Task 'a (1/2)' did not react to cancelling signal - notifying TM", None),
        ("Failed to pull the newest rates", None),
        ("Job 26eb has been archived at hdfs:/archive", None),
        ("\tat java.base/java.lang.Thread.run(Thread.java:829)", None),
        ("java.lang.IllegalArgumentException: option x", None),
        ("Python process started", None),
        (
            "java.io.IOException: Failed to deserialize consumer record due to\nCaused by: org."
            "apache.flink.streaming.runtime.tasks.ExceptionInChainedOperatorException: Could not "
            "forward element to next operator\nCaused by: java.lang.ArithmeticException: / by zero",
            None,
        ),
        ("java.lang.IllegalStateException: Cannot rescale the picture", None),
        ("A savepoint has been created at: s3://b/sp/savepoint-1", None),
        ("Too many files for one bucket", None),
        ("java.io.IOException: Input/output format differs", None),
        ("AmazonS3Exception: Please reduce your request rate.", "STORE_THROTTLED"),
        ("This coupon could only be used once", None),
        ("org.apache.kafka.connect.errors.ConnectException: task failed", None),
        ("org.apache.kafka.clients.consumer.CommitFailedException: rebalanced", None),
        ("java.lang.IllegalStateException: Duplicate entry point", None),
        ("HTTP error: -2350", None),
        (
            "com.amazonaws.services.s3.model.AmazonS3Exception: Access Denied (Service: Amazon S3; "
            "Status Code: 403)\n\tat org.apache.flink.fs.s3.common.writer."
            "S3RecoverableMultipartUploadFactory.recoverInProgressPart(X.java:97)",
            "STORE_REFUSED",
        ),
        ("org.apache.hudi.exception.HoodieException: no record key", None),
        ("waiting for the instant message", None),
        ("The price list is no longer available", None),
        ('replication slot "orders" was created', None),
        ("The schema of the table has changed", None),
        ("java.lang.IllegalStateException: commit state unknown", None),
    ],
)
def test_near_misses_are_not_taken_for_a_cause(text, code):
    found = cause_of(text)
    assert (found.code if found else None) == code
