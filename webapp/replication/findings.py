from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.replica_samples import ReplicaSample
from spark_jobs.fold.rule_evaluation import Settings
from webapp.findings import marks
from webapp.findings.models import Finding
from webapp.findings.overrides import as_plain
from webapp.findings.settling import by_identity, identified, settle
from webapp.findings.signals import findings_changed
from webapp.fleet.models import JobCurrent
from webapp.lib.instants import epoch_ms
from webapp.replication.models import Replica
from webapp.work.lease import WriteGuard


def judge(replica: Replica, guard: WriteGuard, now: datetime) -> None:
    job = JobCurrent.objects.filter(cluster=replica.cluster, job_id=replica.job_id).first()
    sample = sample_of(replica, job, now)
    limits = Settings(as_plain()).limits(replica.cluster, replica.job_id)
    findings = registry.diagnose(sample, limits).findings
    new = identified(findings, replica.cluster, replica.job_id, job_name=sample.job_name)
    settle(new, by_identity(_open(replica)), guard, now)


def close(replica: Replica, now: datetime) -> None:
    with transaction.atomic():
        marks.close([finding.pk for finding in _open(replica)], now)
    findings_changed.send(sender=None)


def _open(replica: Replica) -> QuerySet[Finding]:
    rules = registry.rules_for(ReplicaSample)
    return Finding.objects.open().filter(
        rule__in=rules, cluster=replica.cluster, job_id=replica.job_id
    )


def sample_of(replica: Replica, job: JobCurrent | None, now: datetime) -> ReplicaSample:
    since = replica.triggered_at
    return ReplicaSample(
        cluster=replica.cluster,
        job_id=replica.job_id,
        at_ms=epoch_ms(now),
        destination=replica.destination,
        since_request_ms=max(0, epoch_ms(now) - epoch_ms(replica.created_at)),
        checkpoint_id=replica.checkpoint_id,
        behind_ms=None if since is None else max(0, epoch_ms(now) - epoch_ms(since)),
        trouble=replica.trouble,
        job_name=job.name if job else None,
        ended=job is not None and job.end_time is not None,
    )
