"""A text of each failure cause, by its code: as its source prints or reports it."""

EXAMPLES = {
    "METASPACE_FULL": "java.lang.OutOfMemoryError: Metaspace. The metaspace out-of-memory error has occurred.",
    "DIRECT_MEMORY_FULL": (
        "java.lang.OutOfMemoryError: Direct buffer memory. The direct out-of-memory error has "
        "occurred."
    ),
    "NATIVE_THREADS_USED_UP": "java.lang.OutOfMemoryError: unable to create new native thread",
    "VALUE_TOO_LARGE": "java.lang.OutOfMemoryError: Requested array size exceeds VM limit",
    "HEAP_FULL": "java.lang.OutOfMemoryError: Java heap space",
    "STACK_OVERFLOW": "java.lang.StackOverflowError: null",
    "CONTAINER_OUT_OF_MEMORY": (
        "Pod terminated, container termination statuses: [flink-main-container(exitCode=137, "
        "reason=OOMKilled, message=null)], pod status: Failed(reason=null, message=null)"
    ),
    "CONTAINER_VIRTUAL_MEMORY": (
        "Container [pid=4711,containerID=container_e24_1_01_000003] is running beyond virtual "
        "memory limits."
    ),
    "ROCKSDB_MEMORY_LIMIT": (
        "org.rocksdb.RocksDBException: Insert failed because block cache is full due to strict "
        "capacity limit."
    ),
    "MANAGED_MEMORY_MISSING": (
        "org.apache.flink.runtime.memory.MemoryAllocationException: Could not allocate 512 pages"
    ),
    "CLUSTER_REFUSES": (
        "io.fabric8.kubernetes.client.KubernetesClientException: Failure executing: POST at: "
        'https://10.0.0.1/api/v1/namespaces/flink/pods. Message: pods "orders-taskmanager-1-3" '
        "is forbidden: exceeded quota: compute, requested: pods=1, used: pods=40, limited: "
        "pods=40."
    ),
    "POD_EVICTED": (
        "Pod terminated, container termination statuses: [], pod status: "
        "Failed(reason=Evicted, message=The node was low on resource: ephemeral-storage.)"
    ),
    "NODE_DISKS_BAD": (
        "Container container_1_01_000003 is failed because threshold number of the "
        "nodemanager-local-directories or threshold number of the nodemanager-log-directories "
        "have become bad."
    ),
    "NODE_LOST": (
        "Container container_1_01_000003 killed by YARN, either due to being released by the "
        "application or being 'lost' due to node failures etc."
    ),
    "CONTAINER_KILLED": (
        "Container container_1_01_000003 marked as failed.\n Exit code:137. Container killed "
        "on request. Exit code is 137"
    ),
    "TASKMANAGER_STOPPED": "org.apache.flink.util.FlinkException: The TaskExecutor is shutting down.",
    "JVM_CRASHED": (
        "# A fatal error has been detected by the Java Runtime Environment: # SIGSEGV (0xb) at "
        "pc=0x00007f1aeb2f2fb8, pid=1, tid=120"
    ),
    "TASK_NOT_CANCELLED": (
        "org.apache.flink.util.FlinkRuntimeException: Task did not exit gracefully within 180 "
        "+ seconds."
    ),
    "POD_UNSCHEDULABLE": (
        "Unschedulable: 0/3 nodes are available: 1 node(s) had untolerated taint {dedicated: db}, 2 "
        "Insufficient memory. preemption: 0/3 nodes are available: 1 Preemption is not helpful for "
        "scheduling, 2 No preemption victims found for incoming pod."
    ),
    "CONTAINER_NOT_CREATED": 'CreateContainerConfigError: secret "s3-keys" not found',
    "IMAGE_NOT_PULLED": 'Back-off pulling image "registry.example/orders:1.4": ImagePullBackOff',
    "CONTAINER_EXITED": (
        "Pod terminated, container termination statuses: [flink-main-container(exitCode=239, "
        "reason=Error, message=null)], pod status: Failed(reason=null, message=null)"
    ),
    "REGISTRATION_FAILED": (
        "org.apache.flink.runtime.taskexecutor.exceptions.RegistrationTimeoutException: Could "
        "not register at the ResourceManager within the specified maximum registration "
        "duration PT5M. This indicates a problem with this instance. Terminating now."
    ),
    "ASSOCIATION_QUARANTINED": (
        "akka.remote.transport.Transport$InvalidAssociationException: The remote system has a "
        "UID that has been quarantined. Association aborted."
    ),
    "RPC_TOO_LARGE": (
        "java.io.IOException: The rpc invocation size 14680064 exceeds the maximum akka framesize."
    ),
    "ZOOKEEPER_LOST": (
        "org.apache.zookeeper.KeeperException$ConnectionLossException: KeeperErrorCode = "
        "ConnectionLoss for /flink/default/leader"
    ),
    "HA_STORE_DELETED": (
        "org.apache.flink.kubernetes.kubeclient.resources.KubernetesException: Cannot retry "
        "checkAndUpdateConfigMap with configMap orders-cluster-config-map because it does not "
        "exist."
    ),
    "PORT_IN_USE": "java.net.BindException: Could not start rest endpoint on any port in port range 8081",
    "JOB_KNOWN_ALREADY": (
        "org.apache.flink.runtime.client.DuplicateJobSubmissionException: Job has already been "
        "submitted."
    ),
    "FENCING": (
        "org.apache.flink.runtime.rpc.exceptions.FencingTokenException: Fencing token "
        "mismatch: Ignoring message because the fencing token a did not match the expected "
        "fencing token b."
    ),
    "LEADERSHIP_LOST": (
        "java.lang.Exception: Job leader for job id 26eb676de8b3e133f9078fabe3704eb6 lost "
        "leadership."
    ),
    "NATIVE_LIBRARY": "java.io.IOException: Could not load the native RocksDB library",
    "KRYO": "com.esotericsoftware.kryo.KryoException: Unable to find class: com.example.Order",
    "CLASS_MISSING": "java.lang.ClassNotFoundException: org.apache.kafka.clients.producer.Producer",
    "CLASS_VERSIONS": "java.lang.NoSuchMethodError: org.apache.flink.api.common.ExecutionConfig.getFoo()V",
    "JAVA_MODULE_CLOSED": (
        "java.lang.reflect.InaccessibleObjectException: Unable to make field private final "
        'byte[] java.lang.String.value accessible: module java.base does not "opens java.lang" '
        "to unnamed module @4b1c1ea0"
    ),
    "CONFIGURATION_INVALID": (
        "org.apache.flink.configuration.IllegalConfigurationException: Sum of configured "
        "Framework Heap Memory, Managed Memory exceed configured Total Flink Memory (1.000gb)"
    ),
    "PYTHON_PROCESS": "java.lang.RuntimeException: Python process exits with code: 1",
    "NOT_SERIALIZABLE": "java.io.NotSerializableException: com.example.Client",
    "RECORD_UNREADABLE": "java.io.IOException: Failed to deserialize consumer record due to",
    "ROCKSDB": "org.rocksdb.RocksDBException: Corruption: block checksum mismatch in 000042.sst",
    "NO_RESOURCE_AVAILABLE": (
        "java.util.concurrent.CompletionException: "
        "org.apache.flink.runtime.jobmanager.scheduler.NoResourceAvailableException: Could not "
        "acquire the minimum required resources."
    ),
    "INSUFFICIENT_NETWORK_BUFFERS": (
        "java.io.IOException: Insufficient number of network buffers: required 65, but only 6 "
        "available."
    ),
    "STATE_INCOMPATIBLE": (
        "org.apache.flink.util.StateMigrationException: The new state serializer "
        "(KryoSerializer@7d3c) must not be incompatible with the old state serializer "
        "(PojoSerializer@1f2a)."
    ),
    "STATE_OF_REMOVED_OPERATOR": (
        "java.lang.IllegalStateException: Failed to rollback to checkpoint/savepoint "
        "hdfs://nn/sp/savepoint-8b63ea. Cannot map checkpoint/savepoint state for operator "
        "e30ccce83304773b609843a7d9d3e8d7 to the new program, because the operator is not "
        "available in the new program."
    ),
    "MAX_PARALLELISM": (
        "java.lang.IllegalStateException: The state for task cbc357ccb763df2852fee8c4fc7d55f2 "
        "can not be restored. The maximum parallelism (128) of the restored state is lower "
        "than the configured parallelism (256)."
    ),
    "TOPOLOGY_CHANGED": (
        "java.lang.UnsupportedOperationException: Cannot rescale the given pointwise partitioner."
    ),
    "HA_STORE_BROKEN": (
        "org.apache.flink.util.FlinkException: Could not retrieve checkpoint 9702 from state "
        "handle under checkpointID-0000000000000009702. This indicates that the retrieved "
        "state handle is broken. Try cleaning the state handle store."
    ),
    "SNAPSHOT_GONE": (
        "java.io.FileNotFoundException: Cannot find checkpoint or savepoint file/directory "
        "'s3://b/ck/chk-41' on file system 's3'."
    ),
    "SNAPSHOT_UNREADABLE": "java.io.IOException: Unexpected magic number 0x0",
    "STOPPED_AFTER_SAVEPOINT": (
        "org.apache.flink.runtime.scheduler.stopwithsavepoint.StopWithSavepointStoppingException: "
        "A savepoint has been created at: s3://b/sp/savepoint-1b1a30, but the corresponding "
        "job 1b1a3061194c62ded6e2fe823b61b2ea failed during stopping. The savepoint is "
        "consistent, but might have uncommitted transactions."
    ),
    "MEMORY_STATE_TOO_LARGE": (
        "java.io.IOException: Size of the state is larger than the maximum permitted "
        "memory-backed state. Size=6306404, maxSize=5242880."
    ),
    "SYNC_PHASE_TIMEOUT": (
        "java.util.concurrent.TimeoutException: Task Source: Custom Source (1/1)#0 did not "
        "complete the synchronous phase of checkpoint 1 within 60000 ms."
    ),
    "CHECKPOINTS_FAILED": (
        "org.apache.flink.util.FlinkRuntimeException: Exceeded checkpoint tolerable failure "
        "threshold."
    ),
    "RESTORE_FAILED": (
        "org.apache.flink.util.FlinkException: Could not restore keyed state backend for "
        "StreamFlatMap_9c32 from any of the 1 provided restore options."
    ),
    "PARTITION_NOT_FOUND": (
        "org.apache.flink.runtime.io.network.partition.PartitionNotFoundException: Partition "
        "6f1c#0@2b not found."
    ),
    "RPC_TIMEOUT": (
        "akka.pattern.AskTimeoutException: Ask timed out on "
        "[Actor[akka://flink/user/rpc/dispatcher_1#1]] after [10000 ms]."
    ),
    "TRANSACTION_TIMEOUT_REFUSED": (
        "org.apache.kafka.common.KafkaException: Unexpected error in InitProducerIdResponse; "
        "The transaction timeout is larger than the maximum value allowed by the broker (as "
        "configured by transaction.max.timeout.ms)."
    ),
    "PRODUCER_FENCED": (
        "org.apache.kafka.common.errors.ProducerFencedException: Producer attempted an "
        "operation with an old epoch."
    ),
    "TRANSACTION_ABORTED": (
        "org.apache.kafka.common.errors.InvalidTxnStateException: The producer attempted a "
        "transactional operation in an invalid state."
    ),
    "RECORD_TOO_LARGE": (
        "org.apache.kafka.common.errors.RecordTooLargeException: The message is 1048620 bytes "
        "when serialized which is larger than 1048576"
    ),
    "TARGET_REFUSES_RECORD": (
        "org.apache.flink.table.api.TableException: Column 'account_id' is NOT NULL, however, "
        "a null value is being written into it."
    ),
    "TARGET_OVERLOADED": (
        "java.io.IOException: stream load error: tablet writer write failed, "
        "tablet_id=1539539, err=-235"
    ),
    "BROKER_TROUBLE": (
        "org.apache.kafka.common.errors.NotEnoughReplicasException: Messages are rejected "
        "since there are fewer in-sync replicas than required."
    ),
    "SINK_PART_GONE": (
        "java.io.FileNotFoundException: No such file or directory: "
        "s3://out/7/_part-2-1234_tmp_5f0c\n\tat "
        "org.apache.flink.fs.s3.common.writer.S3RecoverableMultipartUploadFactory.recoverInProgressPart(S3RecoverableMultipartUploadFactory.java:97)"
    ),
    "SOURCE_POSITION_GONE": (
        "io.debezium.DebeziumException: The connector is trying to read binlog starting at "
        "SourceInfo [currentBinlogFilename=mysql-bin.003008], but this is no longer available "
        "on the server. Reconfigure the connector to use a snapshot when needed."
    ),
    "TOPIC_MISSING": (
        "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: This server does not "
        "host this topic-partition."
    ),
    "SOURCE_TAKEN": (
        "io.debezium.DebeziumException: A slave with the same server_uuid/server_id as this "
        "slave has connected to the master"
    ),
    "SOURCE_SCHEMA_UNKNOWN": (
        "org.apache.kafka.connect.errors.ConnectException: Encountered change event for table "
        "test.src whose schema isn't known to this connector"
    ),
    "OPEN_FILES_USED_UP": (
        "org.rocksdb.RocksDBException: While open a file for random read: "
        "/tmp/flink/db/000042.sst: Too many open files"
    ),
    "DISK_BROKEN": "java.io.IOException: Input/output error",
    "DISK_FULL": "java.io.IOException: No space left on device",
    "STORAGE_QUOTA": (
        "org.apache.hadoop.hdfs.protocol.DSQuotaExceededException: The DiskSpace quota of "
        "/flink is exceeded"
    ),
    "STREAM_THROTTLED": (
        "com.amazonaws.services.kinesis.model.ProvisionedThroughputExceededException: Rate "
        "exceeded for shard shardId-000000000000 in stream clicks under account 000000000000."
    ),
    "STORE_THROTTLED": (
        "com.amazonaws.services.s3.model.AmazonS3Exception: Please reduce your request rate. "
        "(Service: Amazon S3; Status Code: 503; Error Code: SlowDown)"
    ),
    "SERVICE_THROTTLED": "java.io.IOException: https://geo.example/v1/place answered HTTP 429 Too Many Requests",
    "STORE_POOL_EXHAUSTED": (
        "com.amazonaws.SdkClientException: Unable to execute HTTP request: Timeout waiting for "
        "connection from pool"
    ),
    "BUCKET_MISSING": (
        "com.amazonaws.services.s3.model.AmazonS3Exception: The specified bucket does not "
        "exist (Service: Amazon S3; Status Code: 404; Error Code: NoSuchBucket)"
    ),
    "STORE_REFUSED": (
        "com.amazonaws.services.s3.model.AmazonS3Exception: Access Denied (Service: Amazon S3; "
        "Status Code: 403; Error Code: AccessDenied)"
    ),
    "STORE_TIMEOUT": (
        "com.amazonaws.services.s3.model.AmazonS3Exception: Your socket connection to the "
        "server was not read from or written to within the timeout period. (Service: Amazon "
        "S3; Status Code: 400; Error Code: RequestTimeout)"
    ),
    "NAMENODE_UNAVAILABLE": (
        "org.apache.hadoop.hdfs.server.namenode.SafeModeException: Cannot create file "
        "/flink/chk-7. Name node is in safe mode."
    ),
    "HDFS_NO_DATANODE": (
        "org.apache.hadoop.ipc.RemoteException(java.io.IOException): File /ck/chk-1/afc6 could "
        "only be written to 0 of the 1 minReplication nodes."
    ),
    "AUTHENTICATION_FAILED": (
        "org.apache.hadoop.security.token.SecretManager$InvalidToken: token "
        "(HDFS_DELEGATION_TOKEN token 17 for flink) can't be found in cache"
    ),
    "TASKMANAGERS_DISCONNECTED": (
        "org.apache.flink.runtime.io.network.netty.exception.LocalTransportException: "
        "readAddress(..) failed: Connection timed out (connection to '10.0.0.2/10.0.0.2:40001')"
    ),
    "CONNECTION_BROKEN": "java.io.IOException: Connection reset by peer: /10.11.12.13:5432",
    "TABLE_COMMIT_CONFLICT": (
        "org.apache.iceberg.exceptions.CommitFailedException: Requirement failed: branch changed"
    ),
    "TABLE_COMMIT_UNKNOWN": "org.apache.iceberg.exceptions.CommitStateUnknownException: Server error: 500",
    "TABLE_FILE_GONE": (
        "org.apache.iceberg.exceptions.NotFoundException: Failed to open input stream for "
        "file: hdfs://nn/lake/db/t/metadata/bac976d7-00000-0-12-00011.avro"
    ),
    "TABLE_SINK_WAITS": (
        "org.apache.hudi.exception.HoodieException: Timeout(121000ms) while waiting for "
        "instant initialize"
    ),
}

