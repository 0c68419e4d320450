from ingest.messages import message
from spark_jobs.diagnosis.failure_causes.cause import FailureCause

CAUSES = (
    FailureCause(
        "POD_UNSCHEDULABLE",
        r"\bUnschedulable: |nodes are available: ",
        message("no node has room for a pod"),
        message(
            "Read what the scheduler misses on each node: for a resource, add nodes or ask for less "
            "(taskmanager.memory.process.size, kubernetes.taskmanager.cpu); for a taint, an affinity "
            "or the zone of a volume, change the pod template. Flink goes on by itself once the pod "
            "runs."
        ),
    ),
    FailureCause(
        "CONTAINER_NOT_CREATED",
        r"CreateContainer(?:Config)?Error|RunContainerError",
        message("a container cannot be created"),
        message(
            "Read what it names: mostly a Secret, a ConfigMap or one of their keys that is not "
            "there, or a command that the image lacks. Create it, or correct the pod template."
        ),
    ),
    FailureCause(
        "NO_RESOURCE_AVAILABLE",
        r"NoResourceAvailableException|Could not acquire the minimum required resources"
        r"|Slot request bulk is not fulfillable|[Ss]lot request (?:SlotRequestId\S* )?tim(?:ed out|eout)"
        r"|Could not fulfill (?:resource|slot)|required slot within slot request timeout",
        message("slots are missing"),
        message(
            "Compare the slots that the job needs with those that are registered. See why no "
            "TaskManagers come: pods that are pending (quota, node pool, image), a full YARN "
            "queue, a standalone cluster with too few of them. Add them, or lower the parallelism."
        ),
        waits_for_slots=True,
    ),
    FailureCause(
        "INSUFFICIENT_NETWORK_BUFFERS",
        r"Insufficient number of network buffers|Timeout triggered when requesting exclusive buffers",
        message("network buffers are missing"),
        message(
            "Raise taskmanager.memory.network.max (and .fraction), or lower the parallelism or the "
            "number of slots of a TaskManager."
        ),
    ),
)
