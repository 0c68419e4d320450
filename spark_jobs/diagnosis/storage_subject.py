"""Findings whose subject is a root of the checkpoint storage, or a job's directory in it."""

from collections.abc import Iterable, Mapping
from typing import Any

from spark_jobs.diagnosis.findings import Confidence, Evidence, Finding, Related, Severity
from spark_jobs.diagnosis.storage_samples import StorageJobSample, StorageRootSample

TWO_DAYS_S = 172_800
"""A daily audit may come late; what one saw and the next did not is closed by that next one."""


def root_finding(
    sample: StorageRootSample,
    rule: str,
    severity: Severity,
    *,
    title: str,
    cause: str,
    next_step: str,
    evidence: Iterable[Evidence],
    related: Iterable[Related] = (),
    data: Mapping[str, Any] | None = None,
) -> Finding:
    return Finding(
        rule=rule,
        severity=severity,
        confidence="high",
        subject_kind="root",
        subject_id=sample.root,
        subject=sample.root,
        title=title,
        cause=cause,
        next_step=next_step,
        seen_at_ms=sample.audited_at_ms,
        evidence=tuple(evidence),
        related=tuple(related),
        data={"root": sample.root} | dict(data or {}),
    )


def stored_job_finding(
    sample: StorageJobSample,
    rule: str,
    severity: Severity,
    *,
    title: str,
    cause: str,
    next_step: str,
    evidence: Iterable[Evidence],
    confidence: Confidence = "high",
    related: Iterable[Related] = (),
    data: Mapping[str, Any] | None = None,
) -> Finding:
    """A job that no cluster has told of has no page of its own: there the subject is its directory."""
    known = bool(sample.cluster)
    directory = f"{sample.root}/{sample.job_id}"
    return Finding(
        rule=rule,
        severity=severity,
        confidence=confidence,
        subject_kind="job" if known else "root",
        subject_id=sample.root if known else directory,
        subject=(sample.job_name or sample.job_id) if known else directory,
        title=title,
        cause=cause,
        next_step=next_step,
        seen_at_ms=sample.audited_at_ms,
        evidence=tuple(evidence),
        related=tuple(related),
        data={"root": sample.root, "job_id": sample.job_id} | dict(data or {}),
    )


def clean_up_step(sample: StorageRootSample, what: str) -> str:
    """How to get rid of ``what``, or what bars it first."""
    barred = f" First resolve what prevents it: {', '.join(sample.clean_up_barred_by)}." if sample.clean_up_barred_by else ""
    return (
        f"Let Weir make a clean-up plan for {what}, read it and approve it: the button on the root's page, or "
        f"`manage.py plan_cleanup {sample.root}`. It moves the files into quarantine, from where they can be brought back.{barred} "
        "Do not delete by age: files of incremental checkpoints are old and needed all the same."
    )
