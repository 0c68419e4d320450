"""``/jobs/:id/vertices/:vid/flamegraph``: what the threads of a vertex were doing when sampled, as
a tree of methods.

Since Flink 1.13. The root holds all stack traces that were sampled, a node those in which its frame
was called by that of its parent.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from ingest.errors import Skipped
from ingest.flink_rest.payloads.fields import Fields, signed

MOST_NODES = 50_000
"""A hundred samples of each subtask (``rest.flamegraph.num-samples``) share most of their frames.
"""
DEEPEST = 1_100
"""``rest.flamegraph.stack-depth`` is 100, and no JVM keeps more than 1,024 frames of a trace by
default.
"""
NAME_CHARS = 300


class FlameGraphState(StrEnum):
    """What became of a request.

    ``OFF``: rest.flamegraph.enabled is false; ``SAMPLING``: to be requested again; ``ENDED``: no
    tasks.
    """

    SAMPLED = "sampled"
    SAMPLING = "sampling"
    OFF = "off"
    ENDED = "ended"


_STATE_OF_CODE = {-1: FlameGraphState.ENDED, -2: FlameGraphState.OFF, -3: FlameGraphState.SAMPLING}


@dataclass(frozen=True, slots=True)
class Frame:
    """One node, after its parent and before its children.

    ``name`` is 'a.B.method:line', or 'root'; ``samples`` at it or below.
    """

    depth: int
    name: str
    samples: int


@dataclass(frozen=True, slots=True)
class FlameGraph:
    """``frames`` from the root on, depth first; empty with ``sampled_at`` None unless it was
    sampled.
    """

    state: FlameGraphState
    sampled_at: datetime | None = None
    frames: tuple[Frame, ...] = ()


def flame_graph(body: Any) -> FlameGraph:
    """Raises ``Skipped`` on a bad shape, or a graph that is too large or deep.

    A negative time says why there is no graph: -1 ended, -2 switched off, -3 being sampled; what is
    none of these is taken as being sampled.
    """
    payload = Fields(body)
    root = payload.object("data")
    if root is None:
        return FlameGraph(_STATE_OF_CODE.get(_code(payload) or 0, FlameGraphState.SAMPLING))
    return FlameGraph(
        FlameGraphState.SAMPLED, payload.the_instant("endTimestamp"), tuple(_frames(root))
    )


def _code(payload: Fields) -> int | None:
    try:
        return signed(payload.raw("endTimestamp"))
    except ValueError:
        raise Skipped(
            "endTimestamp: expected a time in epoch milliseconds or a negative code"
        ) from None


def _frames(root: Fields) -> list[Frame]:
    """Without recursion: how deep a graph is, is for its sender to say."""
    frames: list[Frame] = []
    waiting = [(0, root)]
    while waiting:
        depth, node = waiting.pop()
        samples = node.the_whole("value")
        frames.append(Frame(depth, node.the_text("name")[:NAME_CHARS], samples))
        if len(frames) + len(waiting) > MOST_NODES:
            raise Skipped(f"{node.place}: more than {MOST_NODES:,} frames")
        if depth >= DEEPEST:
            raise Skipped(f"data: more than {DEEPEST:,} frames deep")
        # A place that grew by a part for each level would be longer than all names together.
        children = [
            Fields(child, f"data at depth {depth + 1}") for _, child in node.items("children")
        ]
        below = sum(child.the_whole("value") for child in children)
        if below > samples:
            raise Skipped(f"{node.place}: its children hold {below} samples, it holds {samples}")
        waiting += [(depth + 1, child) for child in reversed(children)]
    return frames
