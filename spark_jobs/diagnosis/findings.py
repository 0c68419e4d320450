"""Results of a rule: findings with evidence, or the data that the rule lacked."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["info", "warning", "critical"]
Confidence = Literal["low", "medium", "high"]
SubjectKind = Literal[
    "job", "vertex", "subtask", "taskmanager", "checkpoint", "cluster", "root", "store", "weir"
]
Subject = tuple[SubjectKind, str, str]
"""Kind, id and name."""

CONFIDENCES: tuple[Confidence, ...] = ("low", "medium", "high")


@dataclass(frozen=True, slots=True)
class Evidence:
    """One figure: ``value`` in ``unit`` ('ms', 'bytes', 'ratio', 'records/s', 'count', '' for
    words), compared with ``threshold`` (the setting ``threshold_key``).
    """

    name: str
    value: float | int | str | None
    unit: str = ""
    threshold: float | int | None = None
    comparison: str = ""
    threshold_key: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Related:
    """Another subject: a checkpoint, a host, or a back-pressured vertex with ``path`` (names from
    that vertex to the origin).
    """

    kind: str
    subject: str
    note: str = ""
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """Identity over time: (cluster, job_id, rule, ``subject_id``). ``seen_at_ms``: time of the
    newest evidence; ``began_at_ms``: of the oldest, None for the beginning of the judged minute.
    Pages draw the first figure of ``evidence`` over time, and show ``data`` (JSON-compatible).
    """

    rule: str
    severity: Severity
    confidence: Confidence
    subject_kind: SubjectKind
    subject_id: str
    subject: str
    title: str
    cause: str
    next_step: str
    seen_at_ms: int
    evidence: tuple[Evidence, ...] = ()
    related: tuple[Related, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    began_at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """``missing``: the data that the rule lacked, for people."""

    rule: str
    missing: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    findings: tuple[Finding, ...] = ()
    unknowns: tuple[Unknown, ...] = ()


class NotJudged(Exception):
    """Raised by a rule that lacks data; the text names these for people."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """``key`` is ``<rule id>.<name>``. An override outside ``minimum``..``maximum`` is refused."""

    key: str
    default: float
    unit: str
    minimum: float
    maximum: float
    reason: str

    def allows(self, value: float) -> bool:
        return self.minimum <= value <= self.maximum


class Limits:
    """Thresholds in force, by key. Raises ValueError for unknown keys and values out of bounds."""

    def __init__(
        self, thresholds: Iterable[Threshold], overrides: Mapping[str, float] | None = None
    ) -> None:
        self._thresholds = {threshold.key: threshold for threshold in thresholds}
        self._values = {key: threshold.default for key, threshold in self._thresholds.items()}
        for key, value in (overrides or {}).items():
            threshold = self._thresholds.get(key)
            if threshold is None:
                raise ValueError(f"There is no threshold {key!r}.")
            if not threshold.allows(value):
                bounds = f"{threshold.minimum:g} and {threshold.maximum:g} {threshold.unit}"
                raise ValueError(f"{key} must lie within {bounds.strip()}.")
            self._values[key] = value

    def __getitem__(self, key: str) -> float:
        return self._values[key]

    def evidence(
        self, name: str, value: float | int | None, key: str, note: str = "", comparison: str = ">="
    ) -> Evidence:
        """``value`` is in the unit of the threshold."""
        unit = self._thresholds[key].unit
        return Evidence(name, value, unit, self[key], comparison, key, note)
