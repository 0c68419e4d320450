"""Health of a job: 100 minus the points of its open findings (``POINTS``). The worst finding of a
rule counts in full, each further one 2 points, at most 10. Findings on storage costs
(``storage.*``) count nothing. Without data, health is unknown, not 100.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from ingest.messages import message

BEST = 100
POINTS = {
    ("critical", "high"): 40,
    ("critical", "medium"): 30,
    ("critical", "low"): 15,
    ("warning", "high"): 15,
    ("warning", "medium"): 10,
    ("warning", "low"): 5,
}
FURTHER_POINTS = 2
FURTHER_POINTS_AT_MOST = 10
FAMILIES_WITHOUT_DEDUCTION = frozenset({"storage"})


class OpenFinding(Protocol):
    @property
    def rule(self) -> str: ...
    @property
    def severity(self) -> str: ...
    @property
    def confidence(self) -> str: ...


F = TypeVar("F", bound=OpenFinding)


@dataclass(frozen=True, slots=True)
class Deduction(Generic[F]):
    finding: F
    points: int
    reason: str


@dataclass(frozen=True, slots=True)
class Health(Generic[F]):
    """``value`` is 0..100, None if no rule had data. The deductions may exceed 100."""

    value: int | None
    deductions: tuple[Deduction[F], ...] = ()


def health_of(findings: Iterable[F], *, judged: bool = True) -> Health[F]:
    """``judged``: some rule had data of the job."""
    deductions = deductions_of(findings)
    if not judged:
        return Health(None, deductions)
    return Health(max(0, BEST - sum(deduction.points for deduction in deductions)), deductions)


def deductions_of(findings: Iterable[F]) -> tuple[Deduction[F], ...]:
    by_rule: dict[str, list[F]] = {}
    for finding in findings:
        if _points(finding):
            by_rule.setdefault(finding.rule, []).append(finding)
    deductions: list[Deduction[F]] = []
    for of_rule in by_rule.values():
        gravest, *further = sorted(of_rule, key=_points, reverse=True)
        deductions.append(
            Deduction(
                gravest,
                _points(gravest),
                message(
                    "{severity:name}, {confidence:name} confidence",
                    severity=gravest.severity,
                    confidence=gravest.confidence,
                ),
            )
        )
        left = FURTHER_POINTS_AT_MOST
        for finding in further:
            points = min(FURTHER_POINTS, left)
            left -= points
            if points:
                deductions.append(
                    Deduction(
                        finding,
                        points,
                        message("a further finding of {rule:name}", rule=finding.rule),
                    )
                )
    return tuple(
        sorted(deductions, key=lambda deduction: (-deduction.points, deduction.finding.rule))
    )


def worst_points(findings: Iterable[OpenFinding]) -> int:
    """0 without findings."""
    return max(map(_points, findings), default=0)


def _points(finding: OpenFinding) -> int:
    if finding.rule.split(".", 1)[0] in FAMILIES_WITHOUT_DEDUCTION:
        return 0
    return POINTS.get((finding.severity, finding.confidence), 0)
