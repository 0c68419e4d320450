"""Checkpoint storage of the demo: registers, audits and removes the directories of the replayed
jobs, as ordinary roots.
"""

import json
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ValidationError

from ingest.replay.shipped import AUDITED, CHECKPOINTS, PAST, ROOTS, SHIPPED, recorded_jobs
from ingest.replay.tape import id_of
from ingest.storage.plan_folder import PlanFolder
from webapp.cleanup.models import CleanupPlan
from webapp.findings import marks
from webapp.findings.models import Finding
from webapp.fleet import demo
from webapp.fleet.models import Cluster, JobCurrent
from webapp.storage import registration
from webapp.storage.auditing import audit_request, audit_retention
from webapp.storage.auditing.audit_run import audit
from webapp.storage.choices import AuditPurpose
from webapp.storage.models import AUDIT_MODELS, StorageAudit, StorageRoot, StorageRootQuerySet
from webapp.work.lease import Lease
from webapp.work.runs import RunRecord

WITH_PAST = tuple(shipped for shipped in SHIPPED if shipped.has_past)
"""Recordings of which an ended copy ran before the demo began: its checkpoints become orphans."""
PAST_ROOTS = [shipped.written_to for shipped in WITH_PAST]
AFTER_THE_PAST = timedelta(hours=1)
"""The first audit is dated this long after the end of the last past job."""


def roots() -> StorageRootQuerySet:
    """Roots that are read in the demo's folder; another root of the same name belongs to a user."""
    demo_roots: StorageRootQuerySet = StorageRoot.objects.filter(
        uri__in=ROOTS, read_at__startswith=f"{demo.folder()}/"
    )
    return demo_roots


def past_ended_at() -> datetime | None:
    """When the last past job ended; None until all are known to have ended."""
    ended: list[datetime] = []
    for shipped in WITH_PAST:
        began_ms = _past_began_ms(demo.folder() / shipped.name / PAST)
        if began_ms is None:
            return None
        ids = [id_of(recorded, began_ms) for recorded in recorded_jobs(shipped)]
        jobs = JobCurrent.objects.filter(cluster=shipped.name, job_id__in=ids, terminal=True)
        instants = [end for end in jobs.values_list("end_time", flat=True) if end]
        if len(instants) < len(ids):
            return None
        ended += instants
    return max(ended)


def audit_the_past(ended_at: datetime, name: str, lease: Lease, record: RunRecord) -> None:
    """Registers the roots, attested by ``name``, and audits them as of the end of the past jobs.
    The jobs that are replayed now have written nothing at that time. Later audits are ordinary.
    """
    _register(name)
    rows = list(roots().prefetch_related("clusters"))
    as_of = ended_at + AFTER_THE_PAST
    if rows and not StorageAudit.objects.loaded().filter(as_of=as_of).exists():
        request = audit_request.AuditRequest(
            roots=audit_request.registered_roots(rows, audit_request.unreachable_clusters()),
            age_guard_h=settings.WEIR.storage_age_guard_h,
            purpose=AuditPurpose.SCHEDULED,
            as_of=as_of,
            clusters_of_then=tuple(ROOTS[row.uri].name for row in rows),
        )
        audit(request, lease, record)
    (demo.folder() / AUDITED).touch()
    roots().update(enabled=True)


def later_audits() -> list[StorageAudit]:
    """Audits of all past roots after the first one, newest first."""
    audits = (
        StorageAudit.objects.loaded()
        .exclude(previous=None)
        .filter(files_kept=True)
        .order_by("-as_of", "-id")[:20]
    )
    return [row for row in audits if set(PAST_ROOTS) <= set(row.roots)]


def remove(now: datetime) -> None:
    """Removes the roots, plans that only concern them, their audit results, and closes findings on
    them. Results on other roots stay.
    """
    roots().delete()
    for plan in CleanupPlan.objects.all():
        if plan.roots and set(plan.roots) <= ROOTS.keys():
            PlanFolder(plan.folder).remove()
            plan.delete()
    for row in StorageAudit.objects.all():
        _forget(row)
    findings = Finding.objects.open().filter(rule__startswith="storage.")
    marks.close([finding.pk for finding in findings if finding.data.get("root") in ROOTS], now)
    (demo.folder() / AUDITED).unlink(missing_ok=True)


def _forget(row: StorageAudit) -> None:
    if not ROOTS.keys() & set(row.roots):
        return
    if set(row.roots) <= ROOTS.keys():
        audit_retention.remove_files(row.run_dir)
        row.delete()
        return
    for model in AUDIT_MODELS.values():
        model._default_manager.filter(audit=row, root__in=ROOTS).delete()


def _register(name: str) -> None:
    for shipped in SHIPPED:
        cluster = Cluster.objects.filter(name=shipped.name, labels__demo=demo.LABEL_VALUE).first()
        row = StorageRoot(
            uri=shipped.written_to,
            read_at=str(demo.folder() / shipped.name / CHECKPOINTS),
            enabled=False,
        )
        if cluster is None or StorageRoot.objects.filter(uri=row.uri).exists():
            continue
        try:
            registration.save(row, [cluster])
        except ValidationError:
            continue
        registration.attest(row, name)


def _past_began_ms(file: Path) -> int | None:
    try:
        [began_ms] = json.loads(file.read_text())
    except (OSError, ValueError, TypeError):
        return None
    return int(began_ms)
