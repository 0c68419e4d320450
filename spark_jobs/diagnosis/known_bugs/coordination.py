from ingest.messages import message
from spark_jobs.diagnosis.known_bugs.bug import KnownBug
from spark_jobs.diagnosis.known_bugs.conditions import (
    ADAPTIVE,
    HIGH_AVAILABILITY,
    KUBERNETES,
    ZOOKEEPER,
    checkpointing,
)
from spark_jobs.diagnosis.known_bugs.releases import Releases
from spark_jobs.diagnosis.known_bugs.sources import commit, notes, pull

_RETAIN = message("Retain checkpoints, so that one can be started from by hand.")

BUGS = (
    KnownBug(
        "FLINK-34007",
        message(
            "A JobManager that could not renew its lease at the Kubernetes API never becomes the "
            "leader again: the job stays down."
        ),
        Releases(("1.18.0",), ("1.19.0",), is_introduced=True),
        pull(24132, 24245),
        (KUBERNETES,),
        message("Restart the JobManager's pod."),
    ),
    KnownBug(
        "FLINK-28265",
        message(
            "A request to the Kubernetes API that is repeated can make Flink delete the metadata of "
            "a checkpoint that its ConfigMap still refers to: the job does not recover."
        ),
        Releases(("1.15.0",), ("1.15.3", "1.16.0")),
        notes("1.15.3") + commit("aae96d0c9d1"),
        (KUBERNETES,),
        _RETAIN,
    ),
    KnownBug(
        "FLINK-24543",
        message(
            "While the connection to ZooKeeper is unstable, Flink can delete metadata that "
            "ZooKeeper still refers to: the job does not recover."
        ),
        Releases(("1.12.5", "1.13.1", "1.14.0"), ("1.13.6", "1.14.3", "1.15.0")),
        notes("1.13.6", "1.14.3") + commit("b5c49ef484", "3d7ad08ea24"),
        (ZOOKEEPER,),
        _RETAIN,
    ),
    KnownBug(
        "FLINK-29234",
        message("A JobManager can hang for ever when a job ends while it becomes the leader."),
        Releases(("1.15.0",), ("1.15.4", "1.16.1", "1.17.0")),
        notes("1.15.4", "1.16.1") + commit("d745f5b3f7a"),
        (HIGH_AVAILABILITY,),
        message("Restart the JobManager."),
    ),
    KnownBug(
        "FLINK-29615",
        message(
            "A JobManager keeps metrics of subtasks that are gone after the adaptive scheduler has "
            "lowered the parallelism of a job."
        ),
        Releases(("1.16.0",), ("1.16.1", "1.17.0")),
        notes("1.16.1") + commit("f11c322467a"),
        (ADAPTIVE,),
    ),
    KnownBug(
        "FLINK-36512",
        message(
            "Checkpoints that were not even triggered count as failed ones, so the adaptive "
            "scheduler can change the parallelism before a checkpoint was taken."
        ),
        Releases(("2.0.0",)),
        pull(28745),
        (
            ADAPTIVE,
            checkpointing(
                message("periodic checkpoints"), "interval_ms", lambda value: int(value) > 0
            ),
        ),
        message(
            "A higher jobmanager.adaptive-scheduler.rescale-trigger.max-checkpoint-failures makes "
            "it rarer."
        ),
    ),
)
