from collections.abc import Iterator
from statistics import median_low
from typing import Any, NamedTuple

from ingest.messages import join_messages, message, plural, subtask_text
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, NotJudged, Threshold
from spark_jobs.diagnosis.rule import Words, job_finding, rule, vertex_finding
from spark_jobs.diagnosis.samples import JobStart, JobWindow

RULE = "start.slow_phase"
HELD_UP, RATIO = f"{RULE}.held_up_ms", f"{RULE}.over_earlier"
LONGER_MS = 10_000
"""Least difference to the median: a short phase is still short many times over."""

LOOK_BACK_MS = 600_000
BEGINS = ("deploy", "restart", "rescale")
_PHASES = {
    "graph": message("building the execution graph and reading the snapshot that it restores"),
    "cancel": message("cancelling the tasks of the previous attempt"),
    "slots": message("waiting for slots"),
    "deploy": message("deploying the tasks"),
    "restore": message("restoring state and opening operators"),
}
"""The phases that are compared. The wait before a restart depends on its restart strategy."""
_NEXT_STEPS = {
    "graph": message(
        "Look at the size of the _metadata that it restores and at the storage that it is read "
        "from."
    ),
    "cancel": message(
        "Look in the log for “did not react to cancelling signal”: code that blocks keeps its "
        "task, and its slot."
    ),
    "slots": message(
        "Compare the slots that the job needs with those that are free; the JobManager's log shows "
        "TaskManagers that came late."
    ),
    "deploy": message(
        "Look at what TaskManagers download from the JobManager (size of the jars) and at the "
        "processors of the host that is named."
    ),
    "restore": message(
        "Compare state, storage throughput and what open() and initializeState() do there with "
        "other subtasks."
    ),
}


class SlowPhase(NamedTuple):
    phase: str
    took_ms: int
    usual_ms: int


@rule(
    RULE,
    message("Slow start"),
    message(
        "A few tasks delay a start of the job, or one of its phases takes much longer than at "
        "earlier starts."
    ),
    fed_by="incidents/1.20.5/slow-restore",
    needs=("starts", "annotations"),
    thresholds=(
        Threshold(
            HELD_UP,
            10_000,
            "ms",
            1_000,
            3_600_000,
            message(
                "All other tasks wait for this long; a shorter time is noise on a busy machine."
            ),
        ),
        Threshold(
            RATIO,
            3.0,
            "times",
            1.5,
            1000.0,
            message("Three times the median of earlier starts is beyond their usual variation."),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    since_ms = window.at_ms - LOOK_BACK_MS
    if not window.starts or window.starts[-1].running_at_ms < since_ms:
        if any(
            annotation.kind in BEGINS and annotation.at_ms >= since_ms
            for annotation in window.annotations
        ):
            raise NotJudged(message("when its tasks were scheduled, deployed and ran"))
        return
    start, phases = window.starts[-1], _slow_phases(window, limits)
    if start.held_up_ms >= limits[HELD_UP] or phases:
        yield _finding(window, limits, start, phases)


def _slow_phases(window: JobWindow, limits: Limits) -> list[SlowPhase]:
    *earlier, start = window.starts
    phases = []
    for phase in _PHASES:
        earlier_ms = [
            value for start in earlier if (value := _duration_ms(start, phase)) is not None
        ]
        took_ms = _duration_ms(start, phase)
        if took_ms is not None and earlier_ms:
            usual_ms = median_low(earlier_ms)
            if took_ms >= limits[RATIO] * usual_ms and took_ms - usual_ms >= LONGER_MS:
                phases.append(SlowPhase(phase, took_ms, usual_ms))
    return sorted(phases, key=lambda phase: phase.usual_ms - phase.took_ms)


def _duration_ms(start: JobStart, phase: str) -> int | None:
    return getattr(start, f"{phase}_ms", None)


def _finding(
    window: JobWindow, limits: Limits, start: JobStart, phases: list[SlowPhase]
) -> Finding:
    is_held_up = start.held_up_ms >= limits[HELD_UP]
    slowest = (
        next((vertex for vertex in start.detail.get("slowest") or () if vertex["straggles"]), None)
        if is_held_up
        else None
    )
    longest = phases[0].phase if phases else "restore"
    phase = _phase_of(slowest) if slowest else longest
    words: Words = {
        "title": _title(start, slowest, phases),
        "cause": join_messages([*_held_up(start, slowest), *_compare(phases)], " "),
        "next_step": _NEXT_STEPS[phase],
        "evidence": _evidence(limits, start, phases, is_held_up),
        "seen_at_ms": start.running_at_ms,
        "data": {"hosts": [slowest["host"]] if slowest and slowest["host"] else [], "phase": phase},
    }
    if slowest:
        return vertex_finding(window, slowest["vertex_id"], RULE, "warning", "high", **words)
    return job_finding(
        window, RULE, "warning", "high" if len(window.starts) > 2 else "medium", **words
    )


def _title(start: JobStart, slowest: Any, phases: list[SlowPhase]) -> str:
    if slowest:
        return message(
            "{slowest:name} delayed the {kind:name} by {held_up_ms:duration}",
            slowest=subtask_text(slowest["name"], slowest["subtask"]),
            kind=start.kind,
            held_up_ms=start.held_up_ms,
        )
    phase, took_ms, usual_ms = phases[0]
    return message(
        "{doing:opening} took {took_ms:duration}, otherwise {usual_ms:duration}",
        doing=_PHASES[phase],
        took_ms=took_ms,
        usual_ms=usual_ms,
    )


def _held_up(start: JobStart, slowest: Any) -> Iterator[str]:
    if slowest:
        place = slowest["host"] or slowest["taskmanager_id"]
        where = message(" on {place:name}", place=str(place)) if place else ""
        yield (
            message(
                "{slowest:name}{where:message} needed {slowest2:duration} from its deployment "
                "until it ran, most of it {doing:message}; {stragglers:message} of "
                "{tasks:number} took three times as long as the median of their vertex, and "
                "the others waited {held_up_ms:duration}.",
                slowest=subtask_text(slowest["name"], slowest["subtask"]),
                where=where,
                slowest2=slowest["own_ms"],
                doing=_PHASES[_phase_of(slowest)],
                stragglers=plural(start.stragglers, "{count:count} task", "{count:count} tasks"),
                tasks=start.tasks,
                held_up_ms=start.held_up_ms,
            )
        )


def _compare(phases: list[SlowPhase]) -> Iterator[str]:
    for phase, took_ms, usual_ms in phases:
        yield message(
            "Time for {doing:message}: {took_ms:duration}; at earlier starts of this job the "
            "median is {usual_ms:duration}.",
            doing=_PHASES[phase],
            took_ms=took_ms,
            usual_ms=usual_ms,
        )


def _phase_of(task: Any) -> str:
    return "deploy" if (task["restore_ms"] or 0) < task["deploy_ms"] else "restore"


def _evidence(
    limits: Limits, start: JobStart, phases: list[SlowPhase], is_held_up: bool
) -> Iterator[Evidence]:
    if is_held_up:
        yield limits.evidence(
            message("time that all other tasks waited"), start.held_up_ms, HELD_UP
        )
    for phase, took_ms, usual_ms in phases:
        # A median of 0 ms is less than the clock can tell.
        yield limits.evidence(
            message("{phase:name} phase over the median of earlier starts", phase=phase),
            took_ms / max(usual_ms, 1),
            RATIO,
        )
