import logging
from datetime import datetime

from django.utils import timezone, translation

from ingest.messages import message
from webapp.analyses.presentation import plain
from webapp.lib import scopes
from webapp.lib.scopes import EVERYTHING, OfClusters
from webapp.reports import orders
from webapp.reports.choices import ReportState
from webapp.reports.document import Report
from webapp.reports.gathering import incident
from webapp.reports.models import AT_WORK, IncidentReport
from webapp.reports.renderers import files
from webapp.reports.report_scope import BadScope
from webapp.work.lease import Lease
from webapp.work.runs import RunRecord, describe

logger = logging.getLogger(__name__)

MOST_ATTEMPTS = 4
"""After so many failures the report is given up."""


def has_work(pk: int) -> bool:
    return IncidentReport.objects.to_make().filter(pk=pk).exists()


def carry_out(pk: int, lease: Lease, record: RunRecord) -> None:
    """Raises all errors except :class:`BadScope`. The row of a report given up has the error."""
    report = IncidentReport.objects.listed().get(pk=pk)
    attempt = _begin(report, lease)
    try:
        _make(report, lease, record)
    except BadScope as error:
        _give_up(report, lease, str(error))
    except Exception as error:
        if attempt >= MOST_ATTEMPTS:
            _give_up(
                report,
                lease,
                message(
                    "{describe:name} It was tried {attempt:number} times.",
                    describe=describe(error),
                    attempt=attempt,
                ),
            )
        raise


def _begin(report: IncidentReport, lease: Lease) -> int:
    with lease.writing():
        waiting = IncidentReport.objects.filter(pk=report.pk, state__in=AT_WORK)
        waiting.update(state=ReportState.RUNNING, attempts=report.attempts + 1)
    return report.attempts + 1


def _make(report: IncidentReport, lease: Lease, record: RunRecord) -> None:
    now = timezone.now()
    with translation.override(files.ENGLISH):  # a document is translated when it is drawn
        document = _gather(report, now)
    record.counts["parts"] = len(document.appendix)
    with lease.writing():
        IncidentReport.objects.filter(pk=report.pk, state=ReportState.RUNNING).update(
            state=ReportState.DONE,
            title=document.title,
            tone=document.pages.verdict.tone,
            document=plain(document),
            error="",
            made_at=now,
        )


def _gather(report: IncidentReport, now: datetime) -> Report:
    scope = orders.scope_of(report)
    with scopes.within(OfClusters([report.cluster]) if report.cluster else EVERYTHING):
        return incident.gather(
            scope,
            uid=report.uid,
            made_at=now,
            made_by=report.author_name,
            from_alert=report.from_alert,
        )


def _give_up(report: IncidentReport, lease: Lease, why: str) -> None:
    with lease.writing():
        IncidentReport.objects.filter(pk=report.pk, state__in=AT_WORK).update(
            state=ReportState.FAILED, error=why
        )
