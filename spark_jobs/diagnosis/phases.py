"""The duration of a checkpoint phase at the slowest subtask. Flink counts the alignment of an
unaligned checkpoint in its asynchronous part; it is subtracted.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ingest.messages import brief, join_messages, message, plural, share_text, subtask_text
from spark_jobs.diagnosis.barrier_holders import Holder, newest_holder
from spark_jobs.diagnosis.checkpoint_history import FLINK_TIMEOUT_MS, recently_completed
from spark_jobs.diagnosis.findings import (
    Confidence,
    Evidence,
    Finding,
    Limits,
    NotJudged,
    Related,
    Threshold,
)
from spark_jobs.diagnosis.jvm_load import JvmCause, jvm_cause, taskmanager_of
from spark_jobs.diagnosis.rule import job_finding, rule
from spark_jobs.diagnosis.samples import CheckpointSample, JobWindow
from spark_jobs.diagnosis.statistics import quantile

SYNC_TIMEOUT_SINCE = (2, 4)
"""FLINK-40200, https://github.com/apache/flink/pull/28786."""
PHASE_WORDS = {
    "start_delay": message("start delay"),
    "alignment": message("alignment"),
    "sync": message("synchronous part"),
    "async": message("asynchronous part"),
}
PHASES = tuple(PHASE_WORDS)
BARRIER_PHASES = frozenset({"start_delay", "alignment"})

HOLD_S = 900
NEWEST = 20
SLOW_AT_LEAST = 2
"""One slow checkpoint may be chance, unless the vertex that delayed its barrier is known."""


@dataclass(frozen=True)
class PhaseCost:
    """Figures of the newest completed checkpoints. ``slow``: those that the phase dominates, oldest
    first.
    """

    window: JobWindow
    rule_id: str
    phase: str
    limits: Limits
    p95_ms: float
    end_to_end_p95_ms: float
    slow: tuple[CheckpointSample, ...]
    checkpoints: int

    @cached_property
    def holder(self) -> Holder | None:
        return newest_holder(self.window, self.limits, self.slow)

    @property
    def slowest_task(self) -> str:
        return brief(self.slow[-1].slowest_vertex_name or message("the slowest task"))


def phase_ms(checkpoint: CheckpointSample, phase: str) -> float | None:
    """The duration at the slowest subtask, else the largest; None if unknown."""
    prefix = "" if checkpoint.slowest_end_to_end_ms is None else "slowest_"
    duration_ms: int | None = getattr(checkpoint, f"{prefix}{phase}_ms")
    if duration_ms is not None and phase == "async" and checkpoint.unaligned:
        return max(0, duration_ms - (getattr(checkpoint, f"{prefix}alignment_ms") or 0))
    return duration_ms


def end_to_end_ms(checkpoint: CheckpointSample) -> int | None:
    return (
        checkpoint.end_to_end_ms
        if checkpoint.end_to_end_ms is not None
        else checkpoint.slowest_end_to_end_ms
    )


def dominating_phase(checkpoint: CheckpointSample) -> tuple[str, float] | None:
    """The longest phase and its duration in ms."""
    durations = [(phase, ms) for phase in PHASES if (ms := phase_ms(checkpoint, phase)) is not None]
    return max(durations, key=lambda pair: pair[1]) if durations else None


def _cost_of(window: JobWindow, rule_id: str, phase: str, limits: Limits) -> PhaseCost | None:
    """None if there is nothing to report. Raises NotJudged if no durations of phases are known."""
    threshold_ms, share = limits[f"{rule_id}.{phase}_ms"], limits[f"{rule_id}.dominates"]
    checkpoints = recently_completed(window)[-NEWEST:]
    if not checkpoints:
        return None
    durations = [ms for sample in checkpoints if (ms := end_to_end_ms(sample)) is not None]
    if durations and max(durations) < threshold_ms:
        return None
    phases = [part_ms for sample in checkpoints if (part_ms := phase_ms(sample, phase)) is not None]
    if not phases or not durations:
        raise NotJudged(message("no durations of the phases of a completed checkpoint are known"))
    p95_ms, whole_ms = quantile(phases, 0.95), quantile(durations, 0.95)
    slow = tuple(sample for sample in checkpoints if _is_slow(sample, phase, threshold_ms, share))
    if p95_ms < threshold_ms or p95_ms < share * whole_ms or not slow:
        return None
    cost = PhaseCost(window, rule_id, phase, limits, p95_ms, whole_ms, slow, len(checkpoints))
    is_explained = phase in BARRIER_PHASES and cost.holder is not None
    return cost if is_explained or len(slow) >= SLOW_AT_LEAST else None


