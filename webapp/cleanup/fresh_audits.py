from dataclasses import dataclass

from django.conf import settings

from spark_jobs.audit_tables import NEEDED, PENDING, RESTORES, STORAGE_FILE, STORAGE_REFERENCE
from spark_jobs.storage_words import DEAD_JOB, EXCLUDED
from webapp.cleanup.errors import Halted
from webapp.cleanup.planning import sort_roots
from webapp.cleanup.recheck import FreshAudit
from webapp.storage.auditing import audit_request, loading
from webapp.storage.auditing.audit_run import audit
from webapp.storage.choices import AuditPurpose
from webapp.storage.models import AuditDoubt, StorageAudit, StorageRoot, StorageStatement
from webapp.work.lease import Lease
from webapp.work.run_files import file_uris, state_uris
from webapp.work.runs import RunRecord


@dataclass(frozen=True)
class FreshAudits:
    """Audits all registered roots, since checkpoints may refer to files in other roots. ``roots``:
    URIs of the plan's roots.
    """

    roots: list[str]
    age_guard_h: int
    lease: Lease
    record: RunRecord

    def fresh(self) -> FreshAudit:
        rows = list(StorageRoot.objects.prefetch_related("clusters"))
        if not rows:
            raise Halted(
                "No root is registered any more, so nothing says who needs these files: register "
                "its roots again, or undo the plan."
            )
        guard_h = max(self.age_guard_h, settings.WEIR.storage_age_guard_h)
        request = audit_request.request_for(rows, guard_h, AuditPurpose.PLAN, fresh=True)
        return fresh_of(audit(request, self.lease, self.record), self.roots)


def fresh_of(row: StorageAudit, roots: list[str]) -> FreshAudit:
    _, withheld = sort_roots(row, roots)
    manifest = loading.read_manifest(row)
    if row.as_of is None:
        raise ValueError(f"Audit {row.audit_id} has no time.")
    return FreshAudit(
        audit_id=row.audit_id,
        as_of=row.as_of,
        verdict_files=file_uris(manifest, STORAGE_FILE.name),
        reference_files=file_uris(manifest, STORAGE_REFERENCE.name),
        pending_files=state_uris(manifest, PENDING),
        needed_files=state_uris(manifest, NEEDED),
        restores_files=state_uris(manifest, RESTORES),
        not_cleanable={root.uri: root.reasons for root in withheld},
        doubted=_doubted_places(row, roots),
        dead=_stated_places(DEAD_JOB),
        excluded=_stated_places(EXCLUDED),
    )


def _stated_places(kind: str) -> set[str]:
    return {row.place for row in StorageStatement.objects.valid().filter(kind=kind)}


def _doubted_places(audit: StorageAudit, roots: list[str]) -> list[str]:
    """Places that doubts reach: all roots if a doubt has more places than are stored."""
    doubted: set[str] = set()
    for places, more_places in AuditDoubt.objects.filter(audit=audit).values_list(
        "places", "more_places"
    ):
        doubted.update(places)
        doubted.update(roots if more_places else ())
    return sorted(doubted)
