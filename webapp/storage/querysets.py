"""Queries of checkpoint storage worth a name."""

from typing import TYPE_CHECKING, Self

from django.db.models import QuerySet
from django.utils import timezone

from ingest.storage.instants import CLOCK_SKEW
from webapp.storage.choices import AuditState

if TYPE_CHECKING:
    from webapp.storage.models import StorageAudit, StorageRoot
else:
    StorageAudit = StorageRoot = object


class StorageRootQuerySet(QuerySet["StorageRoot"]):
    def audited(self) -> Self:
        """Those that the schedule looks at."""
        return self.filter(enabled=True)


class StorageAuditQuerySet(QuerySet["StorageAudit"]):
    def loaded(self) -> Self:
        """Complete ones whose figures are in the database; one from the future proves nothing and
        is not the newest of anything.
        """
        return self.filter(state=AuditState.LOADED, as_of__lte=timezone.now() + CLOCK_SKEW)

    def not_carried_by(self, audit: "StorageAudit") -> Self:
        """Older ones that were not loaded yet when ``audit`` began: an inventory of the past, or
        one that ran beside it.
        """
        return (
            self.loaded()
            .filter(files_kept=True, as_of__lte=audit.as_of, finished_at__gt=audit.created_at)
            .exclude(pk=audit.pk)
        )

    def newest(self) -> "StorageAudit | None":
        """The last loaded one, by the instant its listing began."""
        return self.loaded().order_by("-as_of", "-id").first()
