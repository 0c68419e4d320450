"""The treemap of an X-ray: boxes of operators, in them boxes of subtasks, coloured by how they
compare with their siblings.
"""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext

from webapp.charts.treemap import Rect, squarified
from webapp.lib.quantities import bytes_text, percent_text
from webapp.storage.xray.contents import OperatorContents, Xray

WIDE, NARROW = Rect(0, 0, 1000, 380), Rect(0, 0, 360, 420)
MOST_BOXES = 40
_TITLE_PX, _EDGE_PX = 20, 2
_LETTER_PX = 6.6
_HOT, _WARM = 2.0, 1.3
"""Times the median of its operator."""


@dataclass(frozen=True)
class SubtaskBox:
    """``level`` is the colour: u1 as its siblings, u3 clearly above, u4 twice the median or more,
    line for the rest of many.
    """

    rect: Rect
    label: str
    words: str
    level: str


@dataclass(frozen=True)
class OperatorBox:
    rect: Rect
    title: str
    words: str
    subtasks: tuple[SubtaskBox, ...]


@dataclass(frozen=True)
class Treemap:
    frame: Rect
    operators: tuple[OperatorBox, ...]
    left_out: int
    left_out_bytes: int


def treemap(xray: Xray, names: Mapping[str, str], frame: Rect = WIDE) -> Treemap | None:
    """``None`` where nothing has any state. ``names`` are those that the job's plan knows."""
    filled = [operator for operator in xray.operators if operator.state_bytes > 0]
    if not filled:
        return None
    shown, rest = filled[:MOST_BOXES], filled[MOST_BOXES:]
    rects = squarified([operator.state_bytes for operator in shown], frame)
    boxes = tuple(
        _operator(operator, rect, names, xray.state_bytes)
        for operator, rect in zip(shown, rects, strict=True)
    )
    return Treemap(
        frame,
        boxes,
        len(rest) + xray.operators_left_out,
        sum(operator.state_bytes for operator in rest),
    )


def name_of(operator: OperatorContents, names: Mapping[str, str]) -> str:
    return (
        operator.name
        or names.get(operator.operator_id, "")
        or gettext("operator %(operator_id)s") % {"operator_id": operator.operator_id[:8]}
    )


def _operator(
    operator: OperatorContents, rect: Rect, names: Mapping[str, str], whole: int
) -> OperatorBox:
    name = name_of(operator, names)
    share = percent_text(operator.state_bytes / whole) if whole else "–"
    words = gettext(
        "%(name)s: %(state_bytes)s, %(share)s of the state, %(subtasks)s subtasks with state"
    ) % {
        "name": name,
        "state_bytes": bytes_text(operator.state_bytes),
        "share": share,
        "subtasks": operator.subtasks,
    }
    title = _fitting(f"{name} {bytes_text(operator.state_bytes)}", rect.width - 10)
    has_title = rect.height > 34 and bool(title)
    return OperatorBox(
        rect,
        title if has_title else "",
        words,
        _subtasks(operator, name, rect.inside(_EDGE_PX, _TITLE_PX if has_title else _EDGE_PX)),
    )


def _subtasks(operator: OperatorContents, name: str, frame: Rect) -> tuple[SubtaskBox, ...]:
    sizes = [part.state_bytes for part in operator.largest if part.state_bytes > 0]
    middle = statistics.median(sizes) if sizes else 0
    entries = [
        (part.state_bytes, f"{part.subtask}", _level(part.state_bytes, middle, len(sizes)))
        for part in operator.largest
        if part.state_bytes > 0
    ]
    if operator.rest_bytes:
        entries.append((operator.rest_bytes, "others", "line"))
    entries.sort(key=lambda entry: -entry[0])
    rects = squarified([size for size, _label, _colour in entries], frame)
    return tuple(
        SubtaskBox(
            rect,
            _fitting(label, rect.width - 6) if rect.height > 15 else "",
            gettext("%(name)s, subtask %(label)s: %(size)s")
            % {"name": name, "label": label, "size": bytes_text(size)},
            level,
        )
        for (size, label, level), rect in zip(entries, rects, strict=True)
    )


def _level(size: int, middle: float, count: int) -> str:
    if count < 2 or not middle:
        return "u1"
    return "u4" if size >= _HOT * middle else "u3" if size >= _WARM * middle else "u1"


def _fitting(text: str, width: float) -> str:
    """As much of it as there is room for; nothing rather than one letter."""
    letters = int(width / _LETTER_PX)
    if len(text) <= letters:
        return text
    return text[: letters - 1] + "…" if letters > 4 else ""
