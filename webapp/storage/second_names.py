"""Which other directory a root is one with, or seems to be, in the words of an audit."""

from spark_jobs.storage_words import TWO_NAMES
from webapp.storage.models import AuditDoubt, StorageAudit
from webapp.storage.presentation import as_seen

SHOWN = 2


def text_of(audit: StorageAudit, root: str) -> list[str]:
    """The first sentences; none where the audit found no second name."""
    rows = AuditDoubt.objects.filter(audit=audit, root=root, reason=TWO_NAMES).order_by("subject")[
        :SHOWN
    ]
    return [f"{row.subject}: {row.detail}" for row in map(as_seen, rows) if row.detail]
