from collections.abc import Iterator

from ingest.messages import brief, join_messages, list_text, message, subtask_text
from spark_jobs.diagnosis.barrier_holders import Holder, pressure_is_known
from spark_jobs.diagnosis.findings import Evidence, Finding
from spark_jobs.diagnosis.phases import (
    PhaseCost,
    phase_finding,
    phase_ms,
    phase_rule,
    with_sync_timeout,
)
from spark_jobs.diagnosis.samples import CheckpointSample, JobWindow


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
    holder = cost.holder
    # Back-pressure, too, keeps the thread of a source busy.
    late_source = None if holder else _late_source_finding(cost)
    return late_source or phase_finding(
        cost, _cause(cost, holder), _next_step(cost.window, holder), source=None
    )


def _late_source_finding(cost: PhaseCost) -> Finding | None:
    """None if the sources started in time, or if this is unknown."""
    newest = cost.slow[-1]
    delay_ms, vertex_id = newest.source_start_delay_ms, newest.latest_source_id
    least_ms = cost.limits[f"{cost.rule_id}.dominates"] * (phase_ms(newest, "start_delay") or 0)
    if delay_ms is None or vertex_id is None or not least_ms or delay_ms < least_ms:
        return None
    full_name = cost.window.vertex_name(vertex_id)
    name, subtask = brief(full_name), newest.latest_source_subtask
    return phase_finding(
        cost,
        message(
            "{brief:name} started its part {delay_ms:duration} after the trigger. A source "
            "receives the trigger itself instead of a barrier. Its task thread was busy or "
            "held the checkpoint lock, so it took the trigger from its mailbox late.",
            brief=subtask_text(name, subtask),
            delay_ms=delay_ms,
        ),
        message(
            "Take a thread dump of {brief:name} while a checkpoint is pending, or look at its "
            "flame graph in Flink's page (rest.flamegraph.enabled: true). The trigger waits "
            "for what this thread does: often a blocking call, or one record that becomes "
            "many, in the source or an operator chained to it.",
            brief=name,
        ),
        (
            Evidence(
                message("start delay of the source"),
                delay_ms,
                "ms",
                note=message(
                    "{name:name}, checkpoint {checkpoint_id:number}; a source waits for no barrier",
                    name=subtask_text(full_name, subtask),
                    checkpoint_id=newest.checkpoint_id,
                ),
            ),
        ),
        source={
            "vertex_id": vertex_id,
            "name": full_name,
            "subtask": subtask,
            "checkpoint_id": newest.checkpoint_id,
        },
    )


def _cause(cost: PhaseCost, holder: Holder | None) -> str:
    if holder:
        held = list_text(map(cost.window.brief_name, holder.held))
        return message(
            "Back-pressure holds the barriers: they are queued behind records, and the buffers "
            "from {held:name} on are full because {brief:name} processes the records too slowly.",
            held=held,
            brief=holder.brief,
        )
    slowest = cost.slow[-1].slowest_vertex_name
    where = message(" of {slowest:name}", slowest=brief(slowest)) if slowest else ""
    if pressure_is_known(cost.window):
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
        unused_means = {
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
        pass_barriers = unused_means.get((bool(window.config.unaligned), window.has_debloating))
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
    holder = cost.holder
    slowest = cost.slow[-1]
    task = cost.slowest_task
    reason = message(
        "Some channels carry more than others or come from slower tasks, so their barriers reach "
        "{at:name} late; channels whose barrier has arrived are blocked until then.",
        at=task,
    )
    pressure = (
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
        reason + pressure + (unaligned if slowest.unaligned else ""),
        message(
            "Compare the input channels and the upstream subtasks of {at:name}: skewed "
            "keys, one slow host, one source partition with a backlog. "
            "execution.checkpointing.aligned-checkpoint-timeout lets barriers overtake "
            "records when alignment takes too long.",
            at=task,
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
    task = cost.slowest_task
    return phase_finding(
        cost,
        message(
            "The task thread of {at:name} is held by the snapshot itself: a flush of the "
            "RocksDB memtables to a slow or full local disk, a lock, a large heap state "
            "that is copied, or slow code in snapshotState or in a sink's pre-commit.",
            at=task,
        ),
        with_sync_timeout(
            cost.window,
            message(
                "Look at the local disk of the host named (io.tmp.dirs, "
                "state.backend.rocksdb.localdir) and take a thread dump of {at:name} while a "
                "checkpoint runs.",
                at=task,
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
    task = cost.slowest_task
    return phase_finding(
        cost,
        message(
            "{at:name} takes long to write its state: the state is large, there are many "
            "small files, or the checkpoint storage or network is slow.",
            at=task,
        ),
        message(
            "Compare the hosts of the slowest subtasks and the throughput of the storage "
            "at that time. Incremental checkpoints, fewer state files (file merging from "
            "1.20 on) and more parallelism make the part of each task smaller.{threads:text}",
            threads=_threads(cost.window),
        ),
    )


def _threads(window: JobWindow) -> str:
    """Advice on upload threads. Up to 2.3 ForSt uses four and has no option."""
    if "rocksdb" not in (window.config.state_backend or "").lower():
        return ""
    return message(
        " If neither the storage nor the network is at its limit, raise "
        "state.backend.rocksdb.checkpoint.transfer.thread.num (4 from 1.13 on, before it 1): so "
        "many files are uploaded at once by a subtask."
    )
