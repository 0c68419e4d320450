"""Questions asked about incidents, by name."""

from typing import TYPE_CHECKING, Self

from django.db.models import QuerySet

from webapp.findings.choices import SEVERITY_RANK, Severity
from webapp.incidents.choices import IncidentState

if TYPE_CHECKING:
    from webapp.incidents.models import Incident
else:
    Incident = object

LEAST_RANK = SEVERITY_RANK[Severity.WARNING]


class IncidentQuerySet(QuerySet["Incident"]):
    def listed(self) -> Self:
        """What somebody may have to do something about: not context alone, and not what became part
        of another.
        """
        return self.filter(severity_rank__gte=LEAST_RANK).exclude(state=IncidentState.MERGED)

    def open(self) -> Self:
        return self.filter(state=IncidentState.OPEN)
