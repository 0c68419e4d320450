from collections import defaultdict
from collections.abc import Iterator, Sequence

from ingest.messages import join_messages, list_text, message
from spark_jobs.diagnosis.findings import (
    Confidence,
    Evidence,
    Finding,
    Limits,
    NotJudged,
    Severity,
    Threshold,
)
from spark_jobs.diagnosis.jvm_load import jvm_cause
from spark_jobs.diagnosis.origins import NO_METRICS, HeldVertex, Pressure, Way, pressure_of
from spark_jobs.diagnosis.pressure import Subtasks, largest, typical, value
from spark_jobs.diagnosis.pressure_walk import BACKPRESSURED, FULL_INPUT, Origin
from spark_jobs.diagnosis.pressure_words import (
    MOST_NAMED,
    NEARLY_ALWAYS,
    hot_data,
    related_vertices,
    subtasks_text,
    waiting_evidence,
)
from spark_jobs.diagnosis.rule import rule, vertex_finding
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.slow_hosts import slow_host

RULE = "pressure.root"
BUSY = f"{RULE}.busy_ratio"
CRITICAL = f"{RULE}.critical_ratio"
RARELY = 0.01


@rule(
    RULE,
    message("Origin of back-pressure"),
    message(
        "A vertex is busy and not back-pressured, while a vertex before it is back-pressured "
        "for more than half of the window."
    ),
    fed_by="windows/1.20.5-B",
    needs=("vertex_windows",),
    lacking=NO_METRICS,
    thresholds=(
        Threshold(
            BACKPRESSURED,
            0.5,
            "ratio",
            0.1,
            1.0,
            message("More than half of the window, where Flink's own page says HIGH."),
        ),
        Threshold(
            BUSY,
            0.5,
            "ratio",
            0.1,
            1.0,
            message(
                "A vertex that back-pressures others for more than half of the window is busy "
                "for at least as long."
            ),
        ),
        Threshold(
            CRITICAL,
            0.9,
            "ratio",
            0.5,
            1.0,
            message(
                "A source that waits nine tenths of the time reads slower than records "
                "arrive, and barriers wait in the same queue."
            ),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    pressure = pressure_of(window, limits)
    for vertex_id, origin in pressure.roots.items():
        if ways := pressure.ways_to(vertex_id):
            yield _finding(window, limits, pressure, origin, ways)
    missing_data = None if window.terminal else _missing_data(window, pressure)
    if missing_data:
        raise NotJudged(missing_data)


def _missing_data(window: JobWindow, pressure: Pressure) -> str | None:
    for vertex_id, consumers in pressure.unexplained.items():
        name = window.brief_name(vertex_id)
        if consumers:
            return message(
                "{waits:name} is back-pressured, and the figures of {reported:name} do not "
                "show whether it is the origin",
                waits=name,
                reported=list_text(map(window.brief_name, consumers)),
            )
        if vertex_id not in pressure.topology.out_edges:
            return message(
                "{waits:name} is back-pressured, and the job graph does not say what follows it",
                waits=name,
            )
        return message(
            "{waits:name} is back-pressured, though all that follows has time to spare and its "
            "output is not known to be full",
            waits=name,
        )
    if unexplained := [vertex for vertex in pressure.held if not pressure.origins_of(vertex)]:
        return message(
            "what holds {orphaned:name}", orphaned=list_text(map(window.brief_name, unexplained))
        )
    if pressure.unjudged:
        return message(
            "back-pressure of {unjudged:name} in this window",
            unjudged=list_text(map(window.brief_name, pressure.unjudged)),
        )
    return None


def _finding(
    window: JobWindow, limits: Limits, pressure: Pressure, origin: Origin, ways: Sequence[Way]
) -> Finding:
    held = [vertex for vertex, _path in ways]
    name = window.brief_name(origin.vertex_id)
    vertex = pressure.vertices[origin.vertex_id]
    held_names = list_text(dict.fromkeys(window.brief_name(vertex.vertex_id) for vertex in held))
    jvm = jvm_cause(window, _busy_threads(vertex, origin))
    held_vertices = (pressure.vertices[held_vertex.vertex_id] for held_vertex in held)
    is_one_sample = min(one.window.samples for one in (vertex, *held_vertices)) < 2
    cause = message(
        "{works:message}, while {held_names:name} waited for room in the output: records arrive "
        "faster than {name:name} processes them.",
        works=_works(vertex, origin, name),
        held_names=held_names,
        name=name,
    )
    return vertex_finding(
        window,
        origin.vertex_id,
        RULE,
        _severity(limits, pressure, held, is_one_sample=is_one_sample),
        _confidence(vertex, origin, is_one_sample=is_one_sample),
        title=message(
            "{name:name} back-pressures {held_names:name}", name=name, held_names=held_names
        ),
        cause=join_messages((cause, jvm.sentence), " "),
        next_step=jvm.next_step + _next_step(pressure, origin, name),
        evidence=(*_evidence(window, limits, pressure, origin, held), *jvm.evidence),
        related=related_vertices(window, ways),
        data=hot_data(pressure, origin.vertex_id, origin.subtasks),
    )


def _works(vertex: Subtasks, origin: Origin, name: str) -> str:
    hot = subtasks_text(origin.subtasks, vertex.parallelism)
    if not origin.measured:
        return message(
            "{hot:opening} of {name:name} had full inputs and did not wait", hot=hot, name=name
        )
    busy = typical(map(vertex.busy, origin.subtasks)) or 0.0
    waits = [vertex.backpressured(index) for index in origin.subtasks]
    waiting_ratio = largest(waits)
    if waiting_ratio is not None and waiting_ratio >= RARELY:
        return message(
            "{hot:opening} of {name:name} worked for {busy:share} of the time and waited for "
            "{waited:share} at most",
            hot=hot,
            name=name,
            busy=busy,
            waited=waiting_ratio,
        )
    if busy < NEARLY_ALWAYS or None in waits:
        return message(
            "{hot:opening} of {name:name} worked for {busy:share} of the time",
            hot=hot,
            name=name,
            busy=busy,
        )
    return message(
        "{hot:opening} of {name:name} worked without pause and never had to wait",
        hot=hot,
        name=name,
    )


def _busy_threads(vertex: Subtasks, origin: Origin) -> dict[str, float]:
    threads = defaultdict[str, float](float)
    for index in origin.subtasks:
        if (taskmanager := vertex.taskmanager(index)) is not None:
            threads[taskmanager] += vertex.busy(index) or 0.0
    return threads


def _evidence(
    window: JobWindow,
    limits: Limits,
    pressure: Pressure,
    origin: Origin,
    held: Sequence[HeldVertex],
) -> Iterator[Evidence]:
    vertex = pressure.vertices[origin.vertex_id]
    name = window.brief_name(origin.vertex_id)
    busy = typical(map(vertex.busy, origin.subtasks))
    if busy is not None:
        subtasks = subtasks_text(origin.subtasks, vertex.parallelism)
        yield limits.evidence(
            message("{name:name} busy", name=name),
            busy,
            BUSY,
            message("{on:text}, median", on=subtasks),
        )
    yield waiting_evidence(window, limits, pressure, max(held, key=lambda vertex: vertex.ratio))
    backpressured = typical(map(vertex.backpressured, origin.subtasks))
    if backpressured is not None:
        yield limits.evidence(
            message("{name:name} back-pressured", name=name),
            backpressured,
            BACKPRESSURED,
            comparison="<",
        )
    level = largest(map(vertex.input_level, origin.subtasks))
    if level is not None:
        yield Evidence(
            message("{name:name} input", name=name),
            level,
            "ratio",
            FULL_INPUT if origin.full_input else None,
            ">=" if origin.full_input else "",
            note=message("larger of all and floating buffers, fullest of these subtasks")
            if origin.full_input
            else message("local channels have no buffers here: 0 does not mean empty"),
        )


def _confidence(vertex: Subtasks, origin: Origin, *, is_one_sample: bool) -> Confidence:
    doubts = (
        (not origin.measured)
        + (not any(vertex.backpressured(index) is not None for index in origin.subtasks))
        + (not origin.full_input)
        + (not origin.agrees)
        + is_one_sample
    )
    if doubts > 1:
        return "low"
    return "medium" if doubts else "high"


def _severity(
    limits: Limits, pressure: Pressure, held: Sequence[HeldVertex], *, is_one_sample: bool
) -> Severity:
    reaches_source = any(
        vertex.ratio >= limits[CRITICAL] and pressure.topology.is_source(vertex.vertex_id)
        for vertex in held
    )
    return "critical" if reaches_source and not is_one_sample else "warning"


def _next_step(pressure: Pressure, origin: Origin, name: str) -> str:
    vertex = pressure.vertices[origin.vertex_id]
    first = origin.subtasks[0]
    host_name = value(vertex.window.host, first)
    host_text = message(" on {where:name}", where=host_name) if host_name else ""
    is_few = 2 * len(origin.subtasks) <= vertex.parallelism
    if is_few and (host := slow_host(vertex, origin.subtasks)):
        return message(
            "Compare {host:name} with the other hosts first: all subtasks of {name:name} there are "
            "busy and those elsewhere are not. Flame graph of {name2:name}/{first:number} in "
            "Flink's page.",
            host=host,
            name=name,
            name2=name,
            first=first,
        )
    if is_few:
        indexes = list_text((str(index) for index in origin.subtasks), MOST_NAMED)
        return message(
            "Only subtask {few:name} is busy: look for hot keys before adding parallelism. "
            "Flame graph of {name:name}/{first:number}{on:message} in Flink's page.",
            few=indexes,
            name=name,
            first=first,
            on=host_text,
        )
    share = vertex.records_in_share(origin.subtasks)
    share_text = (
        message(" (these subtasks carry {share:share} of its records)", share=share)
        if share is not None and share < 0.99
        else ""
    )
    return message(
        "Take a flame graph or thread dump of {name:name}/{first:number}{on:message}: "
        "waiting for outside systems, state access or plain computation? Speed that "
        "up, or raise the parallelism of {name2:name}{spread:message}.",
        name=name,
        first=first,
        on=host_text,
        name2=name,
        spread=share_text,
    )
