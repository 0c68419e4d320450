"""One input of a join or another operator with two inputs lies far behind the other in event time.

Its event time is that of the slower input. What comes by the faster one waits in state until then, so the state grows with the distance.
"""

from collections.abc import Iterator

from spark_jobs.diagnosis.findings import Evidence, Finding
from spark_jobs.diagnosis.registry import rule
from spark_jobs.diagnosis.samples import JobWindow, VertexGauges
from spark_jobs.diagnosis.subjects import vertex_finding
from spark_jobs.diagnosis.thresholds import Limits, Threshold
from spark_jobs.diagnosis.wording import brief, bytes_text, count_text, ms_text

RULE = "join.slow_input"
APART, SAMPLES, WINDOW = f"{RULE}.apart_ms", f"{RULE}.samples", f"{RULE}.window_s"


@rule(
    RULE,
    "Slow input of a join",
    "The watermarks of the two inputs of an operator lie far apart: it holds what the faster input brought.",
    hold_s=900,
    thresholds=(
        Threshold(
            APART, 60_000, "ms", 1_000, 7 * 86_400_000, "A minute: inputs of one rhythm lie seconds apart. Raise it for joins of old data."
        ),
        Threshold(SAMPLES, 3, "count", 1, 100, "So many samples, all of them: a pause of one source is over sooner."),
        Threshold(WINDOW, 300, "s", 60, 600, "Five minutes: a source that restarts is back within them."),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    since_ms = window.at_ms - int(limits[WINDOW] * 1000)
    by_vertex: dict[str, list[tuple[int, VertexGauges]]] = {}
    for one in window.gauges:
        if since_ms <= one.at_ms <= window.at_ms and (apart := apart_ms(one)) is not None:
            by_vertex.setdefault(one.vertex_id, []).append((apart, one))
    for vertex_id, seen in by_vertex.items():
        ahead = {apart > 0 for apart, _ in seen}
        if len(seen) >= limits[SAMPLES] and len(ahead) == 1 and all(abs(apart) >= limits[APART] for apart, _ in seen):
            yield _finding(window, limits, vertex_id, seen)


def apart_ms(one: VertexGauges) -> int | None:
    """By how much the first input is ahead of the second; negative where it is behind."""
    if one.input1_watermark_ms is None or one.input2_watermark_ms is None:
        return None
    return one.input1_watermark_ms - one.input2_watermark_ms


def _finding(window: JobWindow, limits: Limits, vertex_id: str, seen: list[tuple[int, VertexGauges]]) -> Finding:
    apart, newest = seen[-1]
    first, slow = seen[0][0], "second" if apart > 0 else "first"
    name = brief(window.vertex_name(vertex_id))
    state = _state_bytes(window, vertex_id)
    grows = abs(apart) > abs(first) + 1000
    evidence = [
        limits.compared("watermarks of its inputs apart", abs(apart), "ms", ">=", APART, newest.at_ms),
        Evidence("samples", len(seen), "count", at_ms=newest.at_ms),
    ]
    if state is not None:
        evidence.append(Evidence("state of the vertex in the newest checkpoint", state, "bytes"))
    least = ms_text(min(abs(one) for one, _ in seen))
    held = f" It holds {bytes_text(state)} of state." if state is not None else ""
    return vertex_finding(
        window,
        vertex_id,
        RULE,
        "warning",
        "high" if grows else "medium",
        title=f"The {slow} input of {name} is {ms_text(abs(apart))} behind the other",
        cause=(
            f"In {count_text(len(seen), 'sample')} the watermark of the {slow} input was at least {least} behind that of the other"
            f"{', and the distance grows' if grows else ''}. Event time of the operator is that of the slower input: what the faster one "
            f"brings waits in state until then.{held}"
        ),
        next_step=(
            f"Look at what feeds the {slow} input: its sources (lag, idle partitions) and operators that are busy or back-pressured. "
            "Where it is late by nature, align the sources (withWatermarkAlignment, 1.15 and later) so that the faster does not run ahead."
        ),
        seen_at_ms=newest.at_ms,
        evidence=evidence,
        data={"vertex_ids": [vertex_id], "apart_ms": apart},
    )


def _state_bytes(window: JobWindow, vertex_id: str) -> int | None:
    of_vertex = next((one.subtask_state_bytes for one in window.vertex_states if one.vertex_id == vertex_id), ())
    known = [size for size in of_vertex if size is not None]
    return sum(known) if known else None
