"""The worst finding of each job, as the reason of its health."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from webapp.findings.badges import severity_badge
from webapp.findings.choices import SEVERITY_RANK, FindingState, Severity
from webapp.findings.job_attempts import findings_by_attempt, findings_of
from webapp.findings.models import WORST_FIRST, Finding
from webapp.findings.presentation import precedence
from webapp.fleet.models import JobCurrent
from webapp.lib.badges import Badge

MOST_FINDINGS = 2_000


@dataclass(frozen=True)
class StatusReason:
    pk: int
    badge: Badge
    title: str
    subject: str
    job_name: str | None
    related: list[dict[str, Any]]
    more: int = 0


def reasons(jobs: Sequence[JobCurrent]) -> dict[tuple[str, str], StatusReason]:
    """Open findings of running jobs count, and all findings of ended jobs."""
    ended = [job.job_id for job in jobs if job.is_over]
    listed = Finding.objects.filter(
        findings_of(jobs),
        Q(state=FindingState.OPEN) | Q(job_id__in=ended),
        severity_rank__gt=SEVERITY_RANK[Severity.INFO],
    )
    columns = (
        "cluster",
        "first_attempt_id",
        "job_id",
        "rule",
        "subject_id",
        "severity",
        "severity_rank",
        "last_seen",
        "title",
        "subject",
        "job_name",
        "related",
    )
    findings = list(listed.only(*columns).order_by(*WORST_FIRST)[:MOST_FINDINGS])
    reason_by_job = {}
    for key, job_findings in findings_by_attempt(jobs, findings).items():
        by_subject: dict[tuple[str, str], Finding] = {}
        for finding in job_findings:
            by_subject.setdefault((finding.rule, finding.subject_id), finding)
        if by_subject:
            reason_by_job[key] = _reason(list(by_subject.values()))
    return reason_by_job


def _reason(findings: list[Finding]) -> StatusReason:
    worst = min(findings, key=lambda finding: (-finding.severity_rank, precedence(finding.rule)))
    texts = worst.subject, worst.job_name, worst.related
    return StatusReason(
        worst.pk, severity_badge(worst.severity), worst.title, *texts, len(findings) - 1
    )
