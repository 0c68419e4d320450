from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ingest.messages import brief, join_messages, list_text, message, plural
from spark_jobs.diagnosis.barrier_holders import Holder, newest_holder, pressure_is_known
from spark_jobs.diagnosis.checkpoint_history import FLINK_TIMEOUT_MS, name_of
from spark_jobs.diagnosis.findings import Confidence, Evidence, Finding, Limits, Related
from spark_jobs.diagnosis.losses import (
    count_text,
    find_losses,
    loss_finding,
    loss_rule,
    missing_evidence,
    vertex_in,
)
from spark_jobs.diagnosis.phases import BARRIER_PHASES, PHASE_WORDS, PHASES, with_sync_timeout
from spark_jobs.diagnosis.samples import CheckpointSample, JobWindow
from spark_jobs.diagnosis.topology import Topology

HOSTS_SHOWN = 50
WRITE_EVENTS = ("checkpoint_sync_done", "checkpoint_async_started")
"""Only DEBUG logs of TaskManagers have these events."""
MOST_HUNG_SUBTASKS = 4
"""If more subtasks never acknowledge, no single one hangs."""
HUNG_CHECKPOINTS = 2
"""In a single checkpoint, a missing acknowledgement may only have been late."""

Missing = Mapping[str, Any]
"""The subtasks of a vertex that had not acknowledged."""
Subtask = tuple[str, int]
"""Name of the vertex, and index of the subtask."""


@dataclass(frozen=True)
class Progress:
    """How far an expired checkpoint came. ``late_ms``: of the last late acknowledgement.
    ``is_complete``: all subtasks acknowledged in the end. ``hung``: subtasks that never did.
    """

    checkpoint: CheckpointSample
    acknowledged_ratio: float | None
    late_ms: int | None = None
    is_complete: bool = False
    hung: tuple[Subtask, ...] = ()

    @property
    def verdict(self) -> Literal["short", "hung", "unknown"]:
        if self.hung:
            return "hung"
        return "short" if self.is_complete else "unknown"


def progress_of(expired: Sequence[CheckpointSample]) -> Progress:
    """The newest of ``expired`` (oldest first, at least one) that all subtasks acknowledged in the
    end, else the newest, whose late acknowledgements may still arrive.
    """
    all_progress = [_progress(sample) for sample in expired]
    complete = (progress for progress in reversed(all_progress) if progress.is_complete)
    newest = next(complete, all_progress[-1])
    return newest if newest.is_complete else replace(newest, hung=_hung(expired))


def _progress(expired: CheckpointSample) -> Progress:
    ratio = (
        expired.acknowledged / expired.subtasks
        if expired.subtasks and expired.acknowledged is not None
        else None
    )
    late_ms = [int(late["late_ms"]) for late in expired.late_messages if late.get("late_ms")]
    missing = (expired.subtasks or 0) - (expired.acknowledged or 0)
    is_complete = bool(late_ms) and 0 < missing <= (expired.late_message_count or len(late_ms))
    return Progress(expired, ratio, max(late_ms, default=None), is_complete)


def _hung(expired: Sequence[CheckpointSample]) -> tuple[Subtask, ...]:
    if len(expired) < HUNG_CHECKPOINTS:
        return ()
    hung = set.intersection(
        *(_never_acknowledged(sample) for sample in expired[-HUNG_CHECKPOINTS:])
    )
    return tuple(sorted(hung)) if len(hung) <= MOST_HUNG_SUBTASKS else ()


def _never_acknowledged(expired: CheckpointSample) -> set[Subtask]:
    late_subtasks = {
        (sample.get("vertex_name"), sample.get("subtask")) for sample in expired.late_messages
    }
    return {
        (vertex_in(vertex), index)
        for vertex in expired.not_acknowledged
        for index in vertex.get("subtasks") or ()
        # REST has only the number of subtasks that reported late.
        if not vertex.get("late") and (vertex.get("vertex_name"), index) not in late_subtasks
    }