def phase_rule(
    phase: str, title: str, summary: str, *, fed_by: str, slow_ms: float, because: str
) -> Callable[[Callable[[PhaseCost], Finding]], None]:
    """Registers the rule ``checkpoint.<phase>``; the decorated function makes its finding."""
    rule_id = f"checkpoint.{phase}"
    thresholds = (
        Threshold(f"{rule_id}.{phase}_ms", slow_ms, "ms", 1, 86_400_000, because),
        Threshold(
            f"{rule_id}.dominates",
            0.5,
            "ratio",
            0.1,
            1,
            message(
                "A phase that takes half of the time or more is the one to work on; the others "
                "together cannot gain as much."
            ),
        ),
        Threshold(
            f"{rule_id}.critical_timeout_share",
            0.8,
            "ratio",
            0.1,
            1,
            message("At four fifths of the time-out, a little more load makes checkpoints expire."),
        ),
    )

    def register(finding: Callable[[PhaseCost], Finding]) -> None:
        @rule(rule_id, title, summary, fed_by=fed_by, hold_s=HOLD_S, thresholds=thresholds)
        def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
            if cost := _cost_of(window, rule_id, phase, limits):
                yield finding(cost)

    return register


def with_sync_timeout(window: JobWindow, advice: str) -> str:
    """Adds the time-out: without it, an endless synchronous part only loses checkpoints."""
    if window.version is None or window.version[:2] < SYNC_TIMEOUT_SINCE:
        return advice
    timeout = message(
        "Set execution.checkpointing.sync-phase-timeout: Flink then fails a task whose synchronous "
        "part lasts longer, and a deadlock there ends by a restart."
    )
    return join_messages((advice, timeout), " ")


def phase_finding(
    cost: PhaseCost,
    cause: str,
    next_step: str,
    more_evidence: Iterable[Evidence] = (),
    **more_data: Any,
) -> Finding:
    newest, window, phase = cost.slow[-1], cost.window, cost.phase
    # The title names figures of one checkpoint; percentiles may be of two.
    worst = max(cost.slow, key=lambda sample: phase_ms(sample, phase) or 0)
    timeout_ms = window.config.timeout_ms or FLINK_TIMEOUT_MS
    is_close = (
        cost.end_to_end_p95_ms >= cost.limits[f"{cost.rule_id}.critical_timeout_share"] * timeout_ms
    )
    holder = cost.holder
    confidence: Confidence = "medium" if len(cost.slow) >= 2 or holder else "low"
    # Without figures of the slowest subtask, there are only maxima over all subtasks.
    is_of_one_subtask = any(sample.slowest_end_to_end_ms is not None for sample in cost.slow)
    if len(cost.slow) >= 3 and (holder or is_of_one_subtask):
        confidence = "high"
    jvm = _jvm(cost)
    held_by = (
        message(", held by back-pressure from {brief:name}", brief=holder.brief)
        if holder and phase in BARRIER_PHASES
        else ""
    )
    return job_finding(
        window,
        cost.rule_id,
        "critical" if is_close else "warning",
        confidence,
        title=message(
            "Checkpoints spend up to {phase_ms:duration} of {end_to_end_ms:duration} in the "
            "{words:message}{held_by:message}",
            phase_ms=phase_ms(worst, phase) or 0,
            end_to_end_ms=end_to_end_ms(worst) or 0,
            words=PHASE_WORDS[phase],
            held_by=held_by,
        ),
        cause=join_messages((cause, jvm.sentence), " "),
        next_step=jvm.next_step + next_step,
        seen_at_ms=newest.ended_ms,
        evidence=(*_evidence(cost, holder), *more_evidence, *jvm.evidence),
        related=(
            Related("vertex", holder.name, message("origin of the back-pressure"), holder.path),
        )
        if held_by and holder
        else (),
        data={
            "phase": phase,
            "checkpoints": [sample.checkpoint_id for sample in cost.slow],
            "slowest": [_slowest_as_data(sample, phase) for sample in cost.slow[-5:]],
            "held_by": holder.as_data() if holder and held_by else None,
            **more_data,
        },
    )


