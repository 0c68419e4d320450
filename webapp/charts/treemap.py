"""Areas for sizes: nearly square boxes that fill a rectangle, the largest first. Pure geometry in
pixels.

The squarified layout of Bruls, Huizing and van Wijk: boxes are put into a row along the shorter
side for as long as that makes the worst of them less oblong.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Rect:
    """Top left corner and extent."""

    x: float
    y: float
    width: float
    height: float

    def inside(self, edge: float, top: float) -> "Rect":
        """Without a border of ``edge`` pixels, ``top`` of them above; never less than nothing."""
        return Rect(
            self.x + edge,
            self.y + top,
            max(self.width - 2 * edge, 0),
            max(self.height - top - edge, 0),
        )


def squarified(sizes: Sequence[float], frame: Rect) -> list[Rect]:
    """One box per size, in the same order; sizes must be sorted from large to small.

    What is 0 gets an empty box.
    """
    whole = sum(sizes)
    if whole <= 0 or frame.width <= 0 or frame.height <= 0:
        return [Rect(frame.x, frame.y, 0, 0) for _size in sizes]
    scale = frame.width * frame.height / whole
    areas = [size * scale for size in sizes]
    boxes: list[Rect] = []
    rest, start = frame, 0
    while start < len(areas):
        end = start + 1
        side = min(rest.width, rest.height)
        while end < len(areas) and _worst(areas[start : end + 1], side) <= _worst(
            areas[start:end], side
        ):
            end += 1
        row, rest = _row(areas[start:end], rest)
        boxes += row
        start = end
    return boxes


def _worst(areas: Sequence[float], side: float) -> float:
    """Longest over shortest side of the most oblong box of a row."""
    total, smallest = sum(areas), min(areas)
    if smallest <= 0 or side <= 0:
        return float("inf")
    return max(side * side * max(areas) / (total * total), total * total / (side * side * smallest))


def _row(areas: Sequence[float], frame: Rect) -> tuple[list[Rect], Rect]:
    """Boxes along the shorter side of ``frame``, and what is left of it.

    They share that side, and are no deeper than the frame: what a rounding error adds up to never
    leaves it.
    """
    total = sum(areas)
    if frame.width >= frame.height:
        width = min(total / frame.height, frame.width) if frame.height else 0.0
        boxes, y = [], frame.y
        for area in areas:
            height = frame.height * area / total if total else 0.0
            boxes.append(Rect(frame.x, y, width, height))
            y += height
        return boxes, Rect(frame.x + width, frame.y, max(frame.width - width, 0), frame.height)
    height = min(total / frame.width, frame.height) if frame.width else 0.0
    boxes, x = [], frame.x
    for area in areas:
        width = frame.width * area / total if total else 0.0
        boxes.append(Rect(x, frame.y, width, height))
        x += width
    return boxes, Rect(frame.x, frame.y + height, frame.width, max(frame.height - height, 0))
