"""``RpcQueueTimeAvgTime`` of ``RpcActivityForPort*`` is a mean of the last interval."""

from collections.abc import Iterator
from statistics import median

from ingest.messages import list_text, message
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, NotJudged, Threshold
from spark_jobs.diagnosis.namenode_samples import NameNodeReadings
from spark_jobs.diagnosis.rule import rule, sample_finding

RULE = "namenode.queue_time"
WAIT, LONG_WAIT = f"{RULE}.wait_ms", f"{RULE}.long_wait_ms"
LEAST_READINGS = 3
"""A NameNode that paused once (a full collection, a log roll) is not overloaded."""


@rule(
    RULE,
    message("NameNode overloaded"),
    message(
        "Calls wait long in the queue of a NameNode, in at least half of the readings of ten "
        "minutes."
    ),
    fed_by="integration/test_namenode",
    hold_s=900,
    judges=NameNodeReadings,
    thresholds=(
        Threshold(
            WAIT,
            100,
            "ms",
            1,
            600_000,
            message(
                "A NameNode that keeps up takes a call within a millisecond or two; a file costs a "
                "writer four calls and more, one by one."
            ),
        ),
        Threshold(
            LONG_WAIT,
            1_000,
            "ms",
            1,
            600_000,
            message(
                "At a second, a checkpoint waits for seconds with each of its files, and clients "
                "begin to try again."
            ),
        ),
    ),
)
def judge(sample: NameNodeReadings, limits: Limits) -> Iterator[Finding]:
    if len(sample.queue_ms) < LEAST_READINGS:
        raise NotJudged(
            message(
                "how long calls wait in its queue: its JMX gave fewer than three readings in ten "
                "minutes"
            )
        )
    wait_ms = median(sample.queue_ms)
    if wait_ms < limits[WAIT]:
        return
    is_long_wait = wait_ms >= limits[LONG_WAIT]
    kinds = list_text(
        f"{name} {per_s:,.0f}/s"
        for name, per_s in sorted(sample.kinds.items(), key=lambda pair: (-pair[1], pair[0]))
    )
    yield sample_finding(
        sample,
        RULE,
        "critical" if is_long_wait else "warning",
        title=message(
            "Calls wait {wait_ms:duration} in the queue of the NameNode of {cluster:name}",
            wait_ms=wait_ms,
            cluster=sample.cluster,
        ),
        cause=message(
            "It gets more calls than it can process, or something holds its lock. Checkpoints "
            "of every job that writes to it wait with each call, as do all other users of "
            "this HDFS.{words:message}",
            words=message(" Most calls: {kinds:message}.", kinds=kinds) if kinds else "",
        ),
        next_step=message(
            "The page File system calls shows who calls it most in the worst second, and "
            "which jobs take checkpoints together. Fewer files make fewer calls "
            "(state.storage.fs.memory-threshold, execution.checkpointing.file-merging.enabled "
            "since 1.20); longer intervals and checkpoints at different seconds avoid bursts; "
            "jobs that you move to another NameNode take their load with them."
        ),
        evidence=_evidence(sample, wait_ms, limits),
    )


def _evidence(sample: NameNodeReadings, wait_ms: float, limits: Limits) -> Iterator[Evidence]:
    yield limits.evidence(
        message("wait in the queue"),
        wait_ms,
        WAIT,
        message("median of {queue_ms:number} readings", queue_ms=len(sample.queue_ms)),
    )
    if sample.processing_ms is not None:
        yield Evidence(message("time a call is worked on"), sample.processing_ms, "ms")
    if sample.call_queue_length is not None:
        yield Evidence(message("calls in the queue"), sample.call_queue_length, "count")
    if sample.calls_per_s is not None:
        yield Evidence(message("calls of all clients"), sample.calls_per_s, "calls/s")
