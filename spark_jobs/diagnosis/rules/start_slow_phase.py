"""A slow start: a few tasks hold all others up, or a phase takes much longer than at earlier starts of the job."""

from collections.abc import Iterator
from statistics import median_low
from typing import Any

from spark_jobs.diagnosis.findings import Evidence, Finding, NotJudged
from spark_jobs.diagnosis.registry import rule
from spark_jobs.diagnosis.samples import JobStart, JobWindow
from spark_jobs.diagnosis.subjects import job_finding, vertex_finding
from spark_jobs.diagnosis.thresholds import Limits, Threshold
from spark_jobs.diagnosis.wording import count_text, ms_text, subtask_text

RULE = "start.slow_phase"
HELD_UP, RATIO, LONGER = f"{RULE}.held_up_ms", f"{RULE}.over_earlier", f"{RULE}.longer_ms"

LOOK_BACK_MS = 600_000
BEGINS = ("deploy", "restart", "rescale")
"""Annotations that a start follows."""
_DOING = {
    "graph": "building the execution graph and reading the snapshot that it restores",
    "cancel": "cancelling the tasks of the attempt before",
    "slots": "waiting for slots",
    "deploy": "deploying the tasks",
    "restore": "restoring state and opening operators",
}
"""Those that are compared; how long a restart waits is mostly what its restart strategy says."""
_NEXT_STEPS = {
    "graph": "Look at the size of the _metadata that it restores and at the storage that it is read from.",
    "cancel": "Look in the log for “did not react to cancelling signal”: code that blocks keeps its task, and its slot.",
    "slots": "Compare the slots that the job needs with those that are free; the JobManager's log shows TaskManagers that came late.",
    "deploy": "Look at what TaskManagers download from the JobManager (size of the jars) and at the processors of the host that is named.",
    "restore": "Compare state, storage throughput and what open() and initializeState() do there with other subtasks.",
}


@rule(
    RULE,
    "Slow start",
    "A few tasks hold a start of the job up, or a phase of it takes much longer than at earlier starts.",
    needs=("starts", "annotations"),
    thresholds=(
        Threshold(HELD_UP, 10_000, "ms", 1_000, 3_600_000, "All other tasks wait so long; less is noise of a busy machine."),
        Threshold(RATIO, 3.0, "times", 1.5, 1000.0, "Three times the median of earlier starts is not their usual spread."),
        Threshold(LONGER, 10_000, "ms", 1_000, 3_600_000, "Of short phases, many times as long is still short."),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    since_ms = window.at_ms - LOOK_BACK_MS
    if not window.starts or window.starts[-1].running_at_ms < since_ms:
        if any(one.kind in BEGINS and one.at_ms >= since_ms for one in window.annotations):
            raise NotJudged("when its tasks were scheduled, deployed and ran")
        return
    start, longer = window.starts[-1], _longer(window, limits)
    if start.held_up_ms >= limits[HELD_UP] or longer:
        yield _finding(window, limits, start, longer)


def _longer(window: JobWindow, limits: Limits) -> list[tuple[str, int, int]]:
    """Phases of the newest start that took much longer, how long, and the median of earlier ones; most lost first."""
    *earlier, start = window.starts
    found = []
    for phase in _DOING:
        before = [value for one in earlier if (value := _duration_ms(one, phase)) is not None]
        took_ms = _duration_ms(start, phase)
        if took_ms is not None and before:
            usual_ms = median_low(before)
            if took_ms >= limits[RATIO] * usual_ms and took_ms - usual_ms >= limits[LONGER]:
                found.append((phase, took_ms, usual_ms))
    return sorted(found, key=lambda one: one[2] - one[1])


def _duration_ms(start: JobStart, phase: str) -> int | None:
    return getattr(start, f"{phase}_ms", None)


def _finding(window: JobWindow, limits: Limits, start: JobStart, longer: list[tuple[str, int, int]]) -> Finding:
    holds = start.held_up_ms >= limits[HELD_UP]
    slowest = next((one for one in start.detail.get("slowest") or () if one["straggles"]), None) if holds else None
    phase = _phase_of(slowest) if slowest else longer[0][0] if longer else "restore"
    words: Any = {
        "title": _title(start, slowest, longer),
        "cause": " ".join([*_held_up(start, slowest), *_compared(longer)]),
        "next_step": _NEXT_STEPS[phase],
        "evidence": _evidence(limits, start, slowest, longer, holds),
        "seen_at_ms": start.running_at_ms,
        "data": {
            "hosts": [slowest["host"]] if slowest and slowest["host"] else [],
            "vertex_ids": [slowest["vertex_id"]] if slowest else [],
            "phase": phase,
        },
    }
    if slowest:
        return vertex_finding(window, slowest["vertex_id"], RULE, "warning", "high", **words)
    return job_finding(window, RULE, "warning", "high" if len(window.starts) > 2 else "medium", **words)


def _title(start: JobStart, slowest: Any, longer: list[tuple[str, int, int]]) -> str:
    if slowest:
        return f"{subtask_text(slowest['name'], slowest['subtask'])} held the {start.kind} up for {ms_text(start.held_up_ms)}"
    phase, took_ms, usual_ms = longer[0]
    return f"{_DOING[phase][0].upper()}{_DOING[phase][1:]} took {ms_text(took_ms)}, otherwise {ms_text(usual_ms)}"


def _held_up(start: JobStart, slowest: Any) -> Iterator[str]:
    if slowest:
        place = slowest["host"] or slowest["taskmanager_id"]
        where = f" on {place}" if place else ""
        yield (
            f"{subtask_text(slowest['name'], slowest['subtask'])}{where} needed {ms_text(slowest['own_ms'])} from its deployment until it "
            f"ran, most of it {_DOING[_phase_of(slowest)]}; {count_text(start.stragglers, 'task')} of {start.tasks} took three times as "
            f"long as the median of their vertex, and the others waited {ms_text(start.held_up_ms)}."
        )


def _compared(longer: list[tuple[str, int, int]]) -> Iterator[str]:
    for phase, took_ms, usual_ms in longer:
        yield f"Time for {_DOING[phase]}: {ms_text(took_ms)}; at earlier starts of this job the median is {ms_text(usual_ms)}."


def _phase_of(task: Any) -> str:
    return "deploy" if (task["restore_ms"] or 0) < task["deploy_ms"] else "restore"


def _evidence(limits: Limits, start: JobStart, slowest: Any, longer: list[tuple[str, int, int]], holds: bool) -> Iterator[Evidence]:
    at_ms = start.running_at_ms
    if holds:
        yield limits.compared("time that all other tasks waited", start.held_up_ms, "ms", ">=", HELD_UP, at_ms)
    for phase, took_ms, usual_ms in longer:
        # A median of 0 ms is less than the clock can tell.
        yield limits.compared(f"{phase} phase over the median of earlier starts", took_ms / max(usual_ms, 1), "times", ">=", RATIO, at_ms)
        yield limits.compared(f"{phase} phase longer than that median by", took_ms - usual_ms, "ms", ">=", LONGER, at_ms)
    if slowest:
        note = subtask_text(slowest["name"], slowest["subtask"])
        yield Evidence("deploy and restore of the slowest task", slowest["own_ms"], "ms", at_ms=at_ms, note=note)
        yield Evidence("tasks that straggled", start.stragglers, "count", at_ms=at_ms)
    if start.total_ms is not None:
        yield Evidence("whole start", start.total_ms, "ms", at_ms=at_ms, note=start.kind)
