"""The slow phase of a job's checkpoints: one rule for each phase."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ingest.messages import brief, join_messages, list_text, message, subtask_text
from spark_jobs.diagnosis.barrier_holders import Holder, pressure_is_known
from spark_jobs.diagnosis.findings import Evidence, Finding
from spark_jobs.diagnosis.phases import (
    PhaseCost,
    holder_of,
    phase_finding,
    phase_ms,
    phase_rule,
    with_sync_timeout,
)
from spark_jobs.diagnosis.samples import CheckpointSample, JobWindow


@dataclass(frozen=True, slots=True)
class LateSource:
    """The source subtask that was the last to start a checkpoint."""

    checkpoint_id: int
    at_ms: int
    vertex_id: str
    name: str
    subtask: int | None
    delay_ms: int

    @property
    def brief(self) -> str:
        return brief(self.name)

    @property
    def cause(self) -> str:
        return message(
            "{brief:name} started its part {delay_ms:duration} after the trigger. A source "
            "receives the trigger itself instead of a barrier. Its task thread was busy or "
            "held the checkpoint lock, so it took the trigger from its mailbox late.",
            brief=subtask_text(self.brief, self.subtask),
            delay_ms=self.delay_ms,
        )

    @property
    def next_step(self) -> str:
        return message(
            "Take a thread dump of {brief:name} while a checkpoint is pending, or look at its "
            "flame graph in Flink's page (rest.flamegraph.enabled: true). The trigger waits "
            "for what this thread does: often a blocking call, or one record that becomes "
            "many, in the source or an operator chained to it.",
            brief=self.brief,
        )

    @property
    def evidence(self) -> Evidence:
        where = message(
            "{name:name}, checkpoint {checkpoint_id:number}; a source waits for no barrier",
            name=subtask_text(self.name, self.subtask),
            checkpoint_id=self.checkpoint_id,
        )
        return Evidence(message("start delay of the source"), self.delay_ms, "ms", note=where)

    def as_data(self) -> dict[str, Any]:
        return {
            "vertex_id": self.vertex_id,
            "name": self.name,
            "subtask": self.subtask,
            "checkpoint_id": self.checkpoint_id,
        }


def late_source(
    window: JobWindow,
    checkpoint: CheckpointSample,
    start_delay_ms: float | None,
    least_share: float,
) -> LateSource | None:
    """None if the sources started in time (their delay is less than ``least_share`` of the whole
    start delay), or if it is unknown.
    """
    delay_ms, vertex_id = checkpoint.source_start_delay_ms, checkpoint.latest_source_id
    if (
        not start_delay_ms
        or delay_ms is None
        or vertex_id is None
        or delay_ms < least_share * start_delay_ms
    ):
        return None
    name = window.vertex_name(vertex_id)
    return LateSource(
        checkpoint.checkpoint_id,
        checkpoint.ended_ms,
        vertex_id,
        name,
        checkpoint.latest_source_subtask,
        delay_ms,
    )


@phase_rule(
    "start_delay",
    message("Slow barriers"),
    message("The time until the barrier arrives dominates the checkpoints' duration."),
    fed_by="windows/1.20.5-B",
    slow_ms=5_000,
    because=message(
        "A barrier crosses a flowing job within milliseconds; seconds mean that it waits "
        "behind records or for a busy task thread."
    ),
)
def start_delay_finding(cost: PhaseCost) -> Finding:
    window, holder, newest = cost.window, holder_of(cost), cost.slow[-1]
    least_share = cost.limits[f"{cost.rule_id}.dominates"]
    # If its output is back-pressured, that keeps its thread busy.
    source = (
        None
        if holder
        else late_source(window, newest, phase_ms(newest, "start_delay"), least_share)
    )
    cause = source.cause if source else _cause(window, holder, cost)
    next_step = source.next_step if source else _next_step(window, holder)
    evidence, known = ((source.evidence,), source.as_data()) if source else ((), None)
    return phase_finding(cost, cause, next_step, evidence, source=known)


def _cause(window: JobWindow, holder: Holder | None, cost: PhaseCost) -> str:
    if holder:
        held = list_text(brief(window.vertex_name(vertex_id)) for vertex_id in holder.held)
        return message(
            "Back-pressure holds the barriers: they are queued behind records, and the buffers "
            "from {held:name} on are full because {brief:name} processes the records too slowly.",
            held=held,
            brief=holder.brief,
        )
    slowest = cost.slow[-1].slowest_vertex_name
    where = message(" of {slowest:name}", slowest=brief(slowest)) if slowest else ""
    if pressure_is_known(window):
        return message(
            "No origin of back-pressure was observed, so a busy task thread{where:message} is "
            "likely: it answers only between two records.",
            where=where,
        )
    return message(
        "The barrier waits behind records, or the task thread{where:message} is busy; which, is "
        "not known: no pressure was measured.",
        where=where,
    )


def _next_step(window: JobWindow, holder: Holder | None) -> str:
    if holder:
        relieve = message(
            "Relieve {brief:name} (see its pressure finding): its parallelism, its slow "
            "calls, its hot keys.",
            brief=holder.brief,
        )
        lacking = {
            (False, False): message(
                "Until then, unaligned checkpoints (execution.checkpointing.unaligned) or buffer "
                "debloating let barriers pass."
            ),
            (False, True): message(
                "Until then, unaligned checkpoints (execution.checkpointing.unaligned) let "
                "barriers pass."
            ),
            (True, False): message("Until then, buffer debloating lets barriers pass."),
        }
        pass_barriers = lacking.get((bool(window.config.unaligned), window.debloats))
        return join_messages((relieve, pass_barriers), " ") if pass_barriers else relieve
    return message(
        "Take a thread dump or flame graph of the slowest subtask: long timers, flatMaps that emit "
        "much, or blocking calls."
    )


@phase_rule(
    "alignment",
    message("Slow alignment"),
    message(
        "The time between the first and the last barrier of a task dominates the checkpoints' "
        "duration."
    ),
    fed_by="windows/1.20.5-C2",
    slow_ms=5_000,
    because=message(
        "During alignment, a task reads no records from channels whose barrier has "
        "arrived. Seconds of that show as latency downstream."
    ),
)
def alignment_finding(cost: PhaseCost) -> Finding:
    holder = holder_of(cost)
    slowest = cost.slow[-1]
    at = cost.slowest_task
    why = message(
        "Some channels carry more than others or come from slower tasks, so their barriers reach "
        "{at:name} late; channels whose barrier has arrived are blocked until then.",
        at=at,
    )
    pressed = (
        message(" Back-pressure from {brief:name} stretches the gap.", brief=holder.brief)
        if holder
        else ""
    )
    unaligned = message(
        " The checkpoints are unaligned: the wait costs no latency, but the records in flight "
        "become part of them."
    )
    return phase_finding(
        cost,
        why + pressed + (unaligned if slowest.unaligned else ""),
        message(
            "Compare the input channels and the upstream subtasks of {at:name}: skewed "
            "keys, one slow host, one source partition with a backlog. "
            "execution.checkpointing.aligned-checkpoint-timeout lets barriers overtake "
            "records when alignment takes too long.",
            at=at,
        ),
        _processed(slowest),
    )


def _processed(checkpoint: CheckpointSample) -> Iterator[Evidence]:
    if checkpoint.processed_bytes:
        note = message(
            "checkpoint {checkpoint_id:number}, all subtasks together: channels that carry more "
            "than others are a sign of skew",
            checkpoint_id=checkpoint.checkpoint_id,
        )
        yield Evidence(
            message("processed during alignment"), checkpoint.processed_bytes, "bytes", note=note
        )


@phase_rule(
    "sync",
    message("Slow synchronous part"),
    message(
        "The part of the snapshot during which the task processes no records dominates the "
        "checkpoints' duration."
    ),
    fed_by="incidents/1.20.5/slow-sync",
    slow_ms=3_000,
    because=message(
        "No record is processed during it. Network buffers bridge about a second; beyond a "
        "few, the upstream tasks are blocked too."
    ),
)
def sync_finding(cost: PhaseCost) -> Finding:
    at = cost.slowest_task
    return phase_finding(
        cost,
        message(
            "The task thread of {at:name} is held by the snapshot itself: a flush of the "
            "RocksDB memtables to a slow or full local disk, a lock, a large heap state "
            "that is copied, or slow code in snapshotState or in a sink's pre-commit.",
            at=at,
        ),
        with_sync_timeout(
            cost.window,
            message(
                "Look at the local disk of the host named (io.tmp.dirs, "
                "state.backend.rocksdb.localdir) and take a thread dump of {at:name} while a "
                "checkpoint runs.",
                at=at,
            ),
        ),
    )


@phase_rule(
    "async",
    message("Slow upload"),
    message("Writing the state to the checkpoint storage dominates the checkpoints' duration."),
    fed_by="incidents/1.20.5/slow-storage",
    slow_ms=30_000,
    because=message(
        "The upload runs in parallel with processing, and does harm only when it "
        "approaches the interval or the time-out: half of the usual interval of a minute."
    ),
)
def async_finding(cost: PhaseCost) -> Finding:
    at = cost.slowest_task
    return phase_finding(
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
            threads=_threads(cost.window),
        ),
    )


def _threads(window: JobWindow) -> str:
    """The number of upload threads; ForSt has no option for it up to 2.3 and uses four."""
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
