"""A flame graph of a vertex as pages and the API show it: the picture, and in words what is known or what is missing."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from webapp.charts.icicle import Icicle, icicle
from webapp.flame_graphs.choices import FlameGraphState as State
from webapp.flame_graphs.models import FlameGraph
from webapp.flame_graphs.requests import GIVEN_UP_AFTER, NOT_BEFORE

SWITCH_ON = "rest.flamegraph.enabled: true"


@dataclass(frozen=True)
class ShownFlameGraph:
    """``row`` None: nobody has asked for one. ``picture`` None: there is none, and ``sentence`` says why."""

    row: FlameGraph | None
    picture: Icicle | None
    sentence: str
    is_waited_for: bool
    may_ask: bool


def flame_graph_of(cluster: str, job_id: str, vertex_id: str, now: datetime) -> ShownFlameGraph:
    """One query."""
    row = FlameGraph.objects.filter(cluster=cluster, job_id=job_id, vertex_id=vertex_id).first()
    if row is None:
        return ShownFlameGraph(None, None, "No flame graph of this vertex was asked for.", is_waited_for=False, may_ask=True)
    waited_for = row.ask_at is not None and row.wanted_at > now - GIVEN_UP_AFTER
    picture = icicle([(int(depth), str(name), int(samples)) for depth, name, samples in row.frames]) if row.sampled_at else None
    rests = row.answered_at is not None and row.answered_at > now - NOT_BEFORE
    return ShownFlameGraph(row, picture, _sentence(row, waited_for), waited_for, may_ask=not (waited_for or rests))


def _sentence(row: FlameGraph, waited_for: bool) -> str:
    newest = f" The one shown was sampled before: {row.sentence}" if row.sampled_at else ""
    if waited_for and row.asked == 0:
        return f"A flame graph is wanted; the next collect cycle asks for it.{newest}"
    if row.state == State.SAMPLING:
        return f"Flink is sampling it; it is asked again in a few seconds.{newest}"
    if row.state == State.SAMPLED:
        return row.sentence
    if row.state == State.OFF:
        return f"Flame graphs are not switched on: set {SWITCH_ON} in the configuration of Flink and restart its JobManager.{newest}"
    if row.state == State.ENDED:
        return f"The tasks of this vertex have ended; there is nothing to sample.{newest}"
    if row.state == State.FAILED:
        again = " It is asked again." if waited_for else ""
        return f"Flink gave none: {row.note}{again}{newest}"
    return f"It was wanted, and the cluster could not be asked since.{newest}"


def as_plain(shown: ShownFlameGraph) -> dict[str, Any]:
    """For the API."""
    row = shown.row
    return {
        "state": row.state if row else None,
        "sentence": shown.sentence,
        "sampled_at": row.sampled_at if row else None,
        "subtask": row.subtask if row else None,
        "samples": row.samples if row else None,
        "method": (row.method or None) if row else None,
        "method_samples": row.method_samples if row else None,
    }
