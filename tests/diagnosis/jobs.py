"""Job windows made by hand: times in seconds after ``START_MS``, everything else unknown unless it
is said.
"""

from itertools import pairwise
from typing import Any

from ingest.flink_rest.versions import release
from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.findings import Finding, Limits
from spark_jobs.diagnosis.samples import (
    Annotation,
    CheckpointConfig,
    CheckpointSample,
    Edge,
    JobFailure,
    JobWindow,
    LogEvent,
    Vertex,
    VertexPast,
    VertexWindow,
)

START_MS = 1_790_000_000_000 - 1_790_000_000_000 % 60_000
MIB = 1 << 20
LIMITS = registry.limits()
MINUTELY = CheckpointConfig(
    mode="exactly_once",
    interval_ms=60_000,
    timeout_ms=600_000,
    min_pause_ms=0,
    externalized=True,
    retained_on_cancellation=True,
    tolerable_failed=3,
)


def ms(seconds: float) -> int:
    return START_MS + round(seconds * 1000)


def checkpoint(
    id: int, at: float, outcome: str = "completed", took: float = 1, **values: Any
) -> CheckpointSample:
    """Triggered at ``at``, it ended ``took`` seconds later."""
    ended = None if outcome == "in_progress" else ms(at + took)
    values.setdefault("end_to_end_ms", round(took * 1000) if outcome == "completed" else None)
    return CheckpointSample(id, ms(at), outcome, end_time_ms=ended, **values)


def savepoint(
    id: int, at: float, outcome: str = "completed", took: float = 1, **values: Any
) -> CheckpointSample:
    return checkpoint(id, at, outcome, took, is_savepoint=True, **values)


def minutely(
    count: int, first: int = 1, at: float = 0, **values: Any
) -> tuple[CheckpointSample, ...]:
    """Completed checkpoints, one a minute."""
    return tuple(checkpoint(first + index, at + 60 * index, **values) for index in range(count))


def window(*checkpoints: CheckpointSample, at: float | None = None, **values: Any) -> JobWindow:
    """Judged at ``at``, by default two seconds after the newest checkpoint ended."""
    if at is None:
        at = max(((one.ended_ms - START_MS) / 1000 for one in checkpoints), default=0) + 2
    values.setdefault("config", MINUTELY)
    values.setdefault("job_name", "orders")
    values.setdefault("state", "RUNNING")
    values.setdefault("flink_version", "1.20.5")
    values.setdefault("version", release(values["flink_version"]))
    return JobWindow("prod", "a" * 32, ms(at), ms(at) - 60_000, checkpoints=checkpoints, **values)


def restart(at: float) -> Annotation:
    return Annotation(ms(at), "restart")


def failure(at: float, trace: str, **values: Any) -> JobFailure:
    return JobFailure(ms(at), trace.split(":", 1)[0], stacktrace=trace, is_root=True, **values)


def event(at: float, kind: str, **values: Any) -> LogEvent:
    return LogEvent(ms(at), kind, **values)


def chain(*names: str) -> dict[str, Any]:
    """Plan of vertices one after the other, by all-to-all edges; ids are the names."""
    return {
        "vertices": tuple(Vertex(name, name, 2) for name in names),
        "edges": tuple(Edge(above, below, "HASH") for above, below in pairwise(names)),
    }


def pressed(**states: str) -> tuple[VertexWindow, ...]:
    """A window of two subtasks each: ``blocked``, ``busy`` or ``idle`` for nearly all of the
    time.
    """
    figures = {"blocked": (0.04, 0.95, 0.01), "busy": (0.98, 0.0, 0.02), "idle": (0.05, 0.0, 0.95)}
    return tuple(
        VertexWindow(
            name,
            parallelism=2,
            samples=12,
            busy_ratio=(figures[state][0],) * 2,
            backpressured_ratio=(figures[state][1],) * 2,
            idle_ratio=(figures[state][2],) * 2,
            in_pool_usage=(0.9 if state == "busy" else 0.7 if state == "blocked" else 0.0,) * 2,
            out_pool_usage=(1.0 if state == "blocked" else 0.17,) * 2,
        )
        for name, state in states.items()
    )


def past(at: float, **states: str) -> tuple[VertexPast, ...]:
    """An earlier window that began at ``at``."""
    return tuple(
        VertexPast(
            name,
            ms(at),
            backpressured_share=1.0 if state == "blocked" else 0.0,
            busy_share=1.0 if state == "busy" else 0.0,
        )
        for name, state in states.items()
    )


def found(judged: JobWindow, rule: str, **overrides: float) -> tuple[Finding, ...]:
    """What one rule says; ``overrides`` of its thresholds by their last name.

    A rule that could not judge fails the test.
    """
    said = registry.diagnose(judged, _limits(rule, overrides), only=[rule])
    assert not said.unknowns, said.unknowns
    return said.findings


def _limits(rule: str, overrides: dict[str, float]) -> Limits:
    values = {f"{rule}.{name}": value for name, value in overrides.items()}
    return registry.limits(values) if values else LIMITS


def unknown(judged: JobWindow, rule: str, **overrides: float) -> str:
    """What the rule lacked; it must have said nothing else."""
    said = registry.diagnose(judged, _limits(rule, overrides), only=[rule])
    assert not said.findings
    [lacking] = said.unknowns
    return lacking.missing


def evidence(finding: Finding, name: str) -> Any:
    [value] = [one.value for one in finding.evidence if one.name == name]
    return value
