from collections.abc import Iterator

from ingest.messages import join_messages, list_text, message, plural
from spark_jobs.diagnosis.findings import (
    Confidence,
    Evidence,
    Finding,
    Limits,
    NotJudged,
    Related,
    Threshold,
)
from spark_jobs.diagnosis.meters import has_start
from spark_jobs.diagnosis.origins import NO_METRICS, Pressure, pressure_of
from spark_jobs.diagnosis.pressure import Subtasks, typical
from spark_jobs.diagnosis.pressure_walk import Origin
from spark_jobs.diagnosis.pressure_words import NEARLY_ALWAYS, hot_data, subtasks_text
from spark_jobs.diagnosis.record_rates import records_in
from spark_jobs.diagnosis.rule import rule, vertex_finding
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.slow_hosts import UNEVEN, is_nearly_even, slow_host

RULE = "pressure.skew"
SIBLINGS = f"{RULE}.sibling_working_ratio"
HOT_SHARE = 0.5
"""If more than half of the subtasks are busy, the vertex lacks capacity."""


@rule(
    RULE,
    message("Few hot subtasks"),
    message(
        "Only a minority of the subtasks of a vertex that is an origin of back-pressure is "
        "busy; the others are mostly idle."
    ),
    fed_by="windows/1.20.5-C2",
    needs=("vertex_windows",),
    lacking=NO_METRICS,
    thresholds=(
        Threshold(
            SIBLINGS,
            0.5,
            "ratio",
            0.0,
            0.9,
            message(
                "Siblings that work less than half of the time could take the load of another."
            ),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    pressure = pressure_of(window, limits)
    unknown_vertices = []
    for vertex_id, origin in pressure.roots.items():
        vertex = pressure.vertices[vertex_id]
        if len(origin.subtasks) > HOT_SHARE * vertex.parallelism:
            continue
        siblings = set(range(vertex.parallelism)).difference(origin.subtasks)
        working = typical(map(vertex.working, siblings))
        if working is not None and working <= limits[SIBLINGS] and has_start(window):
            raise NotJudged(message("a minute in which no task began"))
        if working is None:
            unknown_vertices.append(window.brief_name(vertex_id))
        elif working <= limits[SIBLINGS]:
            yield _finding(window, limits, pressure, origin, working)
    if unknown_vertices and not window.terminal:
        raise NotJudged(
            message(
                "what the other subtasks of {unseen:name} do", unseen=list_text(unknown_vertices)
            )
        )


def _finding(
    window: JobWindow, limits: Limits, pressure: Pressure, origin: Origin, siblings_working: float
) -> Finding:
    vertex = pressure.vertices[origin.vertex_id]
    name = window.brief_name(origin.vertex_id)
    even_share = len(origin.subtasks) / vertex.parallelism
    share = vertex.records_in_share(origin.subtasks)
    hot = subtasks_text(origin.subtasks, vertex.parallelism)
    host = slow_host(vertex, origin.subtasks)
    return vertex_finding(
        window,
        origin.vertex_id,
        RULE,
        "warning",
        _confidence(origin, share, even_share, vertex.window.samples),
        title=message("{name:name}: {hot:text} busy, the others idle", name=name, hot=hot),
        cause=_cause(vertex, origin, hot, share, host),
        next_step=_next_step(vertex, origin, share, host, name),
        evidence=_evidence(limits, vertex, origin, siblings_working, share),
        related=(Related("host", host, message("all its subtasks are busy")),) if host else (),
        data=hot_data(pressure, origin.vertex_id, origin.subtasks),
    )


def _cause(
    vertex: Subtasks, origin: Origin, hot: str, share: float | None, host: str | None
) -> str:
    busy = typical(map(vertex.busy, origin.subtasks))
    all_subtasks = plural(vertex.parallelism, "{count:count} subtask", "{count:count} subtasks")
    works = (
        message("always busy")
        if busy is None or busy >= NEARLY_ALWAYS
        else message("busy, for {busy:share} of the time", busy=busy)
    )
    records = "" if share is None else message(" with {share:share} of the records", share=share)
    if host:
        return message(
            "Of {parallelism:message} only {hot:text} had much to do: {works:message}"
            "{carried:message}, siblings mostly idle, and these are all that run on {host:name}: "
            "that host is slower than the others, or something else loads it.",
            parallelism=all_subtasks,
            hot=hot,
            works=works,
            carried=records,
            host=host,
        )
    return message(
        "Of {parallelism:message} only {hot:text} had much to do: {works:message}"
        "{carried:message}, siblings mostly idle: the load is uneven.",
        parallelism=all_subtasks,
        hot=hot,
        works=works,
        carried=records,
    )


def _evidence(
    limits: Limits, vertex: Subtasks, origin: Origin, siblings_working: float, share: float | None
) -> Iterator[Evidence]:
    count = len(origin.subtasks)
    yield Evidence(
        message("busy subtasks"),
        count / vertex.parallelism,
        "ratio",
        HOT_SHARE,
        "<=",
        note=message(
            "{count:count} of {parallelism:count}", count=count, parallelism=vertex.parallelism
        ),
    )
    yield limits.evidence(
        message("working time of the others"),
        siblings_working,
        SIBLINGS,
        message("median"),
        comparison="<=",
    )
    if share is not None:
        even_share = message(
            "an even share would be {count:share}", count=count / vertex.parallelism
        )
        yield Evidence(
            message("records they take"),
            share,
            "ratio",
            note=join_messages((even_share, records_in(vertex.window).source), "; "),
        )


def _confidence(origin: Origin, share: float | None, even_share: float, samples: int) -> Confidence:
    if not origin.measured or samples < 2:
        return "low"
    return "high" if share is not None and share >= UNEVEN * even_share else "medium"


def _next_step(
    vertex: Subtasks, origin: Origin, share: float | None, host: str | None, name: str
) -> str:
    if host:
        return message(
            "Compare {host:name} with the other hosts first (CPU, disk, network, what else runs "
            "there), or move its TaskManager; keys of {name:name} are the cause only if the load "
            "moves with the subtask.",
            host=host,
            name=name,
        )
    if not is_nearly_even(share, len(origin.subtasks), vertex.parallelism):
        return message(
            "Find the hot keys of {name:name}: pre-aggregate or salt them, or filter "
            "sentinel keys (null, 0, 'unknown'). More parallelism does not divide one key.",
            name=name,
        )
    hosts = list_text(vertex.hosts(origin.subtasks))
    return message(
        "Its share of records is ordinary: compare {hosts:message} with the other hosts (CPU, "
        "disk, network) before looking at keys of {name:name}.",
        hosts=hosts or message("its host"),
        name=name,
    )
