"""Scalings of Flink's autoscaler, by its events (classes ``AutoScalerEventHandler`` and
``JobVertexScaler`` of the Flink Kubernetes Operator): what each wanted, what it cost, and whether
the autoscaler found it ineffective.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from spark_jobs.diagnosis.samples import Annotation, JobStart

REPORT, INEFFECTIVE = "ScalingReport", "IneffectiveScaling"
EXECUTED = "Scaling execution enabled"
"""Otherwise the report is only advice."""
RESTARTS_WITHIN_MS = 1_800_000
"""From the report until all tasks run: the savepoint, and pods that start."""
CLOCK_MS = 5_000
_NUMBER = r"(-?[0-9][0-9.,]*(?:E-?[0-9]+)?|-?Infinity|NaN)"
_ENTRY = re.compile(
    r"\{ Vertex ID ([0-9a-f]{32}) \| Parallelism ([0-9]{1,6}) -> ([0-9]{1,6}) \| "
    rf"Processing capacity {_NUMBER} -> {_NUMBER} \| Target data rate {_NUMBER}\}}"
)
_INEFFECTIVE = re.compile(
    r"Ineffective scaling detected for ([0-9a-f]{32}) "
    rf"\(expected increase: {_NUMBER}, actual increase {_NUMBER}\)"
)


@dataclass(frozen=True, slots=True)
class Scaling:
    """Of one vertex, at ``at_ms``. Rates are records/s: ``target`` is what the autoscaler wants to
    be processed, ``capacity`` what it measured before, ``expected`` after. ``lost_ms``: until all
    tasks ran again, None if that was not seen. ``gain`` is known only of a scaling that did not
    help.
    """

    at_ms: int
    vertex_id: str
    before: int
    after: int
    target_per_s: float | None
    capacity_per_s: float | None
    expected_per_s: float | None
    lost_ms: int | None = None
    gain_per_s: float | None = None
    expected_gain_per_s: float | None = None

    @property
    def was_ineffective(self) -> bool:
        return self.expected_gain_per_s is not None


def scalings(annotations: Sequence[Annotation], starts: Sequence[JobStart]) -> list[Scaling]:
    """Scalings that were executed, oldest first."""
    reports = sorted(
        (annotation.at_ms, text)
        for annotation in annotations
        if annotation.subject == REPORT
        and (text := _text_of(annotation.detail)).startswith(EXECUTED)
    )
    complaints = [
        (annotation.at_ms, *match.groups())
        for annotation in annotations
        if annotation.subject == INEFFECTIVE
        and (match := _INEFFECTIVE.match(_text_of(annotation.detail)))
    ]
    found: list[Scaling] = []
    for index, (at_ms, text) in enumerate(reports):
        next_ms = reports[index + 1][0] if index + 1 < len(reports) else at_ms + RESTARTS_WITHIN_MS
        until_ms = min(next_ms, at_ms + RESTARTS_WITHIN_MS)
        lost_ms = next(
            (start.total_ms for start in starts if at_ms - CLOCK_MS <= start.at_ms < until_ms), None
        )
        found += _entries(at_ms, text, lost_ms)
    return list(_with_complaints(found, complaints))


def _entries(at_ms: int, text: str, lost_ms: int | None) -> Iterator[Scaling]:
    for vertex_id, before, after, capacity, expected, target in _ENTRY.findall(text):
        rates = _rate(target), _rate(capacity), _rate(expected)
        yield Scaling(at_ms, vertex_id, int(before), int(after), *rates, lost_ms)


def _with_complaints(
    found: Sequence[Scaling], complaints: Iterable[Sequence[Any]]
) -> Iterator[Scaling]:
    """A complaint is about the newest scaling of its vertex before it."""
    newest: dict[int, Sequence[Any]] = {}
    for complaint in complaints:
        at_ms, vertex_id = complaint[:2]
        for index in reversed(range(len(found))):
            if found[index].vertex_id == vertex_id and found[index].at_ms < at_ms:
                newest[index] = complaint
                break
    for index, scaling in enumerate(found):
        if index not in newest:
            yield scaling
            continue
        _at_ms, _vertex_id, expected, actual = newest[index]
        yield replace(scaling, gain_per_s=_rate(actual), expected_gain_per_s=_rate(expected))


def _rate(text: str) -> float | None:
    """Java writes the decimal mark of the operator's locale."""
    value = float(text.replace(",", "."))
    return value if isfinite(value) else None


def _text_of(detail: Mapping[str, Any]) -> str:
    text = detail.get("said")
    return text if isinstance(text, str) else ""
