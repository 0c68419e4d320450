"""Findings whose subject is the job itself."""

from collections.abc import Iterable, Mapping
from typing import Any

from spark_jobs.diagnosis.findings import Confidence, Evidence, Finding, Related, Severity
from spark_jobs.diagnosis.samples import JobWindow


def job_finding(
    window: JobWindow,
    rule: str,
    severity: Severity,
    confidence: Confidence,
    *,
    title: str,
    cause: str,
    next_step: str,
    evidence: Iterable[Evidence],
    seen_at_ms: int | None = None,
    related: Iterable[Related] = (),
    data: Mapping[str, Any] | None = None,
) -> Finding:
    """``seen_at_ms`` None is the instant of judging; a later one (clocks differ) is brought back to it."""
    return Finding(
        rule=rule,
        severity=severity,
        confidence=confidence,
        subject_kind="job",
        subject_id="job",
        subject=window.job_name or window.job_id,
        title=title,
        cause=cause,
        next_step=next_step,
        seen_at_ms=window.at_ms if seen_at_ms is None else min(seen_at_ms, window.at_ms),
        evidence=tuple(evidence),
        related=tuple(related),
        data=data or {},
    )
