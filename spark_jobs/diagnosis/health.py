"""Health of a job: 100 minus the points of its open findings (``POINTS``). The worst finding of a
rule costs all its points, further ones 2 each, together at most 10. Findings on storage
(``storage.*``) cost nothing. Without data, health is unknown, not 100.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True)
class Deduction:
    """``finding``: anything with a rule, a severity and a confidence."""

    finding: Any
    points: int
    reason: str


@dataclass(frozen=True)
class Health:
    """``value`` is 0..100, None if no rule had data. Deductions may sum to more than 100."""

    value: int | None
    deductions: tuple[Deduction, ...] = ()


def health_of(findings: Iterable[Any], *, judged: bool = True) -> Health:
    deductions = deductions_of(findings)
    if not judged:
        return Health(None, deductions)
    return Health(max(0, BEST - sum(deduction.points for deduction in deductions)), deductions)


def deductions_of(findings: Iterable[Any]) -> tuple[Deduction, ...]:
    by_rule: dict[str, list[Any]] = {}
    for finding in findings:
        if _points(finding):
            by_rule.setdefault(finding.rule, []).append(finding)
    deductions: list[Deduction] = []
    for rule_findings in by_rule.values():
        worst, *further = sorted(rule_findings, key=_points, reverse=True)
        reason = message(
            "{severity:name}, {confidence:name} confidence",
            severity=worst.severity,
            confidence=worst.confidence,
        )
        deductions.append(Deduction(worst, _points(worst), reason))
        for finding in further[: FURTHER_POINTS_AT_MOST // FURTHER_POINTS]:
            reason = message("a further finding of {rule:name}", rule=finding.rule)
            deductions.append(Deduction(finding, FURTHER_POINTS, reason))
    return tuple(
        sorted(deductions, key=lambda deduction: (-deduction.points, deduction.finding.rule))
    )


def worst_points(findings: Iterable[Any]) -> int:
    return max(map(_points, findings), default=0)


def _points(finding: Any) -> int:
    if finding.rule.split(".", 1)[0] in FAMILIES_WITHOUT_DEDUCTION:
        return 0
    return POINTS.get((finding.severity, finding.confidence), 0)
