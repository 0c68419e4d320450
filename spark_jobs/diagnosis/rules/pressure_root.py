"""The origin of back-pressure: the vertex that works without pause and does not wait itself, while those before it wait for it."""

from collections.abc import Iterator, Sequence

from spark_jobs.diagnosis.findings import Confidence, Evidence, Finding, NotJudged, Severity
from spark_jobs.diagnosis.jvm_load import gc_threshold, jvm_cause
from spark_jobs.diagnosis.origins import BACKPRESSURED, NO_METRICS, Held, Pressure, Way, pressure_of
from spark_jobs.diagnosis.pressure import Subtasks, typical, value
from spark_jobs.diagnosis.pressure_walk import Origin
from spark_jobs.diagnosis.pressure_words import MOST_NAMED, brief_name, brief_names, held_back, hot_data, subtasks_text, waiting_evidence
from spark_jobs.diagnosis.registry import rule
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.subjects import vertex_finding
from spark_jobs.diagnosis.thresholds import Limits, Threshold
from spark_jobs.diagnosis.wording import list_text, share_text

RULE = "pressure.root"
BUSY, FULL_INPUT, CRITICAL = f"{RULE}.busy_ratio", f"{RULE}.full_input_ratio", f"{RULE}.critical_ratio"


@rule(
    RULE,
    "Origin of back-pressure",
    "A vertex is busy and does not wait itself, while a vertex before it waits for the larger part of the window.",
    needs=("vertex_windows",),
    lacking=NO_METRICS,
    thresholds=(
        Threshold(BACKPRESSURED, 0.5, "ratio", 0.1, 1.0, "The larger part of the window; also where Flink's own page says HIGH."),
        Threshold(BUSY, 0.5, "ratio", 0.1, 1.0, "What holds others for the larger part of the window works for at least as long."),
        Threshold(
            f"{RULE}.own_backpressured_ratio",
            0.05,
            "ratio",
            0.0,
            0.5,
            "A vertex that waits more than occasionally may itself be back-pressured: its consumers are checked first.",
        ),
        Threshold(
            f"{RULE}.slack_ratio",
            0.1,
            "ratio",
            0.0,
            0.5,
            "The figures of two vertices are averages over a minute, read some seconds apart.",
        ),
        Threshold(
            FULL_INPUT, 0.5, "ratio", 0.25, 1.0, "Half of the buffers in use over a window means that records queue, not that they pass."
        ),
        Threshold(
            f"{RULE}.empty_input_ratio",
            0.2,
            "ratio",
            0.0,
            0.25,
            "A vertex that holds others finds its next record waiting; a nearly empty input clears it.",
        ),
        Threshold(
            f"{RULE}.reporting_share",
            0.5,
            "ratio",
            0.0,
            1.0,
            "With metrics of fewer than half of a vertex's subtasks, a consumer with few metrics could also be back-pressuring the others.",
        ),
        Threshold(
            CRITICAL,
            0.9,
            "ratio",
            0.5,
            1.0,
            "A source that waits nine tenths of the time reads slower than records arrive, and barriers stand in the same queue.",
        ),
        gc_threshold(RULE),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    pressure = pressure_of(window, limits)
    for vertex_id, origin in pressure.roots.items():
        if ways := pressure.ways_to(vertex_id):
            yield _finding(window, limits, pressure, origin, ways)
    if not window.terminal:
        _admit_unknown(window, pressure)


def _admit_unknown(window: JobWindow, pressure: Pressure) -> None:
    for vertex_id, lacking in pressure.unexplained.items():
        waits = brief_name(window, vertex_id)
        if lacking:
            reported = list_text(brief_names(window, lacking))
            raise NotJudged(f"{waits} is back-pressured, and the figures of {reported} do not show whether it is the origin")
        if vertex_id not in pressure.topology.out_edges:
            raise NotJudged(f"{waits} is back-pressured, and the job graph does not say what follows it")
        raise NotJudged(f"{waits} is back-pressured, though all that follows has time to spare and its output is not known to be full")
    if pressure.unjudged:
        raise NotJudged(f"back-pressure of {list_text(brief_names(window, pressure.unjudged))} in this window")


def _finding(window: JobWindow, limits: Limits, pressure: Pressure, origin: Origin, ways: Sequence[Way]) -> Finding:
    held = [one for one, _path in ways]
    name = brief_name(window, origin.vertex_id)
    vertex = pressure.vertices[origin.vertex_id]
    confidence = _confidence(pressure, origin, held)
    hot = subtasks_text(origin.subtasks, vertex.parallelism)
    held_names = list_text(dict.fromkeys(brief_name(window, one.vertex_id) for one in held))
    jvm = jvm_cause(window, limits, RULE, _busy_threads(vertex, origin))
    works = (
        f"{hot[0].upper()}{hot[1:]} of {name} worked without pause and never had to wait"
        if origin.measured
        else f"{hot[0].upper()}{hot[1:]} of {name} had full inputs and did not wait"
    )
    return vertex_finding(
        window,
        origin.vertex_id,
        RULE,
        _severity(limits, pressure, origin, held),
        confidence,
        title=f"{name} back-pressures {held_names}",
        cause=(
            f"{works}, while {held_names} waited for room in the output: records arrive faster than {name} processes them. {jvm.sentence}"
        ).rstrip(),
        next_step=jvm.next_step + _next_step(pressure, origin, name),
        evidence=(*_evidence(window, limits, pressure, origin, held), *jvm.evidence),
        related=held_back(window, ways),
        data=hot_data(window, pressure, origin.vertex_id, origin.subtasks, ways),
    )


def _busy_threads(vertex: Subtasks, origin: Origin) -> dict[str, float]:
    """Of the subtasks that hold others, by TaskManager."""
    found: dict[str, float] = {}
    for index in origin.subtasks:
        if (taskmanager := value(vertex.window.taskmanager_id, index)) is not None:
            found[taskmanager] = found.get(taskmanager, 0.0) + (vertex.busy(index) or 0.0)
    return found


def _evidence(window: JobWindow, limits: Limits, pressure: Pressure, origin: Origin, held: Sequence[Held]) -> Iterator[Evidence]:
    at_ms = window.at_ms
    vertex = pressure.vertices[origin.vertex_id]
    name = brief_name(window, origin.vertex_id)
    busy = typical(vertex.busy(index) for index in origin.subtasks)
    if busy is not None:
        on = subtasks_text(origin.subtasks, vertex.parallelism)
        yield limits.compared(f"{name} busy", busy, "ratio", ">=", BUSY, at_ms, f"{on}, median")
    yield waiting_evidence(window, limits, pressure, max(held, key=lambda one: one.ratio))
    own = typical(vertex.backpressured(index) for index in origin.subtasks)
    if own is not None:
        yield limits.compared(f"{name} back-pressured", own, "ratio", "<", BACKPRESSURED, at_ms)
    level = max((known for index in origin.subtasks if (known := vertex.input_level(index)) is not None), default=None)
    if level is not None:
        note = "" if origin.full_input else "local channels have no buffers here: 0 does not mean empty"
        sign = ">=" if origin.full_input else ""
        yield Evidence(
            f"{name} input", level, "ratio", limits[FULL_INPUT] if sign else None, sign, FULL_INPUT if sign else "", at_ms,
            note or "larger of all and floating buffers, fullest of these subtasks",
        )  # fmt: skip
    yield Evidence(f"{name} busy subtasks", len(origin.subtasks), "count", at_ms=at_ms, note=f"of {vertex.parallelism:,}")


def _confidence(pressure: Pressure, origin: Origin, held: Sequence[Held]) -> Confidence:
    """A step down for each thing not seen: busy time, own waiting, a full input, work as long as others waited, a second sample."""
    vertex = pressure.vertices[origin.vertex_id]
    lacking = (
        (not origin.measured)
        + (not any(vertex.backpressured(index) is not None for index in origin.subtasks))
        + (not origin.full_input)
        + (not origin.agrees)
        + _is_one_sample(pressure, origin, held)
    )
    return "high" if not lacking else "medium" if lacking == 1 else "low"


def _is_one_sample(pressure: Pressure, origin: Origin, held: Sequence[Held]) -> bool:
    seen = (pressure.vertices[origin.vertex_id], *(pressure.vertices[one.vertex_id] for one in held))
    return min(vertex.window.samples for vertex in seen) < 2


def _severity(limits: Limits, pressure: Pressure, origin: Origin, held: Sequence[Held]) -> Severity:
    """Critical where it reaches a source nearly all the time; one sample alone is not enough for that."""
    reaches_source = any(one.ratio >= limits[CRITICAL] and pressure.topology.is_source(one.vertex_id) for one in held)
    return "critical" if reaches_source and not _is_one_sample(pressure, origin, held) else "warning"


def _next_step(pressure: Pressure, origin: Origin, name: str) -> str:
    vertex = pressure.vertices[origin.vertex_id]
    first = origin.subtasks[0]
    where = value(vertex.window.host, first)
    on = f" on {where}" if where else ""
    if 2 * len(origin.subtasks) <= vertex.parallelism:
        few = list_text((str(index) for index in origin.subtasks), MOST_NAMED)
        return (
            f"Only subtask {few} is busy: look for hot keys before adding parallelism. Flame graph of {name}/{first}{on} in Flink's page."
        )
    share = vertex.records_in_share(origin.subtasks)
    spread = f" (these subtasks carry {share_text(share)} of its records)" if share is not None and share < 0.99 else ""
    return (
        f"Take a flame graph or thread dump of {name}/{first}{on}: waiting for outside systems, state access or plain computation? "
        f"Speed that up, or raise the parallelism of {name}{spread}."
    )
