"""The table of failure causes, entry by entry, and what must stay unknown."""

import re

import pytest

from spark_jobs.diagnosis.failure_causes.table import (
    CAUSES,
    UNKNOWN,
    cause_by_code,
    cause_of,
    code_of,
)
from tests.diagnosis.failure_texts import EXAMPLES, SOURCES
from tests.selections import for_each


def test_each_entry_has_an_example_and_its_source():
    assert set(EXAMPLES) == set(SOURCES) == {cause.code for cause in CAUSES}
    assert all(SOURCES.values())


@for_each(cause=CAUSES)
def test_each_entry_reads_its_own_example_and_none_before_it_does(cause):
    assert cause_of(EXAMPLES[cause.code]) is cause
    assert cause.title and cause.next_step
    assert re.compile(cause.regex)


def test_codes_are_distinct_and_found_again():
    codes = [cause.code for cause in CAUSES]
    assert len(set(codes)) == len(codes) >= 40
    assert UNKNOWN not in codes
    assert all(cause_by_code(code).code == code for code in codes)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Container container_1_01_000003 exited normally.", None),
        ("java.lang.IllegalStateException: order 17 has no customer\n\tat a.B.c(B.java:1)", None),
        ("java.lang.NullPointerException\n\tat com.example.Enrich.map(Enrich.java:7)", None),
        ("", None),
        (None, None),
        ("exitCode=143, reason=Error", "TASKMANAGER_STOPPED"),
        ("exitCode=0, reason=Completed", None),
        ("Container preempted by scheduler", "POD_EVICTED"),
        (
            "on node preemptible-1 2026-11-20 08:01:40 UTC: exitCode=137, reason=OOMKilled, memory "
            "limit 4096Mi",
            "CONTAINER_OUT_OF_MEMORY",
        ),
        ("DisruptionTarget, reason=PreemptionByScheduler: preempting", "POD_EVICTED"),
        ("DisruptionTarget, reason=DeletionByTaintManager: Taint manager: x", "POD_EVICTED"),
        ("DisruptionTarget, reason=DeletionByPodGC: PodGC: node no longer exists", "NODE_LOST"),
        (
            "pod status: Failed(reason=Terminated, message=Pod was terminated in response to "
            "imminent node shutdown.)",
            "NODE_LOST",
        ),
        (
            "pod status: Failed(reason=Evicted, message=Pod ephemeral local storage usage exceeds "
            "the total limit of containers 10Gi. )",
            "POD_EVICTED",
        ),
        ("java.util.concurrent.TimeoutException: Slot request timed out", "NO_RESOURCE_AVAILABLE"),
        ("java.io.IOException: 设备上没有空间", "DISK_FULL"),
        ("java.io.IOException: Auf dem Gerät ist kein Speicherplatz mehr verfügbar", "DISK_FULL"),
        ("java.io.IOException: Aucun espace disponible sur le périphérique", "DISK_FULL"),
        ("java.io.IOException: 磁盘空间不足。", "DISK_FULL"),
        ("java.io.IOException: 连接被对方重设", "CONNECTION_BROKEN"),
        (
            "java.io.IOException: An existing connection was forcibly closed by the remote host",
            "CONNECTION_BROKEN",
        ),
        (
            "org.postgresql.util.PSQLException: FATAL: terminating connection due to administrator "
            "command",
            "CONNECTION_BROKEN",
        ),
        ("com.mongodb.MongoTimeoutException: Timed out after 30000 ms", "CONNECTION_BROKEN"),
        ("com.esotericsoftware.kryo.kryo5.KryoException: Buffer underflow.", "KRYO"),
        ("org.forstdb.RocksDBException: Corruption: bad block", "ROCKSDB"),
        (
            "java.util.concurrent.TimeoutException: Invocation of [RemoteRpcInvocation("
            "TaskExecutorGateway.submitTask(TaskDeploymentDescriptor, JobMasterId, Time))] at "
            "recipient [akka.tcp://flink@10.0.7.11:6122/user/rpc/taskmanager_0] timed out. This is "
            "usually caused by: 1) Akka failed sending the message silently",
            "RPC_TIMEOUT",
        ),
        ("Process died with exit code 1", "PYTHON_PROCESS"),
        (
            "com.azure.storage.blob.models.BlobStorageException: Status code 503, ServerBusy",
            "STORE_THROTTLED",
        ),
        (
            "com.google.cloud.storage.StorageException: 429 Too Many Requests",
            "STORE_THROTTLED",
        ),
        (
            "com.qcloud.cos.exception.CosServiceException: Access Denied. (Status Code: 403; Error "
            "Code: AccessDenied)\n\tat org.apache.hadoop.fs.CosNFileSystem.open(X.java:1)",
            "STORE_REFUSED",
        ),
        (
            "akka.remote: Association to [akka.tcp://flink@tm:1] having UID [7] is irrecoverably "
            "failed. UID is now quarantined and all messages to this UID will be delivered to dead "
            "letters.",
            "ASSOCIATION_QUARANTINED",
        ),
        (
            "The remote system has quarantined this system. No further associations to the remote "
            "system are possible until this system is restarted.",
            "ASSOCIATION_QUARANTINED",
        ),
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
        (
            (
                "java.lang.OutOfMemoryError\n\tat java.lang.AbstractStringBuilder.hugeCapacity(X."
                "java:161)"
            ),
            "VALUE_TOO_LARGE",
        ),
        (
            "java.lang.OutOfMemoryError: Required length exceeds implementation limit",
            "VALUE_TOO_LARGE",
        ),
        (
            (
                "java.lang.NegativeArraySizeException: -2147483648\n\tat org.rocksdb.RocksDB.get("
                "Native Method)"
            ),
            "VALUE_TOO_LARGE",
        ),
        (
            "java.io.IOException: Na zařízení není volné místo",
            None,
        ),
        (
            "java.io.IOException: Não há espaço disponível no dispositivo",
            "DISK_FULL",
        ),
        (
            "java.io.IOException: На устройстве не осталось свободного места",
            "DISK_FULL",
        ),
        (
            "java.io.IOException: 장치에 남은 공간이 없음",
            "DISK_FULL",
        ),
        (
            "java.io.IOException: Spazio esaurito sul device",
            "DISK_FULL",
        ),
        (
            "java.io.IOException: 裝置上已無多餘空間",
            "DISK_FULL",
        ),
        (
            (
                "java.io.IOException: Es steht nicht genug Speicherplatz auf dem Datenträger zur "
                "Verfügung"
            ),
            "DISK_FULL",
        ),
        (
            ("java.io.IOException: Die Verbindung wurde vom Kommunikationspartner zurückgesetzt"),
            "CONNECTION_BROKEN",
        ),
        (
            "java.io.IOException: Connection timed out",
            "CONNECTION_BROKEN",
        ),
        (
            (
                "org.postgresql.util.PSQLException: An I/O error occurred while sending to the ba"
                "ckend."
            ),
            "CONNECTION_BROKEN",
        ),
        (
            "java.io.IOException: listener timeout after waiting for [30000] ms",
            "CONNECTION_BROKEN",
        ),
        (
            (
                "Pod terminated, container termination statuses: [], pod status: Failed(reason=Ou"
                "tOfcpu, message=Pod was rejected: Node didn't have enough resource: cpu)"
            ),
            "CLUSTER_REFUSES",
        ),
        (
            (
                "Pod terminated, container termination statuses: [], pod status: Failed(reason=Un"
                "expectedAdmissionError, message=Allocate failed due to no healthy devices)"
            ),
            "CLUSTER_REFUSES",
        ),
        (
            (
                "Pod terminated, container termination statuses: [], pod status: Failed(reason=Pr"
                "eempting, message=Preempted in order to admit critical pod)"
            ),
            "POD_EVICTED",
        ),
        (
            (
                "Pod terminated, container termination statuses: [], pod status: Failed(reason=Sh"
                "utdown, message=Node is shutting, evicting pods)"
            ),
            "NODE_LOST",
        ),
        (
            "Container container_1_01_000003 marked as failed.\n Exit code:-106.",
            "NODE_LOST",
        ),
        (
            "Container container_1_01_000003 marked as failed.\n Exit code:-108.",
            "POD_EVICTED",
        ),
        (
            "Container container_1_01_000003 marked as failed.\n Exit code:-105.",
            "TASKMANAGER_STOPPED",
        ),
        (
            (
                "java.lang.IndexOutOfBoundsException: Index: 97, Size: 29\n\tat java.util.ArrayLi"
                "st.get(A.java:1)\n\tat com.esotericsoftware.kryo.util.MapReferenceResolver.getRe"
                "adObject(X.java:42)"
            ),
            "KRYO",
        ),
        (
            (
                "java.lang.NullPointerException\n\tat com.example.Enrich.map(Enrich.java:7)\n\tat"
                " a.B.c(B.java:1)\n\tat a.B.d(B.java:2)\n\tat a.B.e(B.java:3)\n\tat com.esoterics"
                "oftware.kryo.Kryo.copy(X.java:1)"
            ),
            None,
        ),
        (
            "StreamTaskException: Cannot load user class: com.example.Enrich",
            "CLASS_MISSING",
        ),
        (
            "java.io.IOException: Could not find class 'com.example.Order' in classpath.",
            "CLASS_MISSING",
        ),
        (
            "java.util.concurrent.TimeoutException: Slot request SlotRequestId{1f} timed out.",
            "NO_RESOURCE_AVAILABLE",
        ),
        (
            (
                "java.io.IOException: Timeout triggered when requesting exclusive buffers: The to"
                "tal number of network buffers is currently set to 2048"
            ),
            "INSUFFICIENT_NETWORK_BUFFERS",
        ),
        (
            (
                "com.amazonaws.SdkClientException: Unable to load AWS credentials from any provid"
                "er in the chain"
            ),
            "AUTHENTICATION_FAILED",
        ),
        (
            (
                "software.amazon.awssdk.core.exception.SdkClientException: Unable to load credent"
                "ials from any of the providers\n\tat org.apache.hadoop.fs.s3a.Invoker.once(X.jav"
                "a:1)"
            ),
            "STORE_REFUSED",
        ),
        (
            (
                'Operation failed: "Server failed to authenticate the request.", 403, HEAD, htt'
                "ps://acc.dfs.core.windows.net/c"
            ),
            "STORE_REFUSED",
        ),
        (
            (
                "org.apache.hadoop.security.AccessControlException: Client cannot authenticate vi"
                "a:[TOKEN, KERBEROS]"
            ),
            "AUTHENTICATION_FAILED",
        ),
        (
            (
                "org.apache.hadoop.hdfs.protocol.FSLimitException$MaxDirectoryItemsExceededExcept"
                "ion: The directory item limit of /flink/shared is exceeded"
            ),
            "STORAGE_QUOTA",
        ),
        (
            (
                "AmazonS3Exception: The bucket is in this region: eu-west-1. (Service: Amazon S3;"
                " Status Code: 301; Error Code: PermanentRedirect)"
            ),
            "BUCKET_MISSING",
        ),
        (
            (
                "java.lang.RuntimeException: Failed to get metadata for topics [orders].\nCaused "
                "by: org.apache.kafka.common.errors.UnknownTopicOrPartitionException: x"
            ),
            "TOPIC_MISSING",
        ),
        (
            "ResourceNotFoundException: Stream clicks under account 000000000000 not found.",
            "TOPIC_MISSING",
        ),
        (
            "org.apache.kafka.common.errors.OutOfOrderSequenceException: out of order",
            "BROKER_TROUBLE",
        ),
        (
            ("java.net.BindException: Could not start actor system on any port in port range 6123"),
            "PORT_IN_USE",
        ),
        (
            (
                "org.apache.flink.runtime.leaderelection.LeaderElectionException: Could not write"
                " leader information since ConfigMap orders-cluster-config-map does not exist."
            ),
            "HA_STORE_DELETED",
        ),
        (
            (
                "RpcException: The method requestJob's result size 14123456 exceeds the maximum s"
                "ize 10485760 ."
            ),
            "RPC_TOO_LARGE",
        ),
    ],
)
def test_siblings_of_the_examples(text, code):
    found = cause_of(text)
    assert (found.code if found else None) == code
    assert code_of(found) == (code or UNKNOWN)


