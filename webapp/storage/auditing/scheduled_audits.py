"""What the workers do on schedule: audit all registered roots, simulate the age rules that were
requested.
"""

from django.conf import settings
from django.utils import timezone

from webapp.storage.auditing import age_rules, audit_request
from webapp.storage.auditing.audit_run import audit
from webapp.storage.choices import AuditPurpose, SimulationState
from webapp.storage.models import AgeRuleResult, StorageRoot
from webapp.work.lease import Lease
from webapp.work.runs import RunRecord, describe


def audit_all(lease: Lease, record: RunRecord) -> None:
    """One audit of every root that is not paused."""
    rows = list(StorageRoot.objects.audited().prefetch_related("clusters"))
    if not rows:
        return
    request = audit_request.AuditRequest(
        roots=audit_request.registered(rows, audit_request.unreachable_clusters()),
        age_guard_h=settings.WEIR.storage_age_guard_h,
        purpose=AuditPurpose.SCHEDULED,
        spellings=audit_request.spellings(),
    )
    audit(request, lease, record)


def has_age_rules() -> bool:
    return AgeRuleResult.objects.filter(state=SimulationState.ASKED).exists()


def simulate_asked(lease: Lease, record: RunRecord) -> None:
    """One that fails does not stop the next; the reason is shown where it was requested."""
    for row in (
        AgeRuleResult.objects.filter(state=SimulationState.ASKED)
        .select_related("audit")
        .order_by("id")
    ):
        try:
            row.result, row.state, row.error = (
                age_rules.simulate(row.audit, row.days, row.below, record),
                SimulationState.DONE,
                "",
            )
        except Exception as error:
            row.state, row.error = SimulationState.FAILED, describe(error)
            record.say(f"{row}: {row.error}")
        row.finished_at = timezone.now()
        with lease.writing():
            row.save(update_fields=["state", "result", "error", "finished_at"])
