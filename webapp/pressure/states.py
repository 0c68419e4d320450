"""What the buffers of each vertex of a job say, beside those before it."""

from collections.abc import Mapping
from typing import Any

from spark_jobs.diagnosis.pool_states import TRANSITIONAL, WORDS, pool_state
from webapp.pressure.models import PressureWindow


def pool_states(
    graph: Mapping[str, Any] | None, windows: Mapping[str, PressureWindow]
) -> dict[str, tuple[str, bool]]:
    """By vertex: the words of its state, and whether it is transitional; those of which it is not
    known are left out.

    Usages are the medians over subtasks, of the input the larger of all buffers and floating ones.
    """
    edges = [(edge.get("source"), edge.get("target")) for edge in (graph or {}).get("edges") or ()]
    feeding = {source for source, _ in edges}
    states = {}
    for vertex_id, window in windows.items():
        before = [
            windows[source].out_pool_p50
            for source, target in edges
            if target == vertex_id and source in windows
        ]
        known = [usage for usage in (window.in_pool_p50, window.floating_p50) if usage is not None]
        is_source = not any(target == vertex_id for _, target in edges)
        output = window.out_pool_p50 if vertex_id in feeding else 0.0
        state = (
            pool_state(max(known, default=None), output, before, is_source=is_source)
            if edges
            else None
        )
        if state:
            states[vertex_id] = WORDS[state], state in TRANSITIONAL
    return states
