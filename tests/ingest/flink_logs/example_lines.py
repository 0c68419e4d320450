"""A line for each entry of the pattern table, and its kind, in the order of the table."""

SAMPLE_JOB = "26eb676de8b3e133f9078fabe3704eb6"
SAMPLE_VERTEX = "9c32e3838cee893dbb2fc90ccad79598"
SAMPLE_EXECUTION = f"a932b3badd0047fc56bb20dcdd6164f3_{SAMPLE_VERTEX}_1_0"
SAMPLE_AT = "at tm-1:4-d1 @ host-1 (dataPort=44467)"
SAMPLE_LOCATION = (
    "FsCheckpointStorageLocation "
    "{fileSystem=org.apache.flink.core.fs.SafetyNetWrapperFileSystem@7c751ed0, "
    f"checkpointDirectory=file:/data/ckpt/{SAMPLE_JOB}/chk-7, "
    f"sharedStateDirectory=file:/data/ckpt/{SAMPLE_JOB}/shared, "
    f"taskOwnedStateDirectory=file:/data/ckpt/{SAMPLE_JOB}/taskowned, "
    f"metadataFilePath=file:/data/ckpt/{SAMPLE_JOB}/chk-7/_metadata, "
    "reference=(default), fileStateSizeThreshold=20480, writeBufferSize=4096}"
)

