"""The synchronous part of the snapshot is slow: the task thread stands still meanwhile."""

from collections.abc import Iterator

from ingest.messages import brief, message
from spark_jobs.diagnosis.findings import Finding
from spark_jobs.diagnosis.phases import (
    HOLD_S,
    cost_of,
    phase_finding,
    phase_thresholds,
    with_sync_timeout,
)
from spark_jobs.diagnosis.rule import rule
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.thresholds import Limits

RULE = "checkpoint.sync"


@rule(
    RULE,
    message("Slow synchronous part"),
    message(
        "The part of the snapshot during which the task processes no records dominates the "
        "checkpoints' duration."
    ),
    fed_by="incidents/1.20.5/slow-sync",
    hold_s=HOLD_S,
    thresholds=phase_thresholds(
        RULE,
        "sync",
        3_000,
        message(
            "No record is processed during it. Network buffers bridge about a second; beyond a "
            "few, the upstream tasks are blocked too."
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    cost = cost_of(window, RULE, "sync", limits)
    if not cost:
        return
    at = brief(cost.slow[-1].slowest_vertex_name or message("the slowest task"))
    yield phase_finding(
        cost,
        message(
            "The task thread of {at:name} is held by the snapshot itself: a flush of the "
            "RocksDB memtables to a slow or full local disk, a lock, a large heap state "
            "that is copied, or slow code in snapshotState or in a sink's pre-commit.",
            at=at,
        ),
        with_sync_timeout(
            window,
            message(
                "Look at the local disk of the host named (io.tmp.dirs, "
                "state.backend.rocksdb.localdir) and take a thread dump of {at:name} while a "
                "checkpoint runs.",
                at=at,
            ),
        ),
    )
