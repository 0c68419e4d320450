from ingest.messages import message
from spark_jobs.diagnosis.failure_causes.cause import FailureCause

CAUSES = (
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
