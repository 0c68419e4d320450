"""The results of a rule: findings with their evidence, and what it could not judge."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["info", "warning", "critical"]
Confidence = Literal["low", "medium", "high"]
SubjectKind = Literal[
    "job", "vertex", "subtask", "taskmanager", "checkpoint", "cluster", "root", "store", "weir"
]

CONFIDENCES: tuple[Confidence, ...] = ("low", "medium", "high")


@dataclass(frozen=True, slots=True)
class Evidence:
    """One figure: ``value`` in ``unit`` ('ms', 'bytes', 'ratio', 'records/s', 'count', '' for
    words). It was compared with ``threshold``, which the setting ``threshold_key`` holds.
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
    """Another subject of the finding: a held vertex with ``path`` (vertex names from it to the
    origin), a checkpoint, a host.
    """

    kind: str
    subject: str
    note: str = ""
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """Identity over time: (cluster, job_id, rule, ``subject_id``). ``seen_at_ms``: of its newest
    evidence; ``began_at_ms``: of its first, None for the beginning of the judged minute. Pages draw
    the first figure of ``evidence`` over time, and ``data`` (JSON-compatible).
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
    """``missing``: what the rule lacked, for people."""

    rule: str
    missing: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    findings: tuple[Finding, ...] = ()
    unknowns: tuple[Unknown, ...] = ()


class NotJudged(Exception):
    """Raised by a rule that lacks data; the text tells people which."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """``key`` is ``<rule id>.<name>``. An override outside ``minimum``..``maximum`` is refused."""

    key: str
    default: float
    unit: str
    minimum: float
    maximum: float
    reason: str

    def __post_init__(self) -> None:
        if not self.allows(self.default):
            raise ValueError(
                f"{self.key}: the default {self.default} is not within "
                f"{self.minimum}..{self.maximum}"
            )

    def allows(self, value: float) -> bool:
        return self.minimum <= value <= self.maximum


class Limits:
    """Raises ValueError for an override of an unknown key or out of bounds."""

    def __init__(
        self, thresholds: Iterable[Threshold], overrides: Mapping[str, float] | None = None
    ) -> None:
        known = {threshold.key: threshold for threshold in thresholds}
        self._units = {key: threshold.unit for key, threshold in known.items()}
        self._values = {key: threshold.default for key, threshold in known.items()}
        for key, value in (overrides or {}).items():
            if key not in known:
                raise ValueError(f"There is no threshold {key!r}.")
            if not known[key].allows(value):
                raise ValueError(
                    (
                        f"{key} must lie within {known[key].minimum:g} and {known[key].maximum:g} "
                        f"{known[key].unit}."
                    ).replace(" .", ".")
                )
            self._values[key] = value

    def __getitem__(self, key: str) -> float:
        return self._values[key]

    def compared(
        self,
        name: str,
        value: float | int | None,
        key: str,
        note: str = "",
        comparison: str = ">=",
    ) -> Evidence:
        """A figure in the unit of its threshold."""
        return Evidence(name, value, self._units[key], self[key], comparison, key, note)