NEAR = {
    "METASPACE_FULL": ("Setting the JVM Metaspace size to 256 mb", None),
    "DIRECT_MEMORY_FULL": ("Direct memory limit: 1.2 GB (direct buffer memory)", None),
    "NATIVE_THREADS_USED_UP": ("Created a new native thread for the upload", None),
    "VALUE_TOO_LARGE": (
        "java.lang.NegativeArraySizeException: -1\n\tat com.example.Enrich.map(Enrich.java:7)",
        None,
    ),
    "HEAP_FULL": ("java.lang.OutOfMemoryError: Direct buffer memory", "DIRECT_MEMORY_FULL"),
    "STACK_OVERFLOW": ("java.lang.IllegalStateException: StackOverflow answered 500", None),
    "CONTAINER_OUT_OF_MEMORY": ("Exit code:-101.", "CONTAINER_EXITED"),
    "CONTAINER_VIRTUAL_MEMORY": (
        "Container is running beyond the 'PHYSICAL' memory limit.",
        "CONTAINER_OUT_OF_MEMORY",
    ),
    "ROCKSDB_MEMORY_LIMIT": ("org.rocksdb.RocksDBException: Insert failed", "ROCKSDB"),
    "MANAGED_MEMORY_MISSING": ("Could not allocate a port for the blob server", None),
    "CLUSTER_REFUSES": ("java.lang.IllegalStateException: the customer exceeded quota: 5", None),
    "POD_EVICTED": ("java.lang.IllegalStateException: the cache evicted key 7", None),
    "NODE_DISKS_BAD": ("The directories have become empty", None),
    "NODE_LOST": ("ElasticsearchException: node es-7 is not ready", None),
    "CONTAINER_KILLED": ("Pod terminated (exitCode=13, reason=Error)", "CONTAINER_EXITED"),
    "TASKMANAGER_STOPPED": ("The TaskExecutor is starting", None),
    "JVM_CRASHED": ("A fatal error has been detected by the order service", None),
    "TASK_NOT_CANCELLED": (
        "Task 'a (1/2)' did not react to cancelling signal - notifying TM",
        None,
    ),
    "IMAGE_NOT_PULLED": ("Failed to pull the newest rates", None),
    "CONTAINER_EXITED": ("java.io.IOException: ffmpeg ended with exit code 1", None),
    "REGISTRATION_FAILED": ("The customer did not register in time", None),
    "ASSOCIATION_QUARANTINED": ("java.lang.IllegalStateException: order 7 is quarantined", None),
    "RPC_TOO_LARGE": ("The websocket message exceeds the maximum framesize", None),
    "ZOOKEEPER_LOST": (
        "KeeperException$ConnectionLossException: KeeperErrorCode = ConnectionLoss for /hbase/meta",
        None,
    ),
    "HA_STORE_DELETED": ("The ConfigMap of the prices does not exist", None),
    "PORT_IN_USE": ("The address of the customer is in use already", None),
    "JOB_KNOWN_ALREADY": ("Job 26eb has been archived at hdfs:/archive", None),
    "FENCING": ("Fencing of the field failed", None),
    "LEADERSHIP_LOST": (
        "NotLeaderForPartitionException: This server is not the leader for that topic-partition.",
        "BROKER_TROUBLE",
    ),
    "POD_UNSCHEDULABLE": ("SchedulingGated: waiting for the queue", None),
    "CONTAINER_NOT_CREATED": ("Created container flink-main-container", None),
    "NO_RESOURCE_AVAILABLE": ("java.lang.IllegalStateException: no slot for the courier", None),
    "INSUFFICIENT_NETWORK_BUFFERS": ("Number of network buffers: 2048", None),
    "STATE_INCOMPATIBLE": (
        "SchemaRegistry: the schema must be compatible with the previous version",
        None,
    ),
    "STATE_OF_REMOVED_OPERATOR": ("There is no operator for the call centre", None),
    "MAX_PARALLELISM": ("Max parallelism of the job is 128", None),
    "TOPOLOGY_CHANGED": ("java.lang.IllegalStateException: Cannot rescale the picture", None),
    "HA_STORE_BROKEN": ("Could not retrieve the customer from the store", None),
    "SNAPSHOT_GONE": (
        "java.io.FileNotFoundException: /tmp/rules.json (No such file or directory)",
        None,
    ),
    "SNAPSHOT_UNREADABLE": ("Cannot read metadata of the topic orders", None),
    "STOPPED_AFTER_SAVEPOINT": ("A savepoint has been created at: s3://b/sp/savepoint-1", None),
    "MEMORY_STATE_TOO_LARGE": ("The state is larger than the one before", None),
    "TABLE_COMMIT_CONFLICT": (
        "org.apache.kafka.clients.consumer.CommitFailedException: rebalanced",
        None,
    ),
    "TABLE_COMMIT_UNKNOWN": ("java.lang.IllegalStateException: commit state unknown", None),
    "TABLE_FILE_GONE": ("org.apache.hudi.exception.HoodieException: no record key", None),
    "TABLE_SINK_WAITS": ("waiting for the instant message", None),
    "SOURCE_POSITION_GONE": ("The price list is no longer available on the server", None),
    "TOPIC_MISSING": ("java.lang.IllegalStateException: order 7 has no topic", None),
    "SOURCE_TAKEN": ('replication slot "orders" was created', None),
    "SOURCE_SCHEMA_UNKNOWN": ("The schema of the table has changed", None),
    "TRANSACTION_TIMEOUT_REFUSED": ("The transaction timed out after 60 s", None),
    "PRODUCER_FENCED": ("Producer was closed with its epoch", None),
    "TRANSACTION_ABORTED": ("The transaction was aborted by its customer", None),
    "RECORD_TOO_LARGE": ("The record is larger than the one before", None),
    "TARGET_REFUSES_RECORD": ("Rows were filtered: 12", None),
    "TARGET_OVERLOADED": ("HTTP error: -2350", None),
    "BROKER_TROUBLE": ("The broker of the customer was not available", None),
    "SINK_PART_GONE": (
        "com.amazonaws.services.s3.model.AmazonS3Exception: Access Denied (Service: Amazon S3; "
        "Status Code: 403)\n\tat org.apache.flink.fs.s3.common.writer."
        "S3RecoverableMultipartUploadFactory.recoverInProgressPart(X.java:97)",
        "STORE_REFUSED",
    ),
    "OPEN_FILES_USED_UP": ("Too many files for one bucket", None),
    "DISK_BROKEN": ("java.io.IOException: Input/output format differs", None),
    "DISK_FULL": ("No space left in the truck", None),
    "STORAGE_QUOTA": ("The quota of the seller is exceeded", None),
    "STREAM_THROTTLED": (
        "AmazonS3Exception: Please reduce your request rate.",
        "STORE_THROTTLED",
    ),
    "STORE_THROTTLED": (
        "com.amazonaws.services.kinesis.model.AmazonKinesisException: Service: AmazonKinesis; "
        "Status Code: 503; Error Code: ServiceUnavailable",
        "SERVICE_THROTTLED",
    ),
    "SERVICE_THROTTLED": ("\tat com.example.Geo.code(Geo.java:429)", None),
    "STORE_POOL_EXHAUSTED": (
        "org.apache.http.conn.ConnectionPoolTimeoutException: Timeout waiting for connection from "
        "pool\n\tat com.example.Geo.code(Geo.java:7)",
        "CONNECTION_BROKEN",
    ),
    "BUCKET_MISSING": ("The specified customer does not exist", None),
    "STORE_REFUSED": (
        "java.io.IOException: https://geo.example/v1/place answered 403 Forbidden",
        "AUTHENTICATION_FAILED",
    ),
    "STORE_TIMEOUT": ("HTTP 408: RequestTimeout of geo.example", None),
    "NAMENODE_UNAVAILABLE": ("The machine runs in a safe way", None),
    "HDFS_NO_DATANODE": ("This coupon could only be used once", None),
    "AUTHENTICATION_FAILED": (
        "java.net.SocketException: Connection reset\n\tat org.apache.hadoop.security."
        "authentication.client.KerberosAuthenticator.authenticate(X.java:1)",
        "CONNECTION_BROKEN",
    ),
    "TASKMANAGERS_DISCONNECTED": (
        "java.io.IOException: Connection reset by peer\n\tat io.netty.channel.Foo.read(Foo.java:1)",
        "CONNECTION_BROKEN",
    ),
    "CONNECTION_BROKEN": ("org.apache.kafka.connect.errors.ConnectException: task failed", None),
    "NATIVE_LIBRARY": ("Loaded the native RocksDB library", None),
    "KRYO": ("Kryo serializes 3 types of the job", None),
    "CLASS_MISSING": ("The class of the customer was not found", None),
    "CLASS_VERSIONS": ("java.lang.ClassCastException: a.B cannot be cast to a.C", None),
    "JAVA_MODULE_CLOSED": ("The module opens java.base", None),
    "CONFIGURATION_INVALID": ("java.lang.IllegalArgumentException: option x", None),
    "PYTHON_PROCESS": ("Python process started", None),
    "NOT_SERIALIZABLE": ("The record was serialized into 12 bytes", None),
    "RECORD_UNREADABLE": (
        "java.io.IOException: Failed to deserialize consumer record due to\nCaused by: org."
        "apache.flink.streaming.runtime.tasks.ExceptionInChainedOperatorException: Could not "
        "forward element to next operator\nCaused by: java.lang.ArithmeticException: / by zero",
        None,
    ),
    "ROCKSDB": ("java.lang.NullPointerException\n\tat org.rocksdb.RocksDB.get(X.java:1)", None),
    "SYNC_PHASE_TIMEOUT": ("Task a (1/2) completed the synchronous phase of checkpoint 1", None),
    "CHECKPOINTS_FAILED": ("Checkpoint 12 failed: 3 failures are tolerable", None),
    "RESTORE_FAILED": ("The state was restored from the checkpoint", None),
    "PARTITION_NOT_FOUND": ("Partition 7 of the topic orders was not found", None),
    "RPC_TIMEOUT": ("java.util.concurrent.TimeoutException: the order service is slow", None),
}
"""Of each code a text that is nearly of it, and what it is."""


def test_each_code_has_a_near_miss():
    assert set(NEAR) == {cause.code for cause in CAUSES}


@for_each(of=sorted(NEAR))
def test_a_near_miss_is_not_taken_for_the_cause(of):
    text, code = NEAR[of]
    found = cause_of(text)
    assert (found.code if found else None) == code != of


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Task 'a (1/2)' did not react to cancelling signal - notifying TM", None),
        ("\tat java.base/java.lang.Thread.run(Thread.java:829)", None),
        ("java.lang.IllegalStateException: Duplicate entry point", None),
    ],
)
def test_words_of_others_are_not_taken_for_a_cause(text, code):
    found = cause_of(text)
    assert (found.code if found else None) == code
