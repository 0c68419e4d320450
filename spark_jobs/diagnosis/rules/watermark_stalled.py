from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ingest.messages import list_text, message, subtask_text
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, Related, Threshold
from spark_jobs.diagnosis.pressure_words import MOST_SUBTASKS, names
from spark_jobs.diagnosis.rule import rule, vertex_finding
from spark_jobs.diagnosis.samples import JobWindow, VertexPast, VertexWindow
from spark_jobs.diagnosis.topology import Topology

RULE = "watermark.stalled"
STILL = f"{RULE}.still_ms"

PAST_WINDOW_MS = 60_000
FINAL_WATERMARK_MS = 2**62
"""An input that has ended sends Long.MAX_VALUE."""


@dataclass(frozen=True)
class Stall:
    vertex: VertexWindow
    watermark_ms: int
    since_ms: int
    records_in_per_s: float


@dataclass(frozen=True)
class SilentInput:
    """Subtasks that emit nothing; ``subtasks`` is empty if all of the vertex do."""

    vertex_id: str
    subtasks: tuple[int, ...]


@rule(
    RULE,
    message("Watermark does not advance"),
    message(
        "The lowest input watermark of a vertex has not moved for minutes although records keep "
        "arriving."
    ),
    fed_by="incidents/1.20.5/idle-partition",
    needs=("vertex_windows",),
    lacking=message("watermarks of any vertex in this window"),
    thresholds=(
        Threshold(
            STILL,
            300_000,
            "ms",
            60_000,
            7 * 86_400_000,
            message(
                "Watermarks are sent several times a second; raise this where timestamps are as "
                "coarse as an hour or a day."
            ),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    if window.terminal:
        return
    history: dict[str, list[VertexPast]] = {}
    for vertex_window in window.past:
        if vertex_window.watermark_ms is not None:
            history.setdefault(vertex_window.vertex_id, []).append(vertex_window)
    stalls = {
        vertex.vertex_id: stall
        for vertex in window.vertex_windows
        if (past := history.get(vertex.vertex_id))
        and (stall := _stall(vertex, past))
        and window.at_ms - stall.since_ms >= limits[STILL]
    }
    if not stalls:
        return
    topology = Topology(window.edges)
    for vertex_id, stall in stalls.items():
        if not any(upstream in stalls for upstream in topology.upstream(vertex_id)):
            yield _finding(window, limits, topology, stall, stalls)


def _stall(vertex: VertexWindow, past: Sequence[VertexPast]) -> Stall | None:
    lowest = min(
        (watermark_ms for watermark_ms in vertex.watermark_ms if watermark_ms is not None),
        default=FINAL_WATERMARK_MS,
    )
    arriving = sum(rate for rate in vertex.records_in_per_s if rate is not None)
    if lowest >= FINAL_WATERMARK_MS or arriving <= 0:
        return None
    # Watermarks never go back, so a different older one was lower.
    since_ms = None
    for vertex_window in sorted(past, key=lambda earlier: earlier.window_start_ms, reverse=True):
        if vertex_window.watermark_ms != lowest or vertex_window.records_in_per_s == 0:
            break
        since_ms = vertex_window.window_start_ms + PAST_WINDOW_MS
    return None if since_ms is None else Stall(vertex, lowest, since_ms, arriving)


def _finding(
    window: JobWindow, limits: Limits, topology: Topology, stall: Stall, stalls: Mapping[str, Stall]
) -> Finding:
    vertex_id = stall.vertex.vertex_id
    name = window.brief_name(vertex_id)
    still_ms = window.at_ms - stall.since_ms
    inputs = _silent_inputs(window, topology, vertex_id)
    downstream_ids = [
        target
        for target in topology.all_downstream(vertex_id)
        if target in stalls and target != vertex_id
    ]
    silent_names = [_silent_text(window, source) for source in inputs]
    because = (
        message(": {silent_names:name} emits nothing", silent_names=list_text(silent_names))
        if inputs
        else ""
    )
    return vertex_finding(
        window,
        vertex_id,
        RULE,
        "warning",
        "high" if inputs else "medium",
        title=message(
            "Event time of {name:name} has not advanced for {still_ms:duration}{because:message}",
            name=name,
            still_ms=still_ms,
            because=because,
        ),
        cause=_cause(window, topology, vertex_id, silent_names),
        next_step=_next_step(silent_names),
        evidence=(
            limits.evidence(message("watermark unmoved"), still_ms, STILL),
            Evidence(message("records arriving"), stall.records_in_per_s, "records/s", 0, ">"),
            Evidence(
                message("watermark"),
                stall.watermark_ms,
                "ms",
                note=message("epoch, lowest over subtasks"),
            ),
        ),
        related=(
            *(Related("vertex", text, message("emits no records")) for text in silent_names),
            *(
                Related("vertex", target, message("does not advance because of it"))
                for target in names(window, downstream_ids)
            ),
        ),
        data={
            "vertex_id": vertex_id,
            "silent_inputs": [
                {
                    "vertex_id": source.vertex_id,
                    "vertex_name": window.vertex_name(source.vertex_id),
                    "subtasks": list(source.subtasks[:MOST_SUBTASKS]),
                }
                for source in inputs
            ],
        },
    )


def _silent_inputs(window: JobWindow, topology: Topology, vertex_id: str) -> list[SilentInput]:
    windows = {vertex.vertex_id: vertex for vertex in window.vertex_windows}
    inputs = []
    for upstream in topology.upstream(vertex_id):
        rates = windows[upstream].records_out_per_s if upstream in windows else ()
        subtasks = tuple(index for index, rate in enumerate(rates) if rate == 0)
        if subtasks:
            inputs.append(SilentInput(upstream, () if len(subtasks) == len(rates) else subtasks))
    return inputs


def _silent_text(window: JobWindow, silent: SilentInput) -> str:
    name = window.brief_name(silent.vertex_id)
    return (
        list_text(subtask_text(name, index) for index in silent.subtasks)
        if silent.subtasks
        else name
    )


def _cause(
    window: JobWindow, topology: Topology, vertex_id: str, silent_names: Sequence[str]
) -> str:
    name = window.brief_name(vertex_id)
    if silent_names:
        return message(
            "The watermark of {name:name} is the lowest of all its inputs, and {silent_names:name} "
            "sends none: event time does not advance while one input is idle.",
            name=name,
            silent_names=list_text(silent_names),
        )
    inputs = list_text(map(window.brief_name, topology.upstream(vertex_id)))
    return message(
        "Records arrive from {inputs:name}, but none of them moves event time on: a "
        "partition without data inside one subtask, timestamps that do not grow, or no "
        "watermark generator behind that input.",
        inputs=inputs,
    )


def _next_step(silent_names: Sequence[str]) -> str:
    if silent_names:
        return message(
            "If {silent_names:name} may be silent, mark it idle (WatermarkStrategy.withIdleness, "
            "table.exec.source.idle-timeout). If not, find out why no data comes.",
            silent_names=list_text(silent_names),
        )
    return message(
        "Compare currentOutputWatermark of the source subtasks; set withIdleness(…) for empty "
        "partitions, check timestamp assignment."
    )
