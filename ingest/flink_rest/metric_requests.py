"""Which metrics of which subtasks are requested, in paths short enough for Flink."""

import math
from collections.abc import Iterable, Iterator, Sequence

from ingest.flink_rest.client import MAX_PATH_BYTES
from ingest.flink_rest.metric_names import SUBTASK_METRICS
from ingest.flink_rest.versions import major


def names_for(flink_version: str | None) -> tuple[str, ...]:
    """Metric ids that this release has, one per metric: the shortest complete set, so that few
    requests do.

    Up to 1.20 the flat group ``buffers`` is there; 2.x has the long names only. For an unknown
    release all are requested.
    """
    return tuple(
        name
        for spellings in SUBTASK_METRICS.values()
        for name in _of_release(spellings, major(flink_version))
    )


def _of_release(spellings: tuple[str, ...], release: int | None) -> Iterator[str]:
    flat = [name for name in spellings if name.startswith("buffers.")]
    if release is None or not flat:
        yield from spellings
    elif release < 2:
        yield flat[0]
    else:
        yield from (name for name in spellings if name not in flat)


def subtask_paths(
    vertex_path: str, subtasks: Iterable[int], names: Sequence[str], prefix_bytes: int = 0
) -> list[str]:
    """``<vertex>/metrics?get=0.a,0.b,1.a…`` for these subtasks, each path below Flink's limit."""
    head = f"{vertex_path}/metrics?get="
    room = MAX_PATH_BYTES - prefix_bytes
    paths: list[str] = []
    current = head
    for subtask in subtasks:
        part = ",".join(f"{subtask}.{name}" for name in names)
        if len(current) > len(head) and len(current) + 1 + len(part) > room:
            paths.append(current)
            current = head
        current += part if current == head else "," + part
    return [*paths, current] if current != head else paths


def subtasks_per_request(names: Sequence[str], parallelism: int, path_bytes: int) -> int:
    chars_per_subtask = sum(len(name) + 2 + len(str(max(parallelism - 1, 0))) for name in names)
    return max(1, (MAX_PATH_BYTES - path_bytes) // max(1, chars_per_subtask))


def chosen_subtasks(parallelism: int, at_most: int, hottest: Sequence[int], turn: int) -> list[int]:
    """All subtasks where they fit; else the hottest for half of the room, and a share of the rest
    that rotates with ``turn``.
    """
    if parallelism <= at_most:
        return list(range(parallelism))
    hot = [subtask for subtask in hottest if 0 <= subtask < parallelism][: at_most // 2]
    chosen = set(hot)
    rest = [subtask for subtask in range(parallelism) if subtask not in chosen]
    room = at_most - len(hot)
    start = (turn % math.ceil(len(rest) / room)) * room
    return sorted(hot + rest[start : start + room])