EXAMPLES: tuple[tuple[str, str], ...] = (
    (
        "task_state",
        (
            f"Source: clicks (1/2) ({SAMPLE_EXECUTION}) switched from RUNNING to FAILED on "
            "tm-1:4-d1 @ host-1 (dataPort=44467)."
        ),
    ),
    ("job_state", f"Job orders (eu) ({SAMPLE_JOB}) switched from state RUNNING to FAILING."),
    (
        "checkpoint_sync_done",
        (
            "parse (2/2)#0 - finished synchronous part of checkpoint 7. Alignment duration: 1 ms, "
            "snapshot duration 4 ms, is unaligned checkpoint : false"
        ),
    ),
    (
        "checkpoint_sync_failed",
        (
            "parse (2/2)#0 - did NOT finish synchronous part of checkpoint 7. Alignment duration: "
            "1 ms, snapshot duration 4 ms"
        ),
    ),
    (
        "checkpoint_async_started",
        (
            "parse (2/2)#0 - started executing asynchronous part of checkpoint 7. Asynchronous "
            "start delay: 2 ms"
        ),
    ),
    (
        "checkpoint_async_done",
        "parse (2/2)#0 - finished asynchronous part of checkpoint 7. Asynchronous duration: 31 ms",
    ),
    (
        "checkpoint_async_failed",
        "enrich (2/4)#0 - asynchronous part of checkpoint 3 could not be completed.",
    ),
    (
        "checkpoint_async_failed",
        (
            "enrich (2/4)#0 - asynchronous part of checkpoint 21 could not be completed because it "
            "was closed before."
        ),
    ),
    (
        "backend_sync_done",
        (
            f"DefaultOperatorStateBackend snapshot ({SAMPLE_LOCATION}, synchronous part) in thread "
            "Thread[parse (2/2)#0,5,Flink Task Threads] took 1 ms."
        ),
    ),
    (
        "backend_async_done",
        (
            f"Asynchronous incremental RocksDB snapshot ({SAMPLE_LOCATION}, asynchronous part) in "
            "thread Thread[AsyncOperations-thread-1,5,Flink Task Threads] took 43 ms."
        ),
    ),
    (
        "barriers_aligned",
        f"parse (2/2)#0 ({SAMPLE_EXECUTION}): All the channels are aligned for checkpoint 7.",
    ),
    (
        "barrier_skipped",
        (
            f"parse (1/2)#0 ({SAMPLE_EXECUTION}): Received checkpoint barrier for checkpoint 9 "
            "before completing current checkpoint 8. Skipping current checkpoint."
        ),
    ),
    (
        "region_restart",
        f"10 tasks will be restarted to recover the failed task {SAMPLE_EXECUTION}. ",
    ),
    ("global_restart", "10 tasks will be restarted to recover from a global failure."),
    (
        "checkpoint_triggered",
        (
            "Triggering checkpoint 3 (type=CheckpointType{name='Checkpoint', "
            "sharingFilesStrategy=FORWARD_BACKWARD}) "
            f"@ 1795234350123 for job {SAMPLE_JOB}."
        ),
    ),
    (
        "checkpoint_completed",
        (
            f"Completed checkpoint 5 for job {SAMPLE_JOB} (1058577 bytes, checkpointDuration=230 "
            "ms, finalizationTime=12 ms)."
        ),
    ),
    (
        "checkpoint_acknowledged",
        (
            f"Received acknowledge message for checkpoint 5 from task {SAMPLE_EXECUTION} of job "
            f"{SAMPLE_JOB} {SAMPLE_AT}."
        ),
    ),
    (
        "checkpoint_declined",
        f"Decline checkpoint 9 by task {SAMPLE_EXECUTION} of job {SAMPLE_JOB} {SAMPLE_AT}.",
    ),
    ("checkpoint_expired", f"Checkpoint 4 of job {SAMPLE_JOB} expired before completing."),
    (
        "late_message",
        (
            "Received late message for now expired checkpoint attempt 4 from task "
            f"{SAMPLE_EXECUTION} of job {SAMPLE_JOB} {SAMPLE_AT}."
        ),
    ),
    (
        "late_decline",
        (
            "Received another decline message for now expired checkpoint attempt 4 from task "
            f"{SAMPLE_EXECUTION} of job {SAMPLE_JOB}"
            f" {SAMPLE_AT} : Asynchronous task checkpoint failed."
        ),
    ),
    (
        "unknown_checkpoint_message",
        (
            f"Received message for an unknown checkpoint 4 from task {SAMPLE_EXECUTION} of job "
            f"{SAMPLE_JOB} {SAMPLE_AT}."
        ),
    ),
    (
        "unknown_checkpoint_message",
        (
            "Received decline message for unknown (too old?) checkpoint attempt 4 from task "
            f"{SAMPLE_EXECUTION} of job {SAMPLE_JOB} {SAMPLE_AT} : Checkpoint was declined."
        ),
    ),
    (
        "acknowledge_failed",
        (
            f"Could not acknowledge the checkpoint 4 for task {SAMPLE_EXECUTION} of job "
            f"{SAMPLE_JOB} {SAMPLE_AT}, because the pending "
            "checkpoint had been discarded. Discarding the state handle tp avoid lingering state."
        ),
    ),
    ("checkpoint_discarded", f"Discarding checkpoint 4 of job {SAMPLE_JOB}."),
    (
        "trigger_refused",
        (
            f"Failed to trigger checkpoint for job {SAMPLE_JOB} since Not all required tasks are "
            "currently running.."
        ),
    ),
    (
        "trigger_refused",
        (
            f"Checkpoint triggering task Source: clicks (1/2) of job {SAMPLE_JOB} is not in state "
            "RUNNING but SCHEDULED instead. Aborting checkpoint."
        ),
    ),
    (
        "checkpoint_failed",
        (
            f"Failed to trigger or complete checkpoint 4 for job {SAMPLE_JOB}. (0 consecutive "
            "failed attempts so far)"
        ),
    ),
    (
        "trigger_failed",
        (
            f"Failed to trigger checkpoint 4 for job {SAMPLE_JOB}. (2 consecutive failed "
            "attempts so far)"
        ),
    ),
    (
        "trigger_failed",
        (
            f"Triggering Checkpoint 4 for job {SAMPLE_JOB} failed due to java.io.IOException: "
            "disk full"
        ),
    ),
    ("coordinator_stopped", f"Stopping checkpoint coordinator for job {SAMPLE_JOB}."),
    (
        "checkpoint_sync_started",
        (
            "Starting checkpoint 7 CheckpointType{name='Checkpoint', "
            "sharingFilesStrategy=FORWARD_BACKWARD} on task parse (2/2)#0"
        ),
    ),
    ("scheduler_started", "Starting checkpoint scheduler"),
    ("scheduler_stopped", "Stopping checkpoint scheduler, current job status: FAILING"),
    (
        "abort_not_sent",
        (
            f"Could not send aborted message of checkpoint 4 to task {SAMPLE_EXECUTION} "
            f"belonging to job {SAMPLE_JOB}."
        ),
    ),
    (
        "metadata_uncertain",
        (
            "An error occurred while writing checkpoint 4 to the underlying metadata store. Flink was "
            "not able to determine whether the metadata was successfully persisted. The corresponding "
            "state located at 's3://b/c/chk-4' won't be discarded and needs to be cleaned up manually."
        ),
    ),
    (
        "checkpoint_retained",
        "Checkpoint with ID 7 at 'file:/data/sp/savepoint-26eb67-f0' not discarded.",
    ),
    ("discard_failed", "Could not properly discard completed checkpoint 4."),
    ("discard_failed", "Fail to discard the old checkpoint 4."),
    ("subsume_failed", "Fail to subsume the old checkpoint."),
    ("restore_without_checkpoint", "No checkpoint found during restore."),
    ("state_skipped", f"Skipping savepoint state for operator {SAMPLE_VERTEX}."),
    (
        "restored",
        (
            f"Restoring job {SAMPLE_JOB} from Savepoint 7 @ 1795234350123 for {SAMPLE_JOB} "
            "located at file:/data/sp/savepoint-26eb67-f0."
        ),
    ),
    (
        "restore_requested",
        (
            f"Starting job {SAMPLE_JOB} from savepoint file:/data/sp/savepoint-26eb67-f0 "
            "(allowing non restored state)"
        ),
    ),
    ("checkpoint_id_reset", f"Reset the checkpoint ID of job {SAMPLE_JOB} to 8."),
    ("savepoint_requested", f"Triggering stop-with-savepoint for job {SAMPLE_JOB}."),
    ("savepoint_requested", f"Triggering cancel-with-savepoint for job {SAMPLE_JOB}."),
    ("savepoint_requested", f"Triggering savepoint for job {SAMPLE_JOB}."),
    (
        "savepoint_stored",
        f"Savepoint stored in file:/data/sp/savepoint-26eb67-f0. Now cancelling {SAMPLE_JOB}.",
    ),
    ("checkpoint_requested", f"Triggering a manual checkpoint for job {SAMPLE_JOB}."),
    (
        "ha_recovery",
        "Recovering checkpoints from ZooKeeperStateHandleStore{namespace='flink/default'}.",
    ),
    ("ha_recovery", "Found 1 checkpoints in ZooKeeperStateHandleStore{namespace='flink/default'}."),
    ("ha_recovery", "Trying to retrieve checkpoint 41."),
    (
        "checkpoint_aborted_notice",
        "Checkpoint 4 has been notified as aborted, would not trigger any checkpoint.",
    ),
    ("barrier_out_of_order", "Out of order checkpoint barrier (aborted previously?): 9 >= 8"),
    (
        "slow_barrier",
        (
            "Time from receiving all checkpoint barriers/RPC for checkpoint 9 to executing it "
            "exceeded threshold: 30012ms"
        ),
    ),
    (
        "coordinator_missing",
        (
            f"Received AcknowledgeCheckpoint message for job {SAMPLE_JOB} with no "
            "CheckpointCoordinator"
        ),
    ),
    (
        "task_deployed",
        (
            f"Deploying enrich (2/4) (attempt #0) with attempt id {SAMPLE_EXECUTION} and vertex id "
            f"{SAMPLE_VERTEX}_1 to "
            f"tm-1:4-d1 @ host-1 (dataPort=44467) with allocation id {SAMPLE_JOB}"
        ),
    ),
    (
        "task_deployed",
        (
            "Deploying enrich (2/4) (attempt #0) to slot "
            "container_e24_1566836790522_8088_04_013155_1 on host-1"
        ),
    ),
    (
        "execution_graph_created",
        f"Created execution graph a932b3badd0047fc56bb20dcdd6164f3 for job {SAMPLE_JOB}.",
    ),
    ("global_restart", "Trying to recover from a global failure."),
    (
        "region_restart_started",
        f"Calculating tasks to restart to recover the failed task {SAMPLE_EXECUTION}.",
    ),
    ("job_terminal", f"Job {SAMPLE_JOB} reached terminal state FAILED."),
    ("job_archived", f"Job {SAMPLE_JOB} has been archived at hdfs:/archive/{SAMPLE_JOB}."),
    ("job_archived", "Successfully archived hdfs:/archive/1."),
    ("job_submitted", f"Received JobGraph submission 'orders (eu)' ({SAMPLE_JOB})."),
    ("job_submitted", f"Received job submission 'orders (eu)' ({SAMPLE_JOB})."),
    (
        "operator_event",
        (
            f"Kubernetes operator: SpecChanged of job {SAMPLE_JOB}: UPGRADE change(s) detected, "
            "starting reconciliation."
        ),
    ),
    (
        "pod_started",
        f"Kubernetes pod orders-taskmanager-1-1(10.0.0.7) runs for job {SAMPLE_JOB}: on node n-3",
    ),
    ("pod_waiting", "Kubernetes pod orders-taskmanager-1-1 waits: Unschedulable: 0/3 nodes: x"),
    (
        "pod_ended",
        (
            "Kubernetes pod orders-taskmanager-1-1(10.0.0.7) ended: on node n-3 2026-11-20 "
            "08:01:40 UTC: exitCode=137, reason=OOMKilled, memory limit 4096Mi"
        ),
    ),
    (
        "pod_removed",
        "Kubernetes pod orders-taskmanager-1-1(10.0.0.7) was removed: last seen Running on node n",
    ),
    (
        "job_started",
        (
            f"Starting execution of job 'orders (eu)' ({SAMPLE_JOB}) under job master id "
            "00000000000000000000000000000000."
        ),
    ),
    ("tm_heartbeat_timeout", "Heartbeat of TaskManager with id tm-1:4-d1(host-1:6122) timed out."),
    ("tm_heartbeat_timeout", "The heartbeat of TaskManager with id tm-1:4-d1 timed out."),
    ("tm_unreachable", "TaskManager with id tm-1:4-d1(host-1:6122) is no longer reachable."),
    (
        "tm_disconnected",
        "Disconnect TaskExecutor tm-1:4-d1 because: The TaskExecutor is shutting down.",
    ),
    (
        "tm_disconnected",
        "Closing TaskExecutor connection tm-1:4-d1 because: The TaskExecutor is shutting down.",
    ),
    (
        "tm_registered",
        (
            "Registering TaskManager with ResourceID tm-1:4-d1 "
            "(pekko.tcp://flink@host-1:6122/user/rpc/taskmanager_0) at ResourceManager"
        ),
    ),
    ("resource_manager_lost", "The heartbeat of ResourceManager with id a1b2 timed out."),
    (
        "resource_manager_lost",
        "Close ResourceManager connection a1b2: Stopping JobMaster for job orders.",
    ),
    (
        "slot_request_failed",
        f"Slot allocation for allocation {SAMPLE_VERTEX} for job {SAMPLE_JOB} failed.",
    ),
    ("partition_state_request", "Error while requesting partition state"),
    (
        "partition_state_request",
        (
            f"enrich (2/4)#0 ({SAMPLE_EXECUTION}): Retriggering partition request "
            f"{SAMPLE_VERTEX}#1@{SAMPLE_EXECUTION}:[6, 6]."
        ),
    ),
    ("job_manager_lost", "The heartbeat of JobManager with id a1b2 timed out."),
    ("job_manager_lost", "JobManager with id a1b2 is no longer reachable."),
    (
        "registration_retried",
        (
            "Could not resolve ResourceManager address pekko.tcp://flink@jm:6123/user/rpc/"
            "resourcemanager_*, retrying in 10000 ms: Could not connect to rpc endpoint under "
            "address pekko.tcp://flink@jm:6123/user/rpc/resourcemanager_*."
        ),
    ),
    (
        "association_gated",
        (
            "Association with remote system [pekko.tcp://flink@tm-1:42352] has failed, address is "
            "now gated for [50] ms. Reason: [Association failed with [pekko.tcp://flink@tm-1:42352]"
            "] Caused by: [java.net.ConnectException: Connection refused: tm-1/10.0.0.2:42352]"
        ),
    ),
    (
        "task_received",
        (
            f"Received task enrich (2/4)#0 ({SAMPLE_EXECUTION}), deploy into slot with "
            f"allocation id {SAMPLE_JOB}."
        ),
    ),
    ("task_cancel_requested", f"Attempting to cancel task enrich (2/4)#0 ({SAMPLE_EXECUTION})."),
    (
        "task_failed_externally",
        f"Attempting to fail task externally enrich (2/4)#0 ({SAMPLE_EXECUTION}).",
    ),
    (
        "task_final_state",
        (
            "Un-registering task and sending final execution state FAILED to JobManager for task "
            f"enrich (2/4)#0 {SAMPLE_EXECUTION}."
        ),
    ),
    (
        "task_stuck",
        (
            "Task 'enrich (2/4)#0' did not react to cancelling signal - interrupting; it is stuck "
            "for 30 seconds in method:"
        ),
    ),
    (
        "changelog_idle",
        (
            "Task enrich (2/4)#0 has no state updates since last materialization, skip this one "
            "and schedule the next one in 600 seconds"
        ),
    ),
    ("fatal_error", "Encountered fatal error java.lang.OutOfMemoryError - terminating the JVM"),
    (
        "state_restore_started",
        (
            "Starting to restore from state handle: IncrementalRemoteKeyedStateHandle{} with "
            "rescaling."
        ),
    ),
    (
        "state_restore_started",
        (
            "Starting RocksDB incremental recovery in operator enrich_9c target key-group range "
            "KeyGroupRange{startKeyGroup=0, endKeyGroup=3}"
        ),
    ),
    (
        "state_restore_finished",
        (
            "Finished RocksDB incremental recovery in operator enrich_9c target key-group range "
            "KeyGroupRange{startKeyGroup=0, endKeyGroup=3}"
        ),
    ),
    (
        "partition_producer_gone",
        "Producer a1 of partition 6f1c#0@2b disposed. Cancelling execution.",
    ),
    ("blob_download", f"Downloading {SAMPLE_JOB}/p-0a1b2c-{SAMPLE_JOB} from jm/127.0.0.1:6124"),
    (
        "blob_failed",
        (
            f"Failed to fetch BLOB {SAMPLE_JOB}/p-0a1b2c from jm/127.0.0.1:6124 and store it "
            "under /tmp/x Retrying..."
        ),
    ),
    (
        "transaction_open",
        (
            "Transaction 1790000000000-6f1c has been open for 55123 ms. "
            "This is close to or even exceeding the transaction timeout of 60000 ms."
        ),
    ),
    (
        "transaction_lost",
        (
            "Error while committing transaction 1790000000000-6f1c. Transaction has been open for "
            "longer than the transaction timeout (60000)."
            "Commit will not be attempted again. Data loss might have occurred."
        ),
    ),
    (
        "transaction_lost",
        (
            "Unable to commit transaction (KafkaCommittable{producerId=1, epoch=0, "
            "transactionalId=orders-0-7}) because its producer is already fenced. This means that you "
            "either have a different producer with the same 'transactional.id' (this is unlikely with "
            "the 'KafkaSink' as all generated ids are unique and shouldn't be reused) or recovery took "
            "longer than 'transaction.timeout.ms' (60000ms)."
        ),
    ),
    (
        "transaction_lost",
        (
            "Unable to commit transaction (KafkaCommittable{producerId=12, epoch=3, "
            "transactionalId=orders-0-7}) because it's in an invalid state. Most likely the "
            "transaction has been aborted for some reason. Please check the Kafka logs for more "
            "details."
        ),
    ),
    (
        "transaction_unconfirmed",
        (
            "Encountered error org.apache.kafka.common.errors.InvalidTxnStateException: The "
            "producer attempted a transactional operation in an invalid state. while recovering "
            "transaction KafkaTransactionState [transactionalId=out-2, producerId=1001, epoch=4]. "
            "Presumably this transaction has been already committed before"
        ),
    ),
    (
        "transaction_timeout_set",
        (
            "ProducerConfig values: \n\tacks = -1\n\ttransaction.timeout.ms = "
            "60000\n\ttransactional.id = orders-0-7\n"
        ),
    ),
    (
        "file_merging_directory",
        "Created a directory file:/data/ckpt/taskowned/job_1 for checkpoint file-merging.",
    ),
    (
        "worker_terminated",
        (
            "Worker orders-taskmanager-1-3 is terminated. Diagnostics: Pod terminated, container "
            "termination statuses: [flink-main-container(exitCode=137, reason=OOMKilled, "
            "message=null)], pod status: Failed(reason=null, message=null)"
        ),
    ),
    (
        "worker_unregistered",
        (
            "Worker orders-taskmanager-1-3 did not register in PT5M, will stop it and request a "
            "new one if needed."
        ),
    ),
    (
        "worker_request_failed",
        (
            "Failed requesting worker with resource spec WorkerResourceSpec {cpuCores=1.0}, "
            "current pending count: 0\njava.lang.RuntimeException: exceeded quota: pods=40"
        ),
    ),
    (
        "worker_request_failed",
        (
            "Could not create pod orders-taskmanager-1-3, exception: "
            "io.fabric8.kubernetes.client.KubernetesClientException: exceeded quota: pods=40"
        ),
    ),
    ("worker_request_failed", "Pod orders-taskmanager-1-3 is terminated before being scheduled."),
    (
        "slots_required",
        (
            f"Received resource requirements from job {SAMPLE_JOB}: [ResourceRequirement"
            "{resourceProfile=ResourceProfile{UNKNOWN}, numberOfRequiredSlots=4}]"
        ),
    ),
    (
        "slots_missing",
        f"Could not fulfill resource requirements of job {SAMPLE_JOB}. Free slots: 0",
    ),
    (
        "slots_missing",
        (
            "Could not acquire the minimum required resources, failing slot requests. Acquired: []."
            " Current slot pool status: Registered TMs: 0, registered slots: 0 free slots: 0"
        ),
    ),
    (
        "jobmanager_fatal",
        (
            "Fatal error occurred in the cluster "
            "entrypoint.\norg.apache.flink.util.FlinkException: "
            f"JobMaster for job {SAMPLE_JOB} failed.\nCaused by: java.io.FileNotFoundException: "
            "/ha/completedCheckpoint4d1c (No such file or directory)"
        ),
    ),
    (
        "jobmanager_fatal",
        "Fatal error occurred on JobManager.\njava.lang.IllegalStateException: no leader",
    ),
    (
        "jobmanager_fatal",
        (
            "Could not start cluster entrypoint KubernetesApplicationClusterEntrypoint.\n"
            "org.apache.flink.runtime.entrypoint.ClusterEntrypointException: Failed to initialize"
        ),
    ),
    (
        "program_failed",
        (
            "Application failed unexpectedly: \njava.util.concurrent.CompletionException: "
            "org.apache.flink.client.program.ProgramInvocationException: The main method caused an "
            "error\nCaused by: java.lang.IllegalArgumentException: no topic"
        ),
    ),
    (
        "program_failed",
        (
            f"Flink application {SAMPLE_JOB} failed without a job (orders (eu)).\n"
            "java.lang.IllegalArgumentException: no topic"
        ),
    ),
    (
        "program_failed",
        (
            "Run python process failed\njava.lang.RuntimeException: Python process exits with "
            "code: 1"
        ),
    ),
    (
        "program_failed",
        (
            "Could not create application program.\njava.io.FileNotFoundException: "
            "/opt/flink/usrlib/job.jar"
        ),
    ),
    (
        "program_failed",
        (
            f"Failed to submit job {SAMPLE_JOB}.\norg.apache.flink.runtime.client."
            "JobExecutionException: Could not initialize task 'enrich'"
        ),
    ),
    (
        "enumeration_failed",
        (
            "Failed to enumerate files\norg.apache.paimon.table.source.OutOfRangeException: The "
            "snapshot with id 41 has expired. You can: 1. increase the snapshot or changelog "
            "expiration time."
        ),
    ),
    (
        "enumeration_failed",
        (
            "Failed to discover new splits\norg.apache.iceberg.exceptions.NotFoundException: "
            "Failed to open input stream for file: s3://lake/t/metadata/1.avro"
        ),
    ),
    (
        "submission_ignored",
        (
            f"Ignoring job submission 'orders (eu)' ({SAMPLE_JOB}) because the job already "
            "reached a globally-terminal state (i.e. FAILED, CANCELED, FINISHED) in a previous "
            "execution."
        ),
    ),
    (
        "client_lost",
        (
            f"The heartbeat from the job client is timeout and cancel the job {SAMPLE_JOB}. You "
            "can adjust the heartbeat interval by 'client.heartbeat.interval' and the timeout by "
            "'client.heartbeat.timeout'"
        ),
    ),
    (
        "ha_entry_removed",
        (
            "Could not retrieve the state handle of 'checkpointID-0000000000000009702' from "
            "ConfigMap 'orders-config-map'. Removing the entry as we don't have any way to recover."
        ),
    ),
    (
        "cluster_shut_down",
        (
            "Shutting StandaloneJobClusterEntryPoint down with application status FAILED. "
            "Diagnostics org.apache.flink.util.FlinkException: Could not create the "
            "DispatcherResourceManagerComponent."
        ),
    ),
    (
        "taskmanager_fatal",
        (
            "Fatal error occurred in TaskExecutor akka.tcp://flink@10.0.0.7:6122/user/rpc/"
            "taskmanager_0.\njava.lang.OutOfMemoryError: Metaspace. The metaspace"
        ),
    ),
    (
        "taskmanager_fatal",
        (
            "Fatal error occurred while executing the TaskManager. Shutting it down...\n"
            "java.lang.OutOfMemoryError: Direct buffer memory"
        ),
    ),
    (
        "taskmanager_fatal",
        "TaskManager initialization failed.\njava.io.IOException: Could not create FileSystem",
    ),
    ("taskmanager_fatal", "Terminating TaskManagerRunner with exit code 1."),
    (
        "fatal_error",
        (
            "FATAL: Thread 'flink-akka.actor.default-dispatcher-4' produced an uncaught exception. "
            "Stopping the process...\njava.lang.OutOfMemoryError: Java heap space"
        ),
    ),
    ("signal_received", "RECEIVED SIGNAL 15: SIGTERM. Shutting down as requested."),
    (
        "leadership_granted",
        (
            f"JobManager runner for job orders (eu) ({SAMPLE_JOB}) was granted leadership with "
            "session id 5fdd1a2e-0001-4f1d-9c2e-0f4f1e6b7a99 at akka.tcp://flink@jm:6123/user/rpc."
        ),
    ),
    (
        "leadership_granted",
        (
            f"JobMasterServiceLeadershipRunner for job {SAMPLE_JOB} was granted leadership with "
            "leader id 5fdd1a2e-0001-4f1d-9c2e-0f4f1e6b7a99. Creating new JobMasterServiceProcess."
        ),
    ),
    (
        "leadership_lost",
        (
            f"JobMasterServiceLeadershipRunner for job {SAMPLE_JOB} was revoked leadership with "
            "leader id 5fdd1a2e-0001-4f1d-9c2e-0f4f1e6b7a99. Stopping current "
            "JobMasterServiceProcess."
        ),
    ),
    (
        "leadership_lost",
        (
            f"JobManager for job orders (eu) ({SAMPLE_JOB}) was revoked leadership at "
            "akka.tcp://flink@jm:6123/user/rpc/jobmanager_2."
        ),
    ),
    (
        "leadership_lost",
        (
            f"JobManager for job {SAMPLE_JOB} with leader id 9c2e0f4f1e6b7a995fdd1a2e00014f1d "
            "lost leadership."
        ),
    ),
    (
        "leadership_lost",
        "ResourceManager akka.tcp://flink@jm:6123/user/rpc/rm_1 was revoked leadership. Clearing.",
    ),
    (
        "leadership_lost",
        (
            "DefaultDispatcherRunner was revoked the leadership with leader id "
            "5fdd1a2e-0001-4f1d-9c2e-0f4f1e6b7a99. Stopping the DispatcherLeaderProcess."
        ),
    ),
    (
        "store_retried",
        (
            "Writing Object on flink/ck/chk-4/x: Retried 2: "
            "org.apache.hadoop.fs.s3a.AWSServiceThrottledException: Writing Object on "
            "s3a://lake/flink/ck/chk-4/x: Please reduce your request rate."
        ),
    ),
    (
        "store_retried",
        (
            "Encountered status code 429 when sending POST request to URL "
            "'https://storage.googleapis.com/upload/storage/v1/b/lake/o?uploadType=multipart'. "
            "Delegating to response handler for possible retry."
        ),
    ),
    ("zookeeper_lost", "Connection to ZooKeeper suspended, waiting for reconnection."),
)