SOURCES = {
    "POD_UNSCHEDULABLE": "https://kubernetes.io/docs/concepts/scheduling-eviction/kube-scheduler/",
    "CONTAINER_NOT_CREATED": "https://kubernetes.io/docs/tasks/debug/debug-application/debug-pods/",
    "METASPACE_FULL": "org.apache.flink.util.TaskManagerExceptionUtils",
    "DIRECT_MEMORY_FULL": "org.apache.flink.util.TaskManagerExceptionUtils",
    "NATIVE_THREADS_USED_UP": "java.lang.Thread",
    "VALUE_TOO_LARGE": "java.lang.OutOfMemoryError",
    "HEAP_FULL": "java.lang.OutOfMemoryError",
    "STACK_OVERFLOW": "https://github.com/apache/fluss/issues/2091",
    "CONTAINER_OUT_OF_MEMORY": "org.apache.flink.kubernetes.kubeclient.resources.KubernetesPod",
    "CONTAINER_VIRTUAL_MEMORY": "org.apache.hadoop.yarn.server.nodemanager (ContainersMonitorImpl)",
    "ROCKSDB_MEMORY_LIMIT": "https://issues.apache.org/jira/browse/FLINK-15532",
    "MANAGED_MEMORY_MISSING": "org.apache.flink.runtime.memory.MemoryManager",
    "CLUSTER_REFUSES": "io.fabric8.kubernetes.client.KubernetesClientException",
    "POD_EVICTED": "org.apache.flink.kubernetes.kubeclient.resources.KubernetesPod",
    "NODE_DISKS_BAD": "org.apache.flink.yarn.YarnResourceManagerDriver",
    "NODE_LOST": "org.apache.flink.yarn.YarnResourceManagerDriver",
    "CONTAINER_KILLED": "org.apache.flink.yarn.YarnResourceManagerDriver",
    "TASKMANAGER_STOPPED": "org.apache.flink.runtime.taskexecutor.TaskExecutor",
    "JVM_CRASHED": "https://github.com/facebook/rocksdb/issues/4439",
    "TASK_NOT_CANCELLED": "org.apache.flink.runtime.taskmanager.Task",
    "IMAGE_NOT_PULLED": "https://kubernetes.io/docs/concepts/containers/images/",
    "CONTAINER_EXITED": "org.apache.flink.kubernetes.kubeclient.resources.KubernetesPod",
    "REGISTRATION_FAILED": "org.apache.flink.runtime.taskexecutor.TaskExecutor",
    "ASSOCIATION_QUARANTINED": "akka.remote",
    "RPC_TOO_LARGE": "org.apache.flink.runtime.rpc.akka.AkkaInvocationHandler",
    "ZOOKEEPER_LOST": "org.apache.flink.runtime.leaderelection.ZooKeeperLeaderElectionDriver",
    "HA_STORE_DELETED": "org.apache.flink.kubernetes.kubeclient.Fabric8FlinkKubeClient",
    "PORT_IN_USE": "org.apache.flink.runtime.rest.RestServerEndpoint",
    "JOB_KNOWN_ALREADY": "org.apache.flink.runtime.dispatcher.Dispatcher",
    "FENCING": "org.apache.flink.runtime.rpc.exceptions.FencingTokenException",
    "LEADERSHIP_LOST": "org.apache.flink.runtime.taskexecutor.TaskExecutor",
    "NO_RESOURCE_AVAILABLE": "org.apache.flink.runtime.jobmaster.slotpool.DeclarativeSlotPoolBridge",
    "INSUFFICIENT_NETWORK_BUFFERS": "org.apache.flink.runtime.io.network.buffer.NetworkBufferPool",
    "STATE_INCOMPATIBLE": "org.apache.flink.contrib.streaming.state.RocksDBKeyedStateBackend",
    "STATE_OF_REMOVED_OPERATOR": "org.apache.flink.runtime.checkpoint.Checkpoints",
    "MAX_PARALLELISM": "org.apache.flink.runtime.checkpoint.StateAssignmentOperation",
    "TOPOLOGY_CHANGED": "org.apache.flink.runtime.io.network.api.writer.SubtaskStateMapper",
    "HA_STORE_BROKEN": "org.apache.flink.runtime.checkpoint.DefaultCompletedCheckpointStoreUtils",
    "SNAPSHOT_GONE": "org.apache.flink.runtime.state.filesystem.AbstractFsCheckpointStorageAccess",
    "SNAPSHOT_UNREADABLE": "org.apache.flink.runtime.checkpoint.Checkpoints",
    "STOPPED_AFTER_SAVEPOINT": "https://github.com/apache/flink-kubernetes-operator/pull/706",
    "MEMORY_STATE_TOO_LARGE": "org.apache.flink.runtime.state.memory.MemCheckpointStreamFactory",
    "SYNC_PHASE_TIMEOUT": "https://github.com/apache/flink/pull/28786",
    "CHECKPOINTS_FAILED": "org.apache.flink.runtime.checkpoint.CheckpointFailureManager",
    "RESTORE_FAILED": "org.apache.flink.streaming.api.operators.BackendRestorerProcedure",
    "PARTITION_NOT_FOUND": "org.apache.flink.runtime.io.network.partition.PartitionNotFoundException",
    "RPC_TIMEOUT": "org.apache.flink.runtime.rpc",
    "TABLE_COMMIT_CONFLICT": "org.apache.iceberg.exceptions.CommitFailedException, org.apache.paimon.operation.FileStoreCommitImpl",
    "TABLE_COMMIT_UNKNOWN": "https://github.com/apache/paimon/issues/8875",
    "TABLE_FILE_GONE": "https://github.com/apache/iceberg/issues/4137",
    "TABLE_SINK_WAITS": "https://github.com/apache/hudi/issues/12820",
    "SOURCE_POSITION_GONE": "https://github.com/apache/flink-cdc/issues/442",
    "TOPIC_MISSING": "org.apache.kafka.common.errors.UnknownTopicOrPartitionException",
    "SOURCE_TAKEN": "https://github.com/apache/flink-cdc/issues/709",
    "SOURCE_SCHEMA_UNKNOWN": "https://github.com/apache/flink-cdc/issues/1223",
    "TRANSACTION_TIMEOUT_REFUSED": "org.apache.kafka.common.errors.InvalidTxnTimeoutException",
    "PRODUCER_FENCED": "org.apache.kafka.common.errors.ProducerFencedException",
    "TRANSACTION_ABORTED": "org.apache.kafka.common.errors.InvalidTxnStateException",
    "RECORD_TOO_LARGE": "org.apache.kafka.common.errors.RecordTooLargeException",
    "TARGET_REFUSES_RECORD": "org.apache.flink.table.runtime.operators.sink.constraint.NotNullConstraint",
    "TARGET_OVERLOADED": "https://github.com/DTStack/chunjun/issues/870",
    "BROKER_TROUBLE": "org.apache.kafka.common.errors.NotEnoughReplicasException",
    "SINK_PART_GONE": "https://docs.amazonaws.cn/en_us/managed-flink/latest/java/troubleshooting-s3sink.html",
    "OPEN_FILES_USED_UP": "https://man7.org/linux/man-pages/man2/open.2.html",
    "DISK_BROKEN": "https://man7.org/linux/man-pages/man3/errno.3.html",
    "DISK_FULL": "java.io.FileOutputStream",
    "STORAGE_QUOTA": "org.apache.hadoop.hdfs.server.namenode",
    "STREAM_THROTTLED": "https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetRecords.html",
    "STORE_THROTTLED": "https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html",
    "SERVICE_THROTTLED": "https://www.rfc-editor.org/rfc/rfc6585#section-4",
    "STORE_POOL_EXHAUSTED": "com.amazonaws.http.AmazonHttpClient",
    "BUCKET_MISSING": "https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html",
    "STORE_REFUSED": "https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html",
    "STORE_TIMEOUT": "https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html",
    "NAMENODE_UNAVAILABLE": "org.apache.hadoop.hdfs.server.namenode",
    "HDFS_NO_DATANODE": "org.apache.hadoop.hdfs.server.blockmanagement.BlockManager",
    "AUTHENTICATION_FAILED": "org.apache.hadoop.security",
    "TASKMANAGERS_DISCONNECTED": "org.apache.flink.runtime.io.network.netty.exception.LocalTransportException",
    "CONNECTION_BROKEN": "java.net.SocketException",
    "NATIVE_LIBRARY": "org.apache.flink.contrib.streaming.state.EmbeddedRocksDBStateBackend",
    "KRYO": "com.esotericsoftware.kryo",
    "CLASS_MISSING": "org.apache.flink.util.FlinkUserCodeClassLoaders",
    "CLASS_VERSIONS": "java.lang.NoSuchMethodError",
    "JAVA_MODULE_CLOSED": "https://openjdk.org/jeps/403",
    "CONFIGURATION_INVALID": "org.apache.flink.configuration.IllegalConfigurationException",
    "PYTHON_PROCESS": "org.apache.flink.client.python.PythonDriver",
    "NOT_SERIALIZABLE": "org.apache.flink.api.java.ClosureCleaner",
    "RECORD_UNREADABLE": "org.apache.flink.connector.kafka.source.reader.KafkaRecordEmitter",
    "ROCKSDB": "org.rocksdb",
}
"""The class that prints the text, or a report of it, by code."""