def _jvm(cost: PhaseCost) -> JvmCause:
    newest, window = cost.slow[-1], cost.window
    taskmanager = taskmanager_of(
        window.vertex_windows, newest.slowest_vertex_id, newest.slowest_subtask
    )
    if taskmanager is None or newest.ended_ms < window.window_start_ms:
        return JvmCause()
    # A snapshot may wait for other threads, so only collections are reported.
    return jvm_cause(window, {taskmanager: 0.0})


def _evidence(cost: PhaseCost, holder: Holder | None) -> Iterator[Evidence]:
    rule_id, phase, limits, newest = cost.rule_id, cost.phase, cost.limits, cost.slow[-1]
    key = f"{rule_id}.{phase}_ms"
    population = message(
        "95th percentile of {checkpoints:message}",
        checkpoints=plural(
            cost.checkpoints,
            "{count:count} completed checkpoint",
            "{count:count} completed checkpoints",
        ),
    )
    yield limits.evidence(PHASE_WORDS[phase], cost.p95_ms, key, population)
    yield Evidence(
        message("end to end"),
        cost.end_to_end_p95_ms,
        "ms",
        cost.window.config.timeout_ms,
        "<",
        note=message("{over:message}; time-out beside it", over=population),
    )
    share = min(1.0, cost.p95_ms / max(cost.end_to_end_p95_ms, 1))
    share_key = f"{rule_id}.dominates"
    yield limits.evidence(
        message("share of the {words:message}", words=PHASE_WORDS[phase]),
        share,
        share_key,
        share_text(share),
    )
    yield Evidence(message("slow checkpoints"), len(cost.slow), "count")
    if newest.slowest_vertex_id:
        task = subtask_text(
            newest.slowest_vertex_name or newest.slowest_vertex_id, newest.slowest_subtask
        )
        host = (
            message(", on {slowest_host:name}", slowest_host=newest.slowest_host)
            if newest.slowest_host
            else ""
        )
        yield Evidence(
            message("slowest subtask"),
            task,
            note=message(
                "checkpoint {checkpoint_id:number}{host:message}",
                checkpoint_id=newest.checkpoint_id,
                host=host,
            ),
        )
    if holder and phase in BARRIER_PHASES:
        yield holder.evidence


def _slowest_as_data(checkpoint: CheckpointSample, phase: str) -> dict[str, object]:
    return {
        "checkpoint_id": checkpoint.checkpoint_id,
        "vertex_id": checkpoint.slowest_vertex_id,
        "vertex_name": checkpoint.slowest_vertex_name,
        "subtask": checkpoint.slowest_subtask,
        "host": checkpoint.slowest_host,
        "phase_ms": phase_ms(checkpoint, phase),
        "end_to_end_ms": end_to_end_ms(checkpoint),
    }


def _is_slow(checkpoint: CheckpointSample, phase: str, threshold_ms: float, share: float) -> bool:
    part_ms, whole_ms = phase_ms(checkpoint, phase), end_to_end_ms(checkpoint)
    if part_ms is None or whole_ms is None or part_ms < threshold_ms or part_ms < share * whole_ms:
        return False
    longest = dominating_phase(checkpoint)
    return longest is not None and longest[0] == phase
