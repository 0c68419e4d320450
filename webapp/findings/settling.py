"""Saves the findings of judgements outside the cycle that know all current findings: audits,
copies, NameNodes and objectives.
"""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from spark_jobs.diagnosis.findings import Finding as RuleFinding
from spark_jobs.diagnosis.plain import finding_to_plain
from webapp.findings import marks
from webapp.findings.choices import SEVERITY_RANK, Severity
from webapp.findings.models import Finding
from webapp.findings.signals import findings_changed
from webapp.lib.chunks import chunks
from webapp.lib.instants import instant_of
from webapp.work.lease import WriteGuard

TEXTS = (
    "severity",
    "confidence",
    "subject_kind",
    "subject",
    "title",
    "cause",
    "next_step",
    "evidence",
    "related",
    "data",
)
ROWS_AT_ONCE = 500
SUBJECT_LENGTH = 300

Identity = tuple[str, str, str, str]
"""cluster, job id, rule, subject id; roots have no cluster and job."""


def by_identity(findings: Iterable[Finding]) -> dict[Identity, Finding]:
    return {
        (finding.cluster, finding.job_id, finding.rule, finding.subject_id): finding
        for finding in findings
    }


def identified(
    findings: Iterable[RuleFinding], cluster: str = "", job_id: str = "", **more: Any
) -> dict[Identity, dict[str, Any]]:
    """Findings of a judgement, for :func:`settle`. ``more``: such as ``job_name``."""
    return {
        (cluster, job_id, finding.rule, bounded_subject(finding.subject_id)): {
            **finding_to_plain(finding),
            **more,
        }
        for finding in findings
    }


def bounded_subject(subject_id: str) -> str:
    """The subject in the length of its column; a hash replaces the end of a long one."""
    if len(subject_id) <= SUBJECT_LENGTH:
        return subject_id
    return (
        f"{subject_id[: SUBJECT_LENGTH - 33]} "
        f"{hashlib.sha256(subject_id.encode()).hexdigest()[:32]}"
    )


def settle(
    new: Mapping[Identity, Mapping[str, Any]],
    standing: dict[Identity, Finding],
    guard: WriteGuard,
    at: datetime | None,
) -> int:
    """Save the ``new`` findings and close other open ones (``standing``); returns how many were
    closed.
    """
    for identities in chunks(new, ROWS_AT_ONCE):
        with guard.writing():
            for identity in identities:
                _save(standing.pop(identity, None), identity, new[identity])
    ended = [finding.pk for finding in standing.values()]
    for pks in chunks(ended, ROWS_AT_ONCE):
        with guard.writing():
            marks.close(pks, at)
    if new or ended:
        findings_changed.send(sender=None)
    return len(ended)


def _save(row: Finding | None, identity: Identity, plain: Mapping[str, Any]) -> None:
    cluster, job_id, rule, subject_id = identity
    at = instant_of(plain["seen_at_ms"])
    before = marks.FindingMark.of(row) if row else None
    row = row or Finding(
        cluster=cluster,
        job_id=job_id,
        first_attempt_id=plain.get("first_attempt_id", ""),
        rule=rule,
        subject_id=subject_id,
        first_seen=at,
    )
    for name in TEXTS:
        setattr(row, name, plain[name])
    row.job_name = (plain.get("job_name") or "")[:300] or None
    row.severity_rank = SEVERITY_RANK[Severity(row.severity)]
    row.last_seen = row.as_of = at
    marks.save(row, before)
