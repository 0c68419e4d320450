"""The state of a vertex by its input and output buffers. Both low: records flow. Both high: the
vertex is held from downstream. Only one high: it is the origin, or back-pressure is still
spreading.
"""

from collections.abc import Iterable
from typing import Literal

from ingest.messages import message

HIGH_INPUT = 0.5
"""Half of the buffers in use means that records queue, as for the origin of back-pressure."""
HIGH_OUTPUT = 0.65
"""An idle output keeps one buffer for each subpartition: nearly half of its pool where there are
many.
"""

PoolState = Literal["flows", "held", "origin", "output fills", "input fills"]
TRANSITIONAL = ("output fills", "input fills")
WORDS: dict[PoolState, str] = {
    "flows": message("records flow"),
    "held": message("back-pressured by downstream"),
    "origin": message("origin: its input is full, its output is not"),
    "output fills": message("transitional: its output is full, its input is not yet"),
    "input fills": message("transitional: its input is full, the output before it is not yet"),
}


def pool_state(
    input: float | None,
    output: float | None,
    outputs_before: Iterable[float | None],
    *,
    is_source: bool,
) -> PoolState | None:
    """The state of a vertex by usages (0…1, above 1 with overdraft buffers); None if a deciding
    usage is unknown. ``outputs_before``: usages of its producers' outputs.
    """
    is_output_full = None if output is None else output >= HIGH_OUTPUT
    if is_source:
        return None if is_output_full is None else "held" if is_output_full else "flows"
    if is_output_full:
        # A local input reports 0, full or not.
        return "output fills" if input and input < HIGH_INPUT else "held"
    if input is None:
        return None
    if input < HIGH_INPUT:
        return None if is_output_full is None else "flows"
    full = is_any_full(outputs_before)
    return None if full is None else "origin" if full else "input fills"


def is_any_full(outputs: Iterable[float | None]) -> bool | None:
    known = [usage for usage in outputs if usage is not None]
    return max(known) >= HIGH_OUTPUT if known else None
