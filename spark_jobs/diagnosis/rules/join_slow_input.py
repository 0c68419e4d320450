"""One input of a join or another vertex with several inputs lies far behind another in event time.

Its event time is that of the slowest input. What comes by a faster one waits in state until then,
so the state grows with the distance.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from ingest.messages import brief, message, ms_text, plural
from spark_jobs.diagnosis.fed_vertices import Fed, fed_samples, is_waited_for
from spark_jobs.diagnosis.findings import Evidence, Finding
from spark_jobs.diagnosis.rule import rule
from spark_jobs.diagnosis.samples import JobWindow, VertexGauges
from spark_jobs.diagnosis.subjects import vertex_finding
from spark_jobs.diagnosis.thresholds import Limits, Threshold
from spark_jobs.diagnosis.topology import Topology

RULE = "join.slow_input"
APART, SAMPLES, WINDOW = f"{RULE}.apart_ms", f"{RULE}.samples", f"{RULE}.window_s"
HELD_RATIO = 0.1
"""Flink's own least for a back-pressured task.

What such a feeder sent on may lie in buffers for long.
"""


@rule(
    RULE,
    message("Slow input of a join"),
    message(
        "The watermarks of an operator's inputs are far apart, so it buffers the data of the "
        "faster input."
    ),
    fed_by="incidents/1.20.5/write-stall",
    hold_s=900,
    needs=("gauges",),
    thresholds=(
        Threshold(
            APART,
            60_000,
            "ms",
            1_000,
            7 * 86_400_000,
            message(
                "One minute: inputs that keep pace are seconds apart. Raise it for joins of "
                "old data."
            ),
        ),
        Threshold(
            SAMPLES,
            3,
            "count",
            1,
            100,
            message(
                "At least this many samples, and all of them must exceed the limit: a "
                "pause of one source ends sooner."
            ),
        ),
        Threshold(
            WINDOW,
            300,
            "s",
            60,
            600,
            message("Five minutes: a source that restarts is back within them."),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    since_ms = window.at_ms - int(limits[WINDOW] * 1000)
    samples: dict[str, list[VertexGauges]] = {}
    for gauge in window.gauges:
        if since_ms <= gauge.at_ms <= window.at_ms:
            samples.setdefault(gauge.vertex_id, []).append(gauge)
    topology = Topology(window.vertices, window.edges)
    for vertex_id, of_vertex in samples.items():
        if any(_has_both(gauges) for gauges in of_vertex):
            yield from _by_its_inputs(window, limits, vertex_id, of_vertex)
        else:
            yield from _by_its_feeders(
                window, limits, vertex_id, topology.upstream(vertex_id), samples
            )


def apart_ms(gauges: VertexGauges) -> int | None:
    """By how much the first input is ahead of the second; negative where it is behind.

    None also where the slower is not waited for.
    """
    first, second = gauges.input1_watermark_ms, gauges.input2_watermark_ms
    if first is None or second is None:
        return None
    sent = gauges.sent_watermark_ms
    return (
        first - second
        if sent is None or is_waited_for(min(first, second), max(first, second), sent)
        else None
    )


def _has_both(gauges: VertexGauges) -> bool:
    return gauges.input1_watermark_ms is not None and gauges.input2_watermark_ms is not None


def _by_its_inputs(
    window: JobWindow, limits: Limits, vertex_id: str, samples: Sequence[VertexGauges]
) -> Iterator[Finding]:
    seen = [(apart, sample) for sample in samples if (apart := apart_ms(sample)) is not None]
    ahead = {apart > 0 for apart, _ in seen}
    if (
        len(seen) < limits[SAMPLES]
        or len(ahead) > 1
        or any(abs(apart) < limits[APART] for apart, _ in seen)
    ):
        return
    apart, newest = seen[-1]
    distances = [abs(one) for one, _ in seen]
    least = ms_text(min(distances))
    slow = message("second") if apart > 0 else message("first")
    name = brief(window.vertex_name(vertex_id))
    state = _state_bytes(window, vertex_id)
    held = message(" It holds {state:bytes} of state.", state=state) if state is not None else ""
    yield vertex_finding(
        window,
        vertex_id,
        RULE,
        "warning",
        "high" if _grows(distances) else "medium",
        title=message(
            "The {slow:message} input of {name:name} is {abs:duration} behind the other",
            slow=slow,
            name=name,
            abs=abs(apart),
        ),
        cause=(
            message(
                "In {seen:message} the watermark of the {slow:message} input was at least "
                "{least:name} behind that of the other{words:message}. The event time of the "
                "operator is that of the slower input, so data of the faster one waits in "
                "state until then.{held:message}",
                seen=plural(len(seen), "{count:count} sample", "{count:count} samples"),
                slow=slow,
                least=least,
                words=message(", and the distance grows") if _grows(distances) else "",
                held=held,
            )
        ),
        next_step=(
            message(
                "Look at what feeds the {slow:message} input: its sources (lag, idle "
                "partitions) and operators that are busy or back-pressured. If it is always "
                "late, align the sources (withWatermarkAlignment, 1.15 and later) so that the "
                "faster one does not run ahead.",
                slow=slow,
            )
        ),
        seen_at_ms=newest.at_ms,
        evidence=_evidence(limits, distances, newest.at_ms, state),
        data={"vertex_ids": [vertex_id], "apart_ms": apart},
    )


def _by_its_feeders(
    window: JobWindow,
    limits: Limits,
    vertex_id: str,
    feeders: Sequence[str],
    samples: Mapping[str, Sequence[VertexGauges]],
) -> Iterator[Finding]:
    """Of a release that does not tell the watermark of each input.

    A union looks like a join: one without state holds nothing.
    """
    seen = fed_samples(vertex_id, feeders, samples)
    state = _state_bytes(window, vertex_id)
    if not state or len(seen) < limits[SAMPLES] or any(one.unknown_because for one in seen):
        return
    newest = seen[-1]
    distances = [one.apart_ms for one in seen]
    least = ms_text(min(distances))
    slow_id, fast_id = newest.slowest, newest.fastest
    if (
        min(distances) < limits[APART]
        or any(one.slowest != slow_id for one in seen)
        or _is_held(window, fast_id)
    ):
        return
    name, slow, fast = (brief(window.vertex_name(id_)) for id_ in (vertex_id, slow_id, fast_id))
    yield vertex_finding(
        window,
        vertex_id,
        RULE,
        "warning",
        "high" if _grows(distances) else "medium",
        title=message(
            "What {name:name} gets from {slow:name} is {apart_ms:duration} behind what it gets "
            "from {fast:name}",
            name=name,
            slow=slow,
            apart_ms=newest.apart_ms,
            fast=fast,
        ),
        cause=(
            message(
                "In {seen:message} the watermark that {slow:name} sent on was at least "
                "{least:name} behind that of {fast:name}{words:message}. The event time of "
                "the vertex is that of its slowest input, so data of a faster one waits in "
                "the state of a join or window until then. It holds {state:bytes} of state.",
                seen=plural(len(seen), "{count:count} sample", "{count:count} samples"),
                slow=slow,
                least=least,
                fast=fast,
                words=message(", and the distance grows") if _grows(distances) else "",
                state=state,
            )
        ),
        next_step=(
            message(
                "Look at {slow:name}: its sources (lag, idle partitions) and operators that "
                "are busy or back-pressured. If it is always late, align the sources "
                "(withWatermarkAlignment, 1.15 and later) so that the faster one does not run "
                "ahead.",
                slow=slow,
            )
        ),
        seen_at_ms=newest.at_ms,
        evidence=_evidence(limits, distances, newest.at_ms, state),
        data={
            "vertex_ids": [vertex_id],
            "apart_ms": _signed(newest),
            "slow_vertex_id": slow_id,
            "fast_vertex_id": fast_id,
        },
    )


def _signed(fed: Fed) -> int:
    """As of :func:`apart_ms`: negative where the first is the slowest."""
    return -fed.apart_ms if fed.slowest == next(iter(fed.sent_ms)) else fed.apart_ms


def _is_held(window: JobWindow, vertex_id: str) -> bool:
    ratios = next(
        (
            vertex_window.backpressured_ratio
            for vertex_window in window.vertex_windows
            if vertex_window.vertex_id == vertex_id
        ),
        (),
    )
    known = [ratio for ratio in ratios if ratio is not None]
    return bool(known) and fmean(known) >= HELD_RATIO


def _grows(distances: Sequence[int]) -> bool:
    return distances[-1] > distances[0] + 1000


def _evidence(
    limits: Limits, distances: Sequence[int], at_ms: int, state: int | None
) -> list[Evidence]:
    evidence = [
        limits.compared(
            message("watermarks of its inputs apart"), distances[-1], "ms", ">=", APART, at_ms
        ),
        Evidence(message("samples"), len(distances), "count", at_ms=at_ms),
    ]
    if state is not None:
        evidence.append(
            Evidence(message("state of the vertex in the newest checkpoint"), state, "bytes")
        )
    return evidence


def _state_bytes(window: JobWindow, vertex_id: str) -> int | None:
    of_vertex = next(
        (
            state.subtask_state_bytes
            for state in window.vertex_states
            if state.vertex_id == vertex_id
        ),
        (),
    )
    known = [size for size in of_vertex if size is not None]
    return sum(known) if known else None
