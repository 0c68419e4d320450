"""For each known bug a job that it hits, and near-misses: releases before and after it, other
configurations, findings that it does not explain.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spark_jobs.diagnosis.known_bugs.bug import FindingFacts
from spark_jobs.diagnosis.known_bugs.conditions import JobFacts
from spark_jobs.diagnosis.known_bugs.tasks import TICKERS


def job(
    *,
    configuration: Mapping[str, Any] | None = None,
    vertices: tuple[str, ...] = ("Source: orders", "enrich"),
    exchanges: tuple[str, ...] = ("HASH",),
    **checkpointing: Any,
) -> JobFacts:
    """Everything of it is known but its release."""
    reported = {
        "state_backend": "HashMapStateBackend",
        "unaligned": False,
        "max_concurrent": 1,
        "tolerable_failed": 3,
        "interval_ms": 60_000,
    }
    return JobFacts(
        None,
        configuration if configuration is not None else {},
        reported | checkpointing,
        vertices,
        exchanges,
    )


@dataclass(frozen=True)
class Case:
    """``affected``, ``free``: releases that have it, and that have not. ``hit``: a job that it can
    hit with these; None where something is never known. ``spared``: jobs that it cannot hit.
    ``doubtful``: jobs that nearly have its configuration, and may have the rest in their code.
    ``open_question``: a job of which something is not known. ``finding``: explained by it, with
    what it then is.
    """

    affected: tuple[str, ...]
    free: tuple[str, ...]
    hit: JobFacts | None
    spared: tuple[JobFacts, ...] = ()
    open_question: JobFacts | None = None
    finding: tuple[FindingFacts, str] | None = None
    doubtful: tuple[JobFacts, ...] = ()


INCREMENTAL = {"state.backend.incremental": "true"}
ROCKSDB = "EmbeddedRocksDBStateBackend"
ROCKSDB_JOB = job(configuration=INCREMENTAL, state_backend=ROCKSDB)
HEAP_JOB = job(configuration=INCREMENTAL)
FULL_JOB = job(
    configuration={"execution.checkpointing.incremental": "false"}, state_backend=ROCKSDB
)
IN_CODE = job(state_backend=ROCKSDB)
ALIGNED, UNALIGNED = job(), job(unaligned=True)
NOT_REPORTED = JobFacts()
COMMITS = ("Source: orders", "out: Writer -> out: Committer")
COMPRESSED = {"execution.checkpointing.snapshot-compression": "true"}
KUBERNETES = {"high-availability.type": "kubernetes"}
ZOOKEEPER = {"high-availability": "zookeeper"}
ADAPTIVE = {"jobmanager.scheduler": "adaptive"}
COMPACTION = "state.backend.rocksdb.manual-compaction.min-interval"
OVERDRAFT = "taskmanager.network.memory.max-overdraft-buffers-per-gate"
MINI_BATCH = {"table.exec.mini-batch.enabled": "true"}
AGGREGATION = ("Source: orders", "GroupAggregate[3] -> Sink: out")
TWO_PHASES = ("LocalGroupAggregate[3]", "GlobalGroupAggregate[5] -> Sink: out")
ICEBERG = ("Source: orders -> IcebergStreamWriter", "IcebergFilesCommitter -> Sink: dummy")
IGNORED = {**ZOOKEEPER, "execution.savepoint.ignore-unclaimed-state": "true"}


NOT_WATERMARK_ALIGNMENT = (
    UNALIGNED,
    job(configuration={"table.exec.source.idle-timeout": "10 s"}),
    job(configuration={"pipeline.auto-watermark-interval": "200 ms"}),
)


def _trace(text: str) -> tuple[str, ...]:
    return (f"java.lang.Exception: x\nCaused by: java.lang.IllegalStateException: {text}\n\tat A",)


CASES = {
    "FLINK-23949": Case(
        ("1.11.0", "1.12.5", "1.12.7", "1.13.2"),
        ("1.13.3", "1.13.6", "1.14.0", "1.14.2", "2.3.0"),
        ROCKSDB_JOB,
        (HEAP_JOB, FULL_JOB),
        IN_CODE,
        (FindingFacts("checkpoint.full_after_savepoint"), "shows"),
    ),
    "FLINK-30461": Case(
        ("1.12.0", "1.14.6", "1.15.3", "1.16.1"),
        ("1.15.4", "1.16.2", "1.17.0", "1.20.0"),
        ROCKSDB_JOB,
        (HEAP_JOB, FULL_JOB),
        IN_CODE,
        (FindingFacts("storage.orphans"), "may_explain"),
    ),
    "FLINK-29913": Case(
        ("1.15.0", "1.15.4", "1.16.2", "1.17.1"),
        ("1.16.3", "1.17.2", "1.18.0"),
        job(configuration=INCREMENTAL, state_backend=ROCKSDB, max_concurrent=2),
        (ROCKSDB_JOB, job(configuration=INCREMENTAL, max_concurrent=2)),
        job(state_backend=ROCKSDB, max_concurrent=2),
        (FindingFacts("restore.missing_file"), "may_explain"),
    ),
    "FLINK-21351": Case(
        ("1.12.0", "1.12.1"),
        ("1.12.2", "1.13.0"),
        ROCKSDB_JOB,
        (
            job(
                configuration={**INCREMENTAL, "state.checkpoints.num-retained": "2"},
                state_backend=ROCKSDB,
            ),
            HEAP_JOB,
        ),
        IN_CODE,
        (FindingFacts("storage.missing_reference"), "may_explain"),
    ),
    "FLINK-38347": Case(
        ("1.20.0", "1.20.2", "2.0.0", "2.1.0"),
        ("1.19.3", "1.20.3", "1.20.4", "2.0.1", "2.1.1", "2.2.0"),
        job(configuration={"execution.checkpointing.file-merging.enabled": "true"}),
        (job(configuration={"execution.checkpointing.file-merging.enabled": "false"}),),
        ALIGNED,
        (FindingFacts("storage.orphans"), "may_explain"),
    ),
    "FLINK-38433": Case(
        ("2.0.0", "2.1.0"),
        ("1.20.5", "2.0.1", "2.1.1", "2.2.0"),
        job(state_backend="ForStStateBackend"),
        (ROCKSDB_JOB,),
        NOT_REPORTED,
        (FindingFacts("restore.missing_file"), "may_explain"),
    ),
    "FLINK-20654": Case(
        ("1.12.0", "1.12.2"), ("1.12.3", "1.13.0"), UNALIGNED, (ALIGNED,), NOT_REPORTED
    ),
    "FLINK-20675": Case(
        ("1.12.0", "1.12.1"),
        ("1.12.2", "1.13.0"),
        job(tolerable_failed=0),
        (job(tolerable_failed=1),),
        NOT_REPORTED,
    ),
    "FLINK-35217": Case(
        ("1.19.0",),
        ("1.19.1", "1.20.0"),
        job(configuration={"state.checkpoints.dir": "file:///mnt/checkpoints"}),
        (job(configuration={"state.checkpoints.dir": "hdfs://nn/checkpoints"}),),
        ALIGNED,
    ),
    "FLINK-22686": Case(
        ("1.13.0", "1.13.1"), ("1.13.2", "1.14.0"), UNALIGNED, (ALIGNED,), NOT_REPORTED
    ),
    "FLINK-31963": Case(
        ("1.16.0", "1.16.1", "1.17.0"),
        ("1.16.2", "1.17.1", "1.18.0"),
        UNALIGNED,
        (ALIGNED,),
        NOT_REPORTED,
        (
            FindingFacts("restart.loop", "high", _trace("ArrayIndexOutOfBoundsException: 3")),
            "may_explain",
        ),
    ),
    "FLINK-35351": Case(
        ("1.19.0",),
        ("1.19.1", "1.20.0"),
        job(unaligned=True, exchanges=("HASH", "CUSTOM")),
        (UNALIGNED, job(exchanges=("CUSTOM",))),
        NOT_REPORTED,
    ),
    "FLINK-38267": Case(
        ("1.20.0", "1.20.2", "2.0.0", "2.1.0"),
        ("1.20.3", "2.0.1", "2.1.1", "2.2.0"),
        UNALIGNED,
        (ALIGNED,),
        NOT_REPORTED,
        (
            FindingFacts(
                "restart.loop",
                "high",
                _trace("Cannot rescale the given pointwise partitioner.\nDid you change"),
            ),
            "may_explain",
        ),
    ),
    "FLINK-38483": Case(
        ("1.20.3",),
        ("1.20.2", "1.20.4", "2.0.1", "2.1.1", "2.2.0"),
        UNALIGNED,
        (ALIGNED,),
        NOT_REPORTED,
        (
            FindingFacts(
                "restart.loop",
                "high",
                _trace("Cannot get old subtasks from a descriptor that represents no state."),
            ),
            "shows",
        ),
    ),
    "FLINK-37870": Case(
        ("1.19.2", "1.20.1", "2.0.0"),
        ("1.19.1", "1.19.3", "1.20.0", "1.20.2", "2.0.1", "2.1.0"),
        job(unaligned=True, vertices=COMMITS),
        (UNALIGNED, job(vertices=COMMITS)),
        NOT_REPORTED,
    ),
    "FLINK-36287": Case(
        ("1.19.0", "1.19.1", "1.20.0"),
        ("1.19.2", "1.20.1", "2.0.0"),
        job(unaligned=True, vertices=COMMITS),
        (UNALIGNED, job(vertices=COMMITS)),
        NOT_REPORTED,
    ),
    "FLINK-33863": Case(
        ("1.18.0",),
        ("1.17.2", "1.18.1", "1.19.0"),
        job(configuration=COMPRESSED),
        (job(configuration={"execution.checkpointing.snapshot-compression": "false"}),),
        ALIGNED,
    ),
    "FLINK-34063": Case(
        ("1.18.0", "1.18.1"),
        ("1.17.2", "1.19.0"),
        job(configuration=COMPRESSED),
        (job(configuration={"execution.checkpointing.snapshot-compression": "false"}),),
        ALIGNED,
    ),
    "FLINK-25468": Case(
        ("1.12.5", "1.12.7", "1.13.0", "1.13.5", "1.14.0", "1.14.2"),
        ("1.13.6", "1.14.3", "1.15.0"),
        job(configuration={"state.backend.local-recovery": "true"}, state_backend=ROCKSDB),
        (IN_CODE, job(configuration={"state.backend.local-recovery": "true"})),
        NOT_REPORTED,
    ),
    "FLINK-34518": Case(
        ("1.17.0", "1.18.1"),
        ("1.19.0", "1.20.0"),
        job(configuration=ADAPTIVE | ZOOKEEPER),
        (job(configuration=ADAPTIVE), job(configuration=ZOOKEEPER)),
        NOT_REPORTED,
    ),
    "FLINK-39513": Case(
        ("1.12.0", "1.20.5", "2.1.3", "2.2.1", "2.3.0"),
        ("2.4.0",),
        job(configuration=IGNORED),
        (
            job(configuration={"execution.savepoint.ignore-unclaimed-state": "true"}),
            job(configuration=IGNORED | {"execution.savepoint.ignore-unclaimed-state": "false"}),
        ),
        job(configuration=ZOOKEEPER),
        (
            FindingFacts("restart.loop", "high", _trace("There is no operator for the state 0a1b")),
            "shows",
        ),
    ),
    "FLINK-34007": Case(
        ("1.18.0", "1.18.1"),
        ("1.17.2", "1.19.0"),
        job(configuration=KUBERNETES),
        (job(configuration=ZOOKEEPER), ALIGNED),
        NOT_REPORTED,
    ),
    "FLINK-28265": Case(
        ("1.15.0", "1.15.2"),
        ("1.15.3", "1.16.0"),
        job(
            configuration={
                "high-availability": "org.apache.flink.kubernetes.highavailability."
                "KubernetesHaServicesFactory"
            }
        ),
        (job(configuration=ZOOKEEPER), ALIGNED),
        NOT_REPORTED,
    ),
    "FLINK-24543": Case(
        ("1.12.5", "1.13.1", "1.13.5", "1.14.0", "1.14.2"),
        ("1.13.6", "1.14.3", "1.15.0"),
        job(configuration=ZOOKEEPER),
        (job(configuration=KUBERNETES), job(configuration={"high-availability": "NONE"})),
        NOT_REPORTED,
    ),
    "FLINK-29234": Case(
        ("1.15.0", "1.15.3", "1.16.0"),
        ("1.15.4", "1.16.1", "1.17.0"),
        job(configuration=ZOOKEEPER),
        (ALIGNED,),
        NOT_REPORTED,
    ),
    "FLINK-29615": Case(
        ("1.16.0",),
        ("1.16.1", "1.17.0"),
        job(configuration={"scheduler-mode": "REACTIVE"}),
        (ALIGNED,),
        NOT_REPORTED,
    ),
    "FLINK-36512": Case(
        ("2.0.0", "2.2.1", "2.3.0"),
        ("1.20.5",),
        job(configuration=ADAPTIVE),
        (ALIGNED, job(configuration=ADAPTIVE, interval_ms=0)),
        NOT_REPORTED,
    ),
    "FLINK-32414": Case(
        ("1.15.0", "1.15.4", "1.16.2", "1.17.1"),
        ("1.14.6", "1.16.3", "1.17.2", "1.18.0"),
        None,
        (),
        ALIGNED,
        (FindingFacts("watermark.stalled"), "may_explain"),
        NOT_WATERMARK_ALIGNMENT,
    ),
    "FLINK-32496": Case(
        ("1.16.0", "1.16.2", "1.17.1"),
        ("1.16.3", "1.17.2", "1.18.0"),
        None,
        (),
        ALIGNED,
        (FindingFacts("watermark.stalled"), "may_explain"),
        NOT_WATERMARK_ALIGNMENT,
    ),
    "FLINK-35157": Case(
        ("1.18.0", "1.18.1", "1.19.1"),
        ("1.19.2", "1.20.0"),
        None,
        (),
        ALIGNED,
        (FindingFacts("watermark.stalled"), "may_explain"),
        NOT_WATERMARK_ALIGNMENT,
    ),
    "FLINK-37670": Case(
        ("1.19.2", "1.19.3", "1.20.0", "1.20.1", "2.0.0"),
        ("1.18.1", "1.19.1", "1.20.2", "2.0.1", "2.1.0"),
        None,
        (),
        ALIGNED,
        (FindingFacts("watermark.stalled"), "may_explain"),
        NOT_WATERMARK_ALIGNMENT,
    ),
    "FLINK-28975": Case(
        ("1.15.0", "1.15.2"),
        ("1.15.3", "1.16.0"),
        job(configuration={"table.exec.source.idle-timeout": "10 s"}),
        (),
        job(configuration={"table.exec.source.idle-timeout": "0 ms"}),
        doubtful=(
            job(configuration={"table.exec.source.idle-timeout": "0 s"}),
            job(configuration={"pipeline.auto-watermark-interval": "200 ms"}),
        ),
    ),
    "FLINK-29298": Case(("1.16.0",), ("1.16.1", "1.17.0"), ALIGNED),
    "FLINK-31293": Case(
        ("1.16.0", "1.16.1", "1.17.0"),
        ("1.16.2", "1.17.1", "1.18.0"),
        ALIGNED,
        (job(configuration={OVERDRAFT: "0"}),),
        NOT_REPORTED,
    ),
    "FLINK-22946": Case(
        ("1.11.0", "1.12.4", "1.13.1"),
        ("1.11.4", "1.12.5", "1.13.2", "1.14.0"),
        UNALIGNED,
        (ALIGNED,),
        NOT_REPORTED,
    ),
    "FLINK-28695": Case(
        ("1.15.0", "1.15.3", "1.16.0"),
        ("1.15.4", "1.16.1", "1.17.0"),
        ALIGNED,
        finding=(
            FindingFacts(
                "restart.loop", "high", _trace("Sending the partition request to 'tm/1' failed.")
            ),
            "may_explain",
        ),
    ),
    "FLINK-39753": Case(
        ("1.20.0", "1.20.4", "2.0.2", "2.1.3", "2.2.1"),
        ("1.19.3", "1.20.5", "2.3.0"),
        job(configuration={COMPACTION: "5 min"}, state_backend=ROCKSDB),
        (
            job(configuration={COMPACTION: "0 min"}, state_backend=ROCKSDB),
            job(configuration={COMPACTION: "5 min"}),
        ),
        IN_CODE,
        (FindingFacts("memory.step_after_restart"), "may_explain"),
    ),
    "FLINK-39923": Case(
        ("2.0.0", "2.3.0"),
        ("1.20.5", "2.4.0"),
        job(
            configuration={"state.backend.rocksdb.metrics.bytes-read": "true"},
            state_backend=ROCKSDB,
        ),
        (
            job(configuration={"state.backend.rocksdb.metrics.bytes-read": "true"}),
            job(
                configuration={
                    f"state.backend.rocksdb.metrics.{ticker}": "false" for ticker in TICKERS
                },
                state_backend=ROCKSDB,
            ),
        ),
        IN_CODE,
        (FindingFacts("memory.step_after_restart"), "may_explain"),
    ),
    "FLINK-28060": Case(
        ("1.15.0",),
        ("1.15.1", "1.16.0"),
        job(vertices=("Source: Kafka orders -> map", "Sink: out")),
        (),
        job(vertices=("Source: orders -> map", "Sink: kafka")),
        doubtful=(
            job(vertices=("Source: orders -> kafka lookup", "Sink: out")),
            job(vertices=("Source: pulsar", "Sink: Kafka orders")),
        ),
    ),
    "FLINK-35661": Case(
        ("1.12.0", "1.20.5", "2.0.2", "2.1.2", "2.2.1"),
        ("2.1.3", "2.3.0"),
        job(configuration=MINI_BATCH, vertices=AGGREGATION),
        (
            job(configuration=MINI_BATCH),
            job(configuration=MINI_BATCH, vertices=TWO_PHASES),
            job(configuration={"table.exec.mini-batch.enabled": "false"}, vertices=AGGREGATION),
        ),
        job(vertices=AGGREGATION),
    ),
    "apache/iceberg#15846": Case(
        ("1.20.0", "1.20.5", "2.3.0"),
        ("1.19.3",),
        job(unaligned=True, vertices=ICEBERG),
        (UNALIGNED, job(vertices=ICEBERG)),
        NOT_REPORTED,
    ),
}