@loss_rule(
    "expired",
    message("Checkpoints expired"),
    message("Checkpoints did not complete within their time-out."),
    fed_by="windows/1.20.5-F",
    reads=WRITE_EVENTS,
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    expiries = find_losses(window, "expired", limits)
    if expiries is None:
        return
    newest = expiries.newest
    late_checkpoint = next(
        (sample for sample in reversed(expiries.lost) if _late_phase(sample)), None
    )
    late_phase = _late_phase(late_checkpoint) if late_checkpoint else None
    # If tasks report that they did not wait for a barrier, no vertex held it.
    is_held = late_phase is None or late_phase in BARRIER_PHASES
    holder = newest_holder(window, limits, expiries.lost) if is_held else None
    confidence: Confidence = "medium" if holder or newest.not_acknowledged else "low"
    if holder and holder.is_busy_known:
        confidence = "high"
    missing = sorted(newest.not_acknowledged, key=lambda part: (-_count(part), vertex_in(part)))
    progress = progress_of(expiries.lost)
    phase = late_phase or _phase(window, newest, holder)
    timeout_ms = window.config.timeout_ms
    held_by = (
        message(", barrier held by back-pressure from {brief:name}", brief=holder.brief)
        if holder
        else ""
    )
    yield loss_finding(
        expiries,
        confidence=confidence,
        title=message(
            "{counted:text} expired{words:message}{held_by:message}",
            counted=count_text(expiries.lost),
            words=message(" after {timeout_ms:duration}", timeout_ms=timeout_ms)
            if timeout_ms
            else "",
            held_by=held_by,
        ),
        cause=join_messages(
            (
                _progress_text(progress),
                _missing_text(newest, missing),
                _cause(window, newest, holder, phase, late_checkpoint),
            ),
            " ",
        ),
        next_step=_next_step(window, holder, phase, is_hung=bool(progress.hung)),
        counted_as=message("expired checkpoints"),
        evidence=(*_evidence(window, missing, holder), *_progress_evidence(progress)),
        related=_related(holder, missing),
        data={
            "not_acknowledged": [dict(part) for part in newest.not_acknowledged],
            "phase": phase,
            "held_by": holder.as_data() if holder else None,
            "progress": progress.verdict,
        },
    )


def _progress_text(progress: Progress) -> str:
    if progress.verdict == "short" and progress.late_ms is not None:
        return message(
            "Of {name:message}, {acknowledged:share} of the subtasks had acknowledged in time, and "
            "all the others did within {short:duration} more.",
            name=name_of(progress.checkpoint),
            acknowledged=progress.acknowledged_ratio or 0.0,
            short=progress.late_ms,
        )
    if progress.verdict == "hung":
        return message(
            "It hung at {where:name}, as the one before did: nothing came from there, not even "
            "late.",
            where=list_text([f"{brief(name)} [{index}]" for name, index in progress.hung]),
        )
    return ""


def _progress_evidence(progress: Progress) -> Iterator[Evidence]:
    if progress.acknowledged_ratio is not None:
        yield Evidence(
            message("share of subtasks that had acknowledged"),
            progress.acknowledged_ratio,
            "ratio",
            note=name_of(progress.checkpoint),
        )
    if progress.late_ms is not None:
        yield Evidence(
            message("last acknowledgement after the time-out"),
            progress.late_ms,
            "ms",
            note=message("with it all were there") if progress.is_complete else "",
        )


def _count(vertex: Missing) -> int:
    return int(vertex.get("count") or 0)


def _phase(window: JobWindow, expired: CheckpointSample, holder: Holder | None) -> str | None:
    missing = sum(map(_count, expired.not_acknowledged))
    if missing > 0 and 2 * _count_writing(window, expired) > missing:
        return "async"
    if not holder:
        return None
    possible_ids = {
        holder.vertex_id,
        *Topology(window.edges).all_downstream(holder.vertex_id),
        *holder.held,
    }
    missing_ids = [vertex.get("vertex_id") for vertex in expired.not_acknowledged]
    # A task that waits for the barrier is the holder, blocked by the holder, or downstream.
    return (
        "start_delay"
        if not any(missing_ids) or any(vertex_id in possible_ids for vertex_id in missing_ids)
        else None
    )


def _late_phase(expired: CheckpointSample) -> str | None:
    late_subtasks = Counter[str]()
    for vertex in expired.not_acknowledged:
        if (phase := vertex.get("late_phase")) in PHASES:
            late_subtasks[phase] += vertex.get("late") or 0
    return max(PHASES, key=lambda phase: late_subtasks[phase]) if late_subtasks.total() else None


def _count_writing(window: JobWindow, expired: CheckpointSample) -> int:
    missing = {
        (vertex.get("vertex_id"), index)
        for vertex in expired.not_acknowledged
        for index in vertex.get("subtasks") or ()
    }
    writing = {
        (event.vertex_id, event.subtask)
        for event in window.events
        if event.checkpoint_id == expired.checkpoint_id
        and expired.trigger_time_ms <= event.at_ms <= expired.ended_ms
    }
    return len(missing & writing)


def _cause(
    window: JobWindow,
    expired: CheckpointSample,
    holder: Holder | None,
    phase: str | None,
    late_checkpoint: CheckpointSample | None,
) -> str:
    if late_checkpoint and phase and not holder:
        count = sum(vertex.get("late") or 0 for vertex in late_checkpoint.not_acknowledged)
        return message(
            "{late:message} after the time-out of {name_of:text}: most of the time of the slowest "
            "went into this part: {phase:name}.",
            late=plural(count, "{count:count} subtask reported", "{count:count} subtasks reported"),
            name_of=name_of(late_checkpoint),
            phase=PHASE_WORDS[phase],
        )
    if phase == "async":
        return message(
            "They had taken their snapshots and were still writing them to the checkpoint storage."
        )
    if holder:
        unaligned = message(" although the checkpoint was unaligned") if expired.unaligned else ""
        return message(
            "The barrier was held{unaligned:message}: it is queued behind records, and "
            "{brief:name} processes them too slowly.",
            unaligned=unaligned,
            brief=holder.brief,
        )
    if pressure_is_known(window):
        return message(
            "No back-pressure was observed during it: a task whose thread is stuck, a slow upload "
            "or a lost message is more likely."
        )
    return message(
        "Whether back-pressure held the barrier is not known: no pressure was measured at that "
        "time."
    )


def _missing_text(expired: CheckpointSample, missing: list[Missing]) -> str:
    if not expired.subtasks or expired.acknowledged is None:
        return ""
    missing_count = expired.subtasks - expired.acknowledged
    names = list_text(
        f"{brief(name)} ({_count(vertex)})" for vertex in missing if (name := vertex_in(vertex))
    )
    return message(
        "{lacking:number} of {subtasks:number} subtasks had not acknowledged{by_vertex:message}.",
        lacking=missing_count,
        subtasks=expired.subtasks,
        by_vertex=message(": {names:name}", names=names) if names else "",
    )


def _next_step(
    window: JobWindow, holder: Holder | None, phase: str | None, *, is_hung: bool
) -> str:
    if holder and (phase is None or phase in BARRIER_PHASES):
        pass_barriers = message(
            "Find out why {brief:name} is slow (see its pressure finding); more "
            "parallelism or less work there lets the barrier pass.",
            brief=holder.brief,
        )
        if window.config.unaligned:
            return pass_barriers
        unaligned = message("Until then, unaligned checkpoints let barriers overtake records.")
        return join_messages((pass_barriers, unaligned), " ")
    if phase == "sync":
        return with_sync_timeout(
            window,
            message(
                "Look at the local disk of the hosts named, and at what snapshotState() does: the "
                "synchronous part stops the task."
            ),
        )
    if phase == "async":
        return message(
            "Check the checkpoint storage as seen from the hosts named: throughput, throttling, "
            "many small files."
        )
    advice = message(
        "Look at the subtasks named: thread dump of their TaskManager, its log at that time, "
        "and its connection to the checkpoint storage."
    )
    return with_sync_timeout(window, advice) if is_hung else advice


def _evidence(
    window: JobWindow, missing: list[Missing], holder: Holder | None
) -> Iterator[Evidence]:
    yield Evidence(
        message("checkpoint time-out"),
        window.config.timeout_ms or FLINK_TIMEOUT_MS,
        "ms",
        note=""
        if window.config.timeout_ms
        else message("Flink's default; the setting was not seen"),
    )
    for vertex in missing[:10]:
        indexes = ", ".join(str(index) for index in vertex.get("subtasks") or ())
        hosts = list_text(vertex.get("hosts") or ())
        words = (
            message("subtasks {indexes:name}", indexes=indexes) if indexes else "",
            message("on {hosts:name}", hosts=hosts) if hosts else "",
        )
        yield missing_evidence(vertex, join_messages(words, "; "))
    if holder:
        yield holder.evidence


def _related(holder: Holder | None, missing: list[Missing]) -> Iterator[Related]:
    if holder:
        yield Related(
            "vertex",
            holder.name,
            message("origin of the back-pressure that held the barrier"),
            holder.path,
        )
    hosts = sorted({host for vertex in missing for host in vertex.get("hosts") or ()})
    for host in hosts[:HOSTS_SHOWN]:
        yield Related("host", host, message("runs a subtask that had not acknowledged"))
