"""A flame graph as rows of boxes, the outermost call on top: pure geometry in percent of the
width.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.utils.translation import gettext

from ingest.messages import share_text
from spark_jobs.diagnosis.flame_graphs import method_of
from spark_jobs.diagnosis.stack_traces import is_own

ROW_PX = 18
MOST_ROWS = 60
LEAST_PERCENT = 0.15
"""Narrower boxes could neither be seen nor pointed at."""
_LABEL_FROM_PERCENT = 4


@dataclass(frozen=True)
class Box:
    """``x`` and ``width`` in percent, ``row`` from 0 on; ``label`` is empty where it would not
    fit.
    """

    row: int
    x: str
    width: str
    label: str
    name: str
    samples: int
    share: str
    is_own: bool

    @property
    def y(self) -> int:
        return self.row * ROW_PX


@dataclass(frozen=True)
class Icicle:
    """``folded``: calls of Flink and Java between the thread's start and the first row that are the
    same in every sample.
    """

    boxes: tuple[Box, ...]
    folded: int
    left_out: int

    @property
    def height(self) -> int:
        return (max((box.row for box in self.boxes), default=-1) + 1) * ROW_PX


def icicle(frames: Sequence[tuple[int, str, int]]) -> Icicle:
    """``frames``: depth, name and samples from the root on, depth first.

    A box is as wide as its share of all samples.
    """
    total = frames[0][2] if frames else 0
    if not total:
        return Icicle((), 0, 0)
    folded = _same_in_all(frames)
    boxes: list[Box] = []
    left_out = 0
    # Of the frames above, where each begins, and how many of its samples are those of children that
    # came before.
    begins: list[int] = []
    given: list[int] = []
    for depth, name, samples in frames:
        del begins[depth:], given[depth:]
        place = begins[-1] + given[-1] if begins else 0
        if given:
            given[-1] += samples
        begins.append(place)
        given.append(0)
        row = depth - folded if depth else 0
        percent = 100 * samples / total
        if 0 < depth <= folded:
            continue
        if row >= MOST_ROWS or percent < LEAST_PERCENT:
            left_out += 1
            continue
        label = _label(name, percent) if depth else gettext("all samples")
        share = share_text(samples / total)
        boxes.append(
            Box(
                row,
                f"{100 * place / total:.3f}%",
                f"{percent:.3f}%",
                label,
                name if depth else gettext("all samples"),
                samples,
                share,
                depth > 0 and is_own(name),
            )
        )
    return Icicle(tuple(boxes), folded, left_out)


def _same_in_all(frames: Sequence[tuple[int, str, int]]) -> int:
    total, folded = frames[0][2], 0
    for (depth, name, samples), following in pairwise(frames[1:]):
        # The last of them, and one that branches, is drawn.
        if depth != folded + 1 or samples != total or following[2] != total or is_own(name):
            break
        folded = depth
    return folded


def _label(name: str, percent: float) -> str:
    if percent < _LABEL_FROM_PERCENT:
        return ""
    owner, _, method = method_of(name).rpartition(".")
    words = f"{owner.rpartition('.')[2]}.{method}" if owner else method
    room = int(percent * 1.6)
    return words if len(words) <= room else f"{words[: max(room - 1, 1)]}…"
