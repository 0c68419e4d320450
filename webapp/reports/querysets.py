"""Questions asked about reports, by name."""

from typing import TYPE_CHECKING, Self

from django.db.models import QuerySet

from webapp.reports.choices import ReportState

if TYPE_CHECKING:
    from webapp.reports.models import IncidentReport
else:
    IncidentReport = object

AT_WORK = (ReportState.QUEUED, ReportState.RUNNING)


class IncidentReportQuerySet(QuerySet["IncidentReport"]):
    def to_make(self) -> Self:
        return self.filter(state__in=AT_WORK)

    def listed(self) -> Self:
        """Without their documents, which are large."""
        return self.defer("document")
