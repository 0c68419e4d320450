from django.conf import settings

from webapp.storage.auditing import audit_request
from webapp.storage.auditing.audit_run import audit
from webapp.storage.choices import AuditPurpose
from webapp.storage.models import StorageRoot
from webapp.work.lease import Lease
from webapp.work.runs import RunRecord


def audit_all(lease: Lease, record: RunRecord) -> None:
    rows = list(StorageRoot.objects.audited().prefetch_related("clusters"))
    if not rows:
        return
    guard_h = settings.WEIR.storage_age_guard_h
    request = audit_request.request_for(rows, guard_h, AuditPurpose.SCHEDULED)
    audit(request, lease, record)
