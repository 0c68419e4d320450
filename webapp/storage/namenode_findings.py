"""Opens and renews findings of the rules on declared NameNodes. Good readings close a finding, as
does the end of the declaration. If JMX does not answer, findings stay open.
"""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.namenode_samples import NameNodeReadings
from spark_jobs.fold.rule_evaluation import Settings
from webapp.findings.models import Finding
from webapp.findings.overrides import as_plain
from webapp.findings.settling import Identity, by_identity, identified, settle
from webapp.storage.namenodes import declaring_clusters, readings_of, samples_of
from webapp.work.lease import WriteGuard
from webapp.work.runs import RunRecord

KEY = "namenodes/findings"
LOOK_BACK = timedelta(minutes=10)


def is_wanted() -> bool:
    return bool(declaring_clusters()) or _open().exists()


def judge_all(lease: WriteGuard, record: RunRecord) -> None:
    record.counts |= judge(lease, timezone.now())


def judge(guard: WriteGuard, now: datetime) -> dict[str, int]:
    """Returns the counts of the run's record. Raises the errors of the lake's storage."""
    declared = declaring_clusters()
    samples = samples_of(declared, now - LOOK_BACK, now) if declared else {}
    settings = Settings(as_plain())
    new_findings: dict[Identity, dict[str, Any]] = {}
    silent = set(declared) - set(samples)
    for cluster, rows in samples.items():
        judged = registry.diagnose(readings_of(cluster, rows), settings.limits(cluster, ""))
        if judged.unknowns:
            silent.add(cluster)
        new_findings |= identified(judged.findings, cluster)
    answered = (finding for finding in open_findings() if finding.cluster not in silent)
    closed = settle(new_findings, by_identity(answered), guard, now)
    return {
        "namenodes": len(declared),
        "silent": len(silent),
        "findings": len(new_findings),
        "closed": closed,
    }


def open_findings() -> list[Finding]:
    return list(_open().order_by("-severity_rank", "cluster", "id"))


def _open() -> Any:
    return Finding.objects.open().filter(rule__in=registry.rules_for(NameNodeReadings), job_id="")
