"""The table of failure causes, entry by entry, and what must stay unknown."""

import re

import pytest

from spark_jobs.diagnosis.failure_causes.table import CAUSES, UNKNOWN, cause_of, code_of, of_code


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.code)
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
    ],
)
def test_siblings_of_the_examples(text, code):
    found = cause_of(text)
    assert (found.code if found else None) == code
    assert code_of(found) == (code or UNKNOWN)
