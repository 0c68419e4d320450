"""Writing the snapshot to the checkpoint storage is slow."""

from collections.abc import Iterator

from ingest.messages import brief, message
from spark_jobs.diagnosis.findings import Finding
from spark_jobs.diagnosis.phases import (
    HOLD_S,
    PhaseCost,
    cost_of,
    phase_finding,
    phase_ms,
    phase_thresholds,
)
from spark_jobs.diagnosis.rule import rule
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.thresholds import Limits

RULE = "checkpoint.async"


@rule(
    RULE,
    message("Slow upload"),
    message("Writing the state to the checkpoint storage dominates the checkpoints' duration."),
    fed_by="incidents/1.20.5/slow-storage",
    hold_s=HOLD_S,
    thresholds=phase_thresholds(
        RULE,
        "async",
        30_000,
        message(
            "The upload runs in parallel with processing, and does harm only when it "
            "approaches the interval or the time-out: half of the usual interval of a minute."
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    cost = cost_of(window, RULE, "async", limits)
    if not cost:
        return
    at = brief(cost.slow[-1].slowest_vertex_name or message("the slowest task"))
    yield phase_finding(
        cost,
        message(
            "{at:name} takes long to write its state: the state is large, there are many "
            "small files, or the checkpoint storage or network is slow.{rate:text}",
            at=at,
            rate=_rate(cost),
        ),
        message(
            "Compare the hosts of the slowest subtasks and the throughput of the storage "
            "at that time. Incremental checkpoints, fewer state files (file merging from "
            "1.20 on) and more parallelism make the part of each task smaller.{threads:text}",
            threads=_threads(window),
        ),
    )


def _threads(window: JobWindow) -> str:
    """ForSt has no such option up to 2.3: it takes four threads."""
    if "rocksdb" not in (window.config.state_backend or "").lower():
        return ""
    return message(
        " If neither the storage nor the network is at its limit, raise "
        "state.backend.rocksdb.checkpoint.transfer.thread.num (4 from 1.13 on, before it 1): so "
        "many files are uploaded at once by a subtask."
    )


def _rate(cost: PhaseCost) -> str:
    """Bytes of the whole checkpoint over the slowest subtask's time: an upper bound of what a task
    wrote, so a rough figure.
    """
    newest = cost.slow[-1]
    size = (
        newest.checkpointed_bytes if newest.checkpointed_bytes is not None else newest.state_bytes
    )
    took = phase_ms(newest, "async")
    if not size or not took:
        return ""
    return message(
        " Checkpoint {checkpoint_id:number} wrote {size:bytes} in all, {size2:bytes} per second.",
        checkpoint_id=newest.checkpoint_id,
        size=size,
        size2=size * 1000 / took,
    )
