from ingest.messages import message
from spark_jobs.diagnosis.failure_causes.cause import EXIT, FailureCause

CAUSES = (
    FailureCause(
        "CLUSTER_REFUSES",
        r"exceeded quota: [^\n]{1,200}=|pods? (?:\"[^\"\n]{0,200}\" )?is forbidden"
        r"|KubernetesClientException[^\n]{0,400}(?:403|Forbidden)|InvalidResourceRequestException"
        r"|[Mm]aximum allowed allocation|reason=(?:OutOf\w|UnexpectedAdmission|NodeAffinity|Topology)"
        r"|Pod was rejected",
        message("the cluster refuses new containers"),
        message(
            "See which limit it names: a quota of the namespace, the rights of the service account "
            "to create pods, or the largest container that YARN allows. Ask for less, or have the "
            "limit raised."
        ),
    ),
    FailureCause(
        "POD_EVICTED",
        r"reason[=:] ?(?:Evicted|Preempting)|[Pp]od[^\n]{0,200}(?:[Ee]victed|[Ee]viction)"
        rf"|TaintManagerEviction|low on resource: |preempted by|PREEMPTED|{EXIT}-10[28]\b"
        r"|DisruptionTarget(?!, reason=DeletionByPodGC)",
        message("the container was evicted or preempted"),
        message(
            "Set requests equal to limits, give the pods a priority and a disruption budget, bound "
            "ephemeral storage; on YARN use a queue without preemption."
        ),
    ),
    FailureCause(
        "NODE_DISKS_BAD",
        r"directories have become bad|nodemanager-local-directories",
        message("the disks of a node are bad or full"),
        message(
            "Look at the disks of that node: YARN gives it up above 90 % of use. Clean up its "
            "local directories, or leave the node out."
        ),
    ),
    FailureCause(
        "NODE_LOST",
        r"NodeLost|DeletionByPodGC|\*?[Ll]ost\*? node|Node is not ready|NodeNotReady"
        rf"|'lost' due to node failures|{EXIT}-10[06]\b|NodeShutdown|reason=Shutdown\b"
        r"|[Tt]erminated in response to imminent node shutdown",
        message("a node was lost"),
        message(
            "Look at the node's own log and at the provider's events (spot instance taken back, "
            "kernel panic, network). Where nodes go often, leave slots free on others, so that the "
            "job need not wait for new ones."
        ),
    ),
    FailureCause(
        "CONTAINER_KILLED",
        rf"{EXIT}(?:137|-9)\b|Killed by external signal|SIGKILL",
        message("the process was killed from outside (SIGKILL, exit code 137)"),
        message(
            "Who kills without asking is mostly the kernel for want of memory: look at dmesg of "
            "the host and at the container's events. Else a liveness probe, or a stop that took "
            "longer than its grace period. Compare resident memory with "
            "taskmanager.memory.process.size."
        ),
    ),
    FailureCause(
        "TASKMANAGER_STOPPED",
        rf"TaskExecutor is shutting down|RECEIVED SIGNAL 15|SIGTERM|{EXIT}(?:143|-10[57])\b"
        r"|TaskManager was stopped",
        message("a TaskManager was stopped in order"),
        message(
            "Somebody asked it to stop: a scale-down, a rollout, a drained node, an autoscaler. "
            "See who did at that time. Where that is meant, use the adaptive scheduler or stop the "
            "job with a savepoint before; where it is not, protect the pods (disruption budget)."
        ),
    ),
    FailureCause(
        "JVM_CRASHED",
        r"fatal error has been detected by the Java Runtime Environment|SIGSEGV|SIGBUS"
        rf"|{EXIT}(?:134|135|139)\b",
        message("the JVM crashed in native code"),
        message(
            "Read the crash report of the process (hs_err_pid*.log, or the end of its output): the "
            "problematic frame names the library. Update that one, RocksDB's or a compression "
            "codec's for example, or the JVM. Keep the report outside of the container "
            "(-XX:ErrorFile), else it is gone with it."
        ),
    ),
    FailureCause(
        "TASK_NOT_CANCELLED",
        r"Task did not exit gracefully within",
        message("a task did not end when it was cancelled, so its TaskManager ended itself"),
        message(
            "See from a thread dump, or from the lines about the cancelling signal, where it "
            "hangs: a call without a time-out, a lock, a close() that waits. Bound that call and "
            "let it be interrupted. A longer task.cancellation.timeout only postpones it."
        ),
    ),
    FailureCause(
        "IMAGE_NOT_PULLED",
        r"ErrImagePull|ImagePullBackOff|InvalidImageName|[Ff]ailed to pull image",
        message("the image of a container cannot be pulled"),
        message(
            "See from the pod's events which image it is: whether its name and tag exist, and "
            "whether the node may read the registry (imagePullSecrets, rate limits)."
        ),
    ),
    FailureCause(
        "CONTAINER_EXITED",
        rf"(?:(?:[Cc]ontainer|[Pp]od|[Ww]orker)[\s\S]{{0,400}}?{EXIT}|exitCode=|Exit code: ?)"
        r"(?!0\b|-?1000\b)-?[0-9]+",
        message("the process ended with an error code"),
        message(
            "Read the end of its log, and of the container before this one (kubectl logs "
            "--previous, yarn logs): 1 is an error at start, 2 a fatal error while it ran, 239 an "
            "exception that nobody caught."
        ),
    ),
    FailureCause(
        "REGISTRATION_FAILED",
        r"RegistrationTimeoutException|maximum registration duration|did not register in PT",
        message("a TaskManager could not register"),
        message(
            "See from the TaskManager whether it reaches the JobManager's RPC address and port "
            "(name resolution, network policy, firewall), and whether both have the same Flink "
            "version and the same TLS settings."
        ),
    ),
    FailureCause(
        "ASSOCIATION_QUARANTINED",
        r"(?:remote|actor) system[^\n]{0,300} quarantined|irrecoverably failed"
        r"|Quarantined address",
        message("two processes do not speak to each other any more (quarantined)"),
        message(
            "Restart the process that is named as quarantined: it never joins again by itself. "
            "Then look for what kept it silent: long garbage collections, a full disk, the "
            "network."
        ),
    ),
    FailureCause(
        "RPC_TOO_LARGE",
        r"OversizedPayloadException|exceeds the maximum (?:akka|pekko) framesize"
        r"|'s result size \d+ exceeds",
        message("a message between Flink's processes is too large"),
        message(
            "Raise pekko.framesize (before 1.18 akka.framesize) on all processes. Look at what is "
            "large: many subtasks with state below state.storage.fs.memory-threshold, or a "
            "function with large fields."
        ),
    ),
    FailureCause(
        "ZOOKEEPER_LOST",
        # HBase, Kafka and Solr have their own ZooKeeper.
        r"(?:Connection to ZooKeeper (?:suspended|lost)|KeeperErrorCode = "
        r"(?:ConnectionLoss|Session ?[Ee]xpired))(?![\s\S]* for /(?:hbase|brokers|solr))",
        message("the connection to ZooKeeper was lost"),
        message(
            "Look at ZooKeeper's own health and at pauses of the JobManager. To live through short "
            "losses, set high-availability.zookeeper.client.tolerate-suspended-connections and a "
            "longer session time-out."
        ),
    ),
    FailureCause(
        "HA_STORE_DELETED",
        r"[cC]onfigMap [^ \n]{1,253}(?: because it)? does not exist"
        r"|NoNode for /(?!hbase|brokers|solr)",
        message("what high availability keeps was deleted while the job ran"),
        message(
            "Find who deleted it: a clean-up of ConfigMaps or znodes, or an operator. Start the job "
            "from the path of its newest checkpoint or savepoint: else it begins without state."
        ),
    ),
    FailureCause(
        "PORT_IN_USE",
        r"Address already in use|on any port in port range|java\.net\.BindException",
        message("a port that a process of Flink needs is in use"),
        message(
            "Find what listens there: mostly an older process that did not end, or a second "
            "cluster on that host. End it, or set another port or a range "
            "(rest.bind-port, jobmanager.rpc.port, taskmanager.rpc.port)."
        ),
    ),
    FailureCause(
        "JOB_KNOWN_ALREADY",
        r"DuplicateJobSubmissionException|Job has already been submitted"
        r"|reached a globally-terminal state",
        message("a job of this id runs already, or has ended before"),
        message(
            "If one of this id runs, that is the one to look at. If it has ended and shall run "
            "again, submit it with another job id or cluster id, from its newest snapshot: high "
            "availability remembers ids that ended."
        ),
    ),
    FailureCause(
        "FENCING",
        r"FencingTokenException|Fencing token (?:mismatch|not set)",
        message("a process still follows a JobManager that does not lead any more (fencing)"),
        message(
            "A change of the leader explains it for some seconds. If it lasts, two JobManagers "
            "believe that they lead: see whether they share one cluster id, and whether the leader "
            "in ZooKeeper or the ConfigMap is the one that the others talk to."
        ),
    ),
    FailureCause(
        "LEADERSHIP_LOST",
        r"lost leadership|[Ll]eadership (?:was )?(?:lost|revoked)|revoked (?:the )?leadership"
        r"|leader (?:id|session)[^\n]{0,60}(?:changed|lost)|LeaderElectionException",
        message("the JobManager lost its leadership"),
        message(
            "It could not renew its lease in time: look at long garbage collections and CPU limits "
            "of the JobManager, and at the latency of the Kubernetes API or of ZooKeeper. Raise "
            "high-availability.kubernetes.leader-election.lease-duration and renew-deadline."
        ),
    ),
)
