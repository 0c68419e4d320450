"""What a rule says: findings with their evidence, and what it could not judge."""

from collections.abc import Mapping
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
    words). ``threshold`` is what it was compared with, ``threshold_key`` names that setting.
    """

    name: str
    value: float | int | str | None
    unit: str = ""
    threshold: float | int | None = None
    comparison: str = ""
    threshold_key: str = ""
    at_ms: int | None = None
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
    """What is wrong with one subject at one instant. Identity over time is (cluster, job_id, rule,
    ``subject_id``). ``seen_at_ms``: of its newest evidence; ``began_at_ms``: of its first, None for
    the beginning of the judged minute. ``evidence`` begins with the figure that pages draw over
    time. ``data`` is JSON-compatible: what pages draw.
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
    """A rule that could not judge, and what it lacked, in words for people."""

    rule: str
    missing: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    findings: tuple[Finding, ...] = ()
    unknowns: tuple[Unknown, ...] = ()


class NotJudged(Exception):
    """Raised by a rule that lacks what it needs; its text says what, in words for people.

    Not an error: it becomes an ``Unknown``.
    """
