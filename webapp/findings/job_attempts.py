"""Findings belong to a job, whichever attempt they were seen on."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from django.db.models import F, Q

from webapp.findings.choices import FindingState
from webapp.findings.models import Finding
from webapp.fleet.attempts import ChangedLinks, Job, ids_by_first_attempt
from webapp.fleet.models import JobCurrent
from webapp.lib.chunks import chunks

JOBS_AT_ONCE = 500
STORAGE_RULES = "storage."
"""Prefix of rules whose findings only concern the attempt that owns the directories."""


def follow_links(links: ChangedLinks) -> None:
    """Mark findings to be folded again: findings of attempts that now belong to another job, and
    findings that ended with an attempt that now has a successor. Call it in the transaction that
    changed the links.
    """
    for (cluster, job_id), first_id in links.moved.items():
        moved = Finding.objects.filter(cluster=cluster, job_id=job_id).exclude(
            rule__startswith=STORAGE_RULES
        )
        # At most one finding is open per rule and subject: folding opens the one that lasts.
        moved.filter(state=FindingState.OPEN).update(
            state=FindingState.CLOSED, closed_at=F("last_seen"), to_alert=True
        )
        moved.update(first_attempt_id=first_id, refold_from=F("first_seen"))
    by_cluster: dict[str, list[str]] = defaultdict(list)
    for cluster, job_id in links.followed:
        by_cluster[cluster].append(job_id)
    for cluster, followed in by_cluster.items():
        for job_ids in chunks(followed, JOBS_AT_ONCE):
            ends = JobCurrent.objects.filter(
                cluster=cluster, job_id__in=job_ids, end_time__isnull=False
            ).values_list("job_id", "end_time")
            closed_by_end = Q(pk__in=[])
            for job_id, end in ends:
                # ``closed_at`` is never before the last occurrence, so it may be after the end.
                closed_by_end |= Q(job_id=job_id, closed_at__gte=end)
            Finding.objects.filter(
                closed_by_end, cluster=cluster, state=FindingState.CLOSED, refold_from__isnull=True
            ).exclude(rule__startswith=STORAGE_RULES).update(refold_from=F("last_seen"))


def findings_of(jobs: Iterable[JobCurrent]) -> Q:
    """Condition for findings that :func:`findings_by_attempt` assigns to one of these rows, and few
    others.
    """
    ids_by_cluster: dict[str, set[str]] = defaultdict(set)
    for job in jobs:
        ids_by_cluster[job.cluster] |= {job.job_id, job.first_attempt_id or job.job_id}
    condition = Q(pk__in=[])
    for cluster, ids in ids_by_cluster.items():
        condition |= Q(cluster=cluster, first_attempt_id__in=ids)
    return condition


def findings_by_attempt(
    jobs: Sequence[JobCurrent], findings: Iterable[Finding]
) -> dict[Job, list[Finding]]:
    """Storage findings only belong to the attempt itself, others to all attempts of the job."""
    by_first: dict[Job, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_first[finding.cluster, finding.first_attempt_id].append(finding)
    by_row: dict[Job, list[Finding]] = {}
    for job in jobs:
        possible_ids = dict.fromkeys((job.first_attempt_id or job.job_id, job.job_id))
        by_row[job.cluster, job.job_id] = [
            finding
            for first_id in possible_ids
            for finding in by_first[job.cluster, first_id]
            if finding.job_id == job.job_id or not finding.rule.startswith(STORAGE_RULES)
        ]
    return by_row


def attempts_of(findings: Iterable[Finding]) -> dict[Job, str]:
    """(cluster, job id) of all attempts of the jobs of these findings → name of the job."""
    names = {
        (finding.cluster, finding.first_attempt_id): finding.job_name or ""
        for finding in findings
        if finding.job_id
    }
    return {
        (cluster, job_id): names[cluster, first_id]
        for (cluster, first_id), ids in ids_by_first_attempt(names).items()
        for job_id in ids
    }
