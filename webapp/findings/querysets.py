"""Questions asked about findings, by name."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from django.db.models import QuerySet

from webapp.findings.choices import FindingState

if TYPE_CHECKING:
    from webapp.findings.models import Finding
else:
    Finding = object

WORST_FIRST = ("-severity_rank", "-last_seen", "-id")


class FindingQuerySet(QuerySet["Finding"]):
    def open(self) -> Self:
        return self.filter(state=FindingState.OPEN)

    def closed(self) -> Self:
        return self.filter(state=FindingState.CLOSED)

    def of_job(self, cluster: str, job_id: str) -> Self:
        return self.filter(cluster=cluster, job_id=job_id)

    def of_attempts(self, cluster: str, job_ids: Sequence[str]) -> Self:
        """Of one job under any of these ids."""
        return self.filter(cluster=cluster, job_id__in=job_ids)

    def worst_first(self) -> Self:
        """By severity, then newest."""
        return self.order_by(*WORST_FIRST)
