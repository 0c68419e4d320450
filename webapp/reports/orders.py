"""Requests of reports. Each request is a row, which a worker carries out."""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext

from webapp.lib import scopes
from webapp.lib.refusals import ActionRefused
from webapp.lib.scoped_rows import JobKey
from webapp.reports import work_keys
from webapp.reports.models import IncidentReport
from webapp.reports.report_scope import BadScope, ReportScope, checked, rows_of

MOST_WAITING = 100
"""More waiting requests are refused, so that a broken script does not fill the queue."""


def scope_of(report: IncidentReport) -> ReportScope:
    """Raises :class:`BadScope` if this version cannot read the scope, or refuses it."""
    try:
        jobs = [JobKey(str(cluster), str(job_id)) for cluster, job_id in report.jobs]
    except (TypeError, ValueError) as error:
        raise BadScope("The jobs of this report cannot be read.") from error
    return checked(jobs, report.start, report.end)


def request_report(
    scope: ReportScope, *, user: Any, name: str, at: datetime, from_alert: str = ""
) -> IncidentReport:
    """Raises :class:`BadScope` if none of the jobs was ever seen, and :class:`ActionRefused`."""
    if not rows_of(scope.jobs).exists():
        raise BadScope("None of these jobs was ever seen.")
    if IncidentReport.objects.to_make().count() >= MOST_WAITING:
        raise ActionRefused(
            gettext(
                "%(most_waiting)s reports are already waiting to be made; the pipeline page "
                "shows why."
            )
            % {"most_waiting": MOST_WAITING}
        )
    with transaction.atomic():
        report: IncidentReport = IncidentReport.objects.create(
            jobs=[[job.cluster, job.job_id] for job in scope.jobs],
            start=scope.start,
            end=scope.end,
            from_alert=from_alert[:64],
            author=user,
            author_name=name[:200],
            asked_at=at,
            cluster=_only_cluster(scope),
        )
        work_keys.wake(report.pk, at)
    return report


def _only_cluster(scope: ReportScope) -> str:
    clusters = {job.cluster for job in scope.jobs}
    if scopes.current().is_everything:
        return ""
    if len(clusters) > 1:
        raise BadScope(
            "Choose jobs of one cluster: reports over several are for who sees the whole fleet."
        )
    return next(iter(clusters))


def delete(report: IncidentReport) -> None:
    IncidentReport.objects.filter(pk=report.pk).delete()
