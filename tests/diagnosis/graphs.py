"""Job graphs made by hand for rules about pressure: each vertex says what its subtasks did;
everything unsaid is at rest.
"""

from collections.abc import Sequence
from typing import Any

from ingest.flink_rest.versions import release
from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.findings import Finding
from spark_jobs.diagnosis.samples import Edge, JobWindow, Vertex, VertexWindow

AT_MS = 1_795_000_020_000
LIMITS = registry.limits()


def vertex(
    name: str,
    busy: Sequence[float | None] = (0.1, 0.1),
    waits: Sequence[float | None] | None = None,
    **values: Any,
) -> VertexWindow:
    """One element per subtask; idle is what is left.

    Subtasks of different vertices run in different TaskManagers.
    """
    count = len(busy) or len(waits or ())
    waits = tuple(waits) if waits is not None else (0.0,) * count
    idle = (
        tuple(
            None if b is None or w is None else max(0.0, 1 - b - w)
            for b, w in zip(busy, waits, strict=True)
        )
        if busy
        else ()
    )
    values.setdefault("taskmanager_id", tuple(f"tm-{name}-{index}" for index in range(count)))
    values.setdefault("host", tuple(f"host-{index}" for index in range(count)))
    values.setdefault("samples", 2)
    values.setdefault("idle_ratio", idle)
    return VertexWindow(name, count, busy_ratio=tuple(busy), backpressured_ratio=waits, **values)


def hot(name: str, *busy: float, full: float = 1.0, **values: Any) -> VertexWindow:
    """Busy subtasks with full inputs."""
    return vertex(
        name, busy, in_pool_usage=(full,) * len(busy), floating_usage=(full,) * len(busy), **values
    )


def held(name: str, *waits: float, busy: float = 0.05, **values: Any) -> VertexWindow:
    """Subtasks that wait for most of the time, their own inputs full."""
    values.setdefault("in_pool_usage", (1.0,) * len(waits))
    return vertex(name, (busy,) * len(waits), waits, **values)


def job(*windows: VertexWindow, edges: str, **values: Any) -> JobWindow:
    """``edges``: ``a>b b>c`` all-to-all, ``a=b`` pointwise.

    Vertices named there without a window reported nothing.
    """
    links = []
    for edge in edges.split():
        source, target = edge.replace("=", ">").split(">")
        links.append(Edge(source, target, "FORWARD" if "=" in edge else "HASH"))
    sizes = {window.vertex_id: window.parallelism for window in windows}
    names = dict.fromkeys(
        [*sizes, *(name for link in links for name in (link.source, link.target))]
    )
    values.setdefault("flink_version", "1.20.5")
    values.setdefault("version", release(values["flink_version"]))
    values.setdefault("state", "RUNNING")
    return JobWindow(
        "prod",
        "b" * 32,
        AT_MS,
        AT_MS - 60_000,
        vertices=tuple(Vertex(name, name, sizes.get(name, 2)) for name in names),
        edges=tuple(links),
        vertex_windows=windows,
        **values,
    )


def found(window: JobWindow, rule: str) -> dict[str, Finding]:
    """Findings of one rule by subject."""
    return {
        finding.subject: finding for finding in registry.diagnose(window, LIMITS, [rule]).findings
    }


def unknown(window: JobWindow, rule: str) -> str:
    """What the rule lacked; empty where it could judge."""
    return " ".join(one.missing for one in registry.diagnose(window, LIMITS, [rule]).unknowns)
