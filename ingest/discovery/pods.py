from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

MAX_PODS = 300
"""Of a cluster: those with trouble first."""
REMOVED_KEPT_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod of a Flink cluster as an API server last listed it; "" and None are unknown.

    ``component``: jobmanager or taskmanager. ``waits``: why it does not run. ``ended``: how its
    newest container ended, unless in order. ``removed_ms``: when it was first listed no more.
    ``job_id``: of the cluster's only job.
    """

    name: str
    component: str
    phase: str = ""
    node: str = ""
    address: str = ""
    restarts: int | None = None
    created_ms: int | None = None
    started_ms: int | None = None
    waits: str = ""
    waits_since_ms: int | None = None
    ended: str = ""
    ended_ms: int | None = None
    removed_ms: int | None = None
    job_id: str = ""


_NAMES = frozenset(field.name for field in fields(Pod))


def pods_of(entries: Any) -> tuple[Pod, ...]:
    """From their plain form, as ``dataclasses.asdict`` makes it."""
    return tuple(
        Pod(**{name: value for name, value in entry.items() if name in _NAMES})
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict) and {"name", "component"} <= entry.keys()
    )


def with_removed(before: Sequence[Pod], listed: Sequence[Pod], at_ms: int) -> tuple[Pod, ...]:
    """``listed``, and for an hour those ``before`` that are listed no more; at most ``MAX_PODS``,
    by name.
    """
    names = {pod.name for pod in listed}
    removed = _removed((pod for pod in before if pod.name not in names), at_ms)
    by_trouble = sorted(
        (*listed, *removed),
        key=lambda pod: (not pod.waits, -(pod.removed_ms or pod.ended_ms or 0), pod.name),
    )
    return tuple(sorted(by_trouble[:MAX_PODS], key=lambda pod: pod.name))


def _removed(pods: Iterator[Pod], at_ms: int) -> Iterator[Pod]:
    for pod in pods:
        removed_ms = pod.removed_ms or at_ms
        if at_ms - removed_ms < REMOVED_KEPT_MS:
            yield replace(pod, waits="", removed_ms=removed_ms)