TRACE_EXAMPLES: tuple[tuple[str, str], ...] = (
    (
        "tolerable_failures_exceeded",
        (
            "org.apache.flink.util.FlinkRuntimeException: Exceeded checkpoint tolerable failure "
            "threshold."
        ),
    ),
    (
        "insufficient_network_buffers",
        (
            "java.io.IOException: Insufficient number of network buffers: required 65, but only 6 "
            "available."
        ),
    ),
    (
        "partition_not_found",
        (
            "org.apache.flink.runtime.io.network.partition.PartitionNotFoundException: Partition "
            "6f1c#0@2b not found."
        ),
    ),
    ("out_of_memory", "java.lang.OutOfMemoryError: Metaspace"),
    (
        "rpc_too_large",
        (
            "akka.remote.OversizedPayloadException: Discarding oversized payload sent to "
            "Actor[akka.tcp://flink@jm:6123/]: max allowed size 10485760 bytes"
        ),
    ),
    (
        "rpc_too_large",
        "java.io.IOException: The rpc invocation size 12000000 exceeds the maximum akka framesize.",
    ),
    (
        "rpc_too_large",
        (
            "java.io.IOException: The rpc invocation size 12000000 exceeds the maximum pekko "
            "framesize."
        ),
    ),
    (
        "rpc_too_large",
        (
            "org.apache.flink.runtime.rpc.exceptions.RpcException: The method requestJob's result "
            "size 14123456 exceeds the maximum size 10485760 ."
        ),
    ),
    (
        "association_quarantined",
        (
            "akka.remote.transport.netty.NettyTransport: The remote system has a UID that has been "
            "quarantined. Association aborted."
        ),
    ),
    (
        "association_quarantined",
        (
            "Association to [pekko.tcp://flink@tm-1:6122] having UID [7] is irrecoverably failed. "
            "UID is now quarantined and all messages to this UID will be delivered to dead letters."
        ),
    ),
    (
        "association_quarantined",
        (
            "The remote system has quarantined this system. No further associations to the remote "
            "system are possible until this system is restarted."
        ),
    ),
    (
        "registration_failed",
        (
            "org.apache.flink.runtime.taskexecutor.exceptions.RegistrationTimeoutException: Could "
            "not register at the ResourceManager within the specified maximum registration duration"
        ),
    ),
    (
        "store_refused",
        (
            "com.amazonaws.services.s3.model.AmazonS3Exception: Access Denied (Service: Amazon S3; "
            "Status Code: 403; Error Code: AccessDenied)"
        ),
    ),
    (
        "store_refused",
        (
            "software.amazon.awssdk.services.s3.model.S3Exception: User: arn:aws:iam::1:role/flink "
            'is not authorized to perform: s3:PutObject on resource: "arn:aws:s3:::lake/ck/a" '
            "(Service: S3, Status Code: 403, Request ID: 4442587FB7D0A2F9)"
        ),
    ),
    (
        "store_refused",
        (
            "com.aliyun.oss.OSSException: You have no right to access this object because of "
            "bucket acl.\n[ErrorCode]: AccessDenied\n[HostId]: lake.oss-cn-beijing.aliyuncs.com"
        ),
    ),
    (
        "store_refused",
        (
            'Operation failed: "This request is not authorized to perform this operation using '
            'this permission.", 403, PUT, https://acct.dfs.core.windows.net/ck/a, '
            "AuthorizationPermissionMismatch"
        ),
    ),
    (
        "store_timeout",
        (
            "com.amazonaws.services.s3.model.AmazonS3Exception: Your socket connection to the "
            "server was not read from or written to within the timeout period. (Service: Amazon "
            "S3; Status Code: 400; Error Code: RequestTimeout)"
        ),
    ),
    (
        "store_throttled",
        (
            "com.amazonaws.services.s3.model.AmazonS3Exception: Slow Down (Service: Amazon S3; "
            "Status Code: 503; Error Code: 503 Slow Down)"
        ),
    ),
    (
        "store_throttled",
        (
            "software.amazon.awssdk.services.s3.model.S3Exception: Slow down (Service: S3, Status "
            "Code: 503, Request ID: 4442587FB7D0A2F9)"
        ),
    ),
    (
        "store_throttled",
        (
            "com.aliyun.oss.OSSException: QPS Limit Exceeded.\n[ErrorCode]: QpsLimitExceeded\n"
            "[HostId]: lake.oss-cn-beijing.aliyuncs.com"
        ),
    ),
    (
        "store_throttled",
        (
            'Operation failed: "Ingress is over the account limit.", 503, PUT, '
            "https://acct.dfs.core.windows.net/ck/a?action=append, ServerBusy"
        ),
    ),
    (
        "store_throttled",
        (
            "com.google.cloud.storage.StorageException: The object lake/ck/a exceeded the rate "
            "limit for object mutation operations (create, update, and delete)."
        ),
    ),
    (
        "store_throttled",
        (
            "com.amazonaws.services.s3.model.AmazonS3Exception: Please reduce your request rate. "
            "(Service: Amazon S3; Status Code: 503; Error Code: SlowDown)"
        ),
    ),
    (
        "store_pool_exhausted",
        "com.amazonaws.SdkClientException: Timeout waiting for connection from pool",
    ),
    (
        "store_pool_exhausted",
        (
            "software.amazon.awssdk.core.exception.SdkClientException: Unable to execute HTTP "
            "request: Acquire operation took longer than the configured maximum time."
        ),
    ),
    (
        "rpc_timeout",
        (
            "akka.pattern.AskTimeoutException: Ask timed out on "
            "[Actor[akka://flink/user/rpc/dispatcher_1#1]] after [10000 ms]."
        ),
    ),
)
"""Of entries that only a stack trace shows."""
