"""What of a job is configured otherwise: its settings, its checkpoint settings, release,
parallelism, and the vertices of its plan.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ingest.messages import message
from webapp.fleet.models import JobCurrent

MOST_CHANGES = 200


@dataclass(frozen=True)
class Change:
    """``of``: what it belongs to. ``before``, ``after``: as text; None where it was not there."""

    of: str
    name: str
    before: str | None
    after: str | None


def changes(before: JobCurrent, after: JobCurrent) -> list[Change]:
    """The first ``MOST_CHANGES``, in order.

    What one of them did not report is no change: see :func:`not_reported`.
    """
    differences = [
        *_of_mapping(message("job"), _figures(before), _figures(after)),
        *_of_mapping(message("checkpoints"), before.checkpoint_config, after.checkpoint_config),
        *_of_mapping(message("configuration"), before.configuration, after.configuration),
        *_of_vertices(before.graph, after.graph),
    ]
    return differences[:MOST_CHANGES]


def not_reported(before: JobCurrent, after: JobCurrent) -> list[str]:
    lacking = {
        "configuration": message(
            "Flink did not report the configuration of both attempts, so it is not compared."
        ),
        "checkpoint_config": message(
            "Flink did not report the checkpoint settings of both attempts, so they are not "
            "compared."
        ),
        "graph": message("Flink did not report the plan of both attempts, so it is not compared."),
    }
    return [
        sentence
        for field, sentence in lacking.items()
        if not getattr(before, field) or not getattr(after, field)
    ]


def _figures(job: JobCurrent) -> dict[str, Any]:
    known = {
        "Flink": job.flink_version,
        "parallelism": job.parallelism,
        "vertices": job.vertex_count,
    }
    return {name: value for name, value in known.items() if value is not None}


def _of_mapping(
    of: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> Iterator[Change]:
    if not before or not after:
        return
    for name in sorted({*before, *after}):
        old, new = _text(before.get(name)), _text(after.get(name))
        if old != new:
            yield Change(of, name, old, new)


def _of_vertices(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> Iterator[Change]:
    old, new = _parallelisms(before), _parallelisms(after)
    if old and new:
        yield from _of_mapping(message("vertices"), old, new)


def _parallelisms(graph: Mapping[str, Any] | None) -> dict[str, str]:
    """By name: ids of vertices differ from plan to plan, and names may come twice."""
    by_vertex: dict[str, list[str]] = {}
    for vertex in (graph or {}).get("vertices") or ():
        by_vertex.setdefault(str(vertex.get("name") or vertex.get("vertex_id")), []).append(
            str(vertex.get("parallelism"))
        )
    return {
        name: message("parallelism {values:name}", values=", ".join(sorted(values)))
        for name, values in by_vertex.items()
    }


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
