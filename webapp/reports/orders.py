"""Requests of reports. The row is the request; a worker carries it out, or a command at once."""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext

from webapp.lib import scopes
from webapp.lib.refusals import ActionRefused
from webapp.reports import work_keys
from webapp.reports.choices import ReportKind, ReportState
from webapp.reports.models import IncidentReport
from webapp.reports.report_scope import BadScope, JobKey, ReportScope, checked, rows_of
from webapp.reports.texts import name as plain_name

MOST_WAITING = 100
"""Waiting requests: a broken script must not fill the queue."""


def scope_of(report: IncidentReport) -> ReportScope:
    """Raises :class:`BadScope` if the row does not hold one any more."""
    try:
        jobs = [JobKey(str(cluster), str(job_id)) for cluster, job_id in report.jobs]
    except (TypeError, ValueError) as error:
        raise BadScope("The jobs of this report cannot be read.") from error
    return checked(jobs, report.start, report.end)


def request_report(
    scope: ReportScope, *, user: Any, name: str, at: datetime, title: str = "", from_alert: str = ""
) -> IncidentReport:
    """Request an incident report. Raises :class:`BadScope` if none of the jobs was ever seen, and
    :class:`ActionRefused`.
    """
    if not rows_of(scope.jobs).exists():
        raise BadScope("None of these jobs was ever seen.")
    jobs = [[job.cluster, job.job_id] for job in scope.jobs]
    return _request(
        kind=ReportKind.INCIDENT,
        jobs=jobs,
        start=scope.start,
        end=scope.end,
        title=plain_name(title),
        from_alert=from_alert[:64],
        author=user,
        author_name=name[:200],
        asked_at=at,
        cluster=_narrowed_to(scope),
    )


def _narrowed_to(scope: ReportScope) -> str:
    clusters = {job.cluster for job in scope.jobs}
    if scopes.current().is_everything:
        return ""
    if len(clusters) > 1:
        raise BadScope(
            "Choose jobs of one cluster: reports over several are for who sees the whole fleet."
        )
    return next(iter(clusters))


def request_digest(
    start: datetime, end: datetime, *, user: Any, name: str, at: datetime
) -> IncidentReport:
    """Request a digest of the fleet now. Raises :class:`ActionRefused`."""
    return _request(
        kind=ReportKind.DIGEST,
        start=start,
        end=end,
        author=user,
        author_name=name[:200],
        asked_at=at,
    )


def again(report: IncidentReport, at: datetime) -> bool:
    """Retry a report that failed; False if it is being made or finished."""
    with transaction.atomic():
        failed = IncidentReport.objects.filter(pk=report.pk, state=ReportState.FAILED)
        if not failed.update(state=ReportState.QUEUED, error="", attempts=0):
            return False
        work_keys.wake(report.pk, at)
    return True


def delete(report: IncidentReport) -> None:
    """Delete a report; one being made ends at its next write."""
    IncidentReport.objects.filter(pk=report.pk).delete()


def _request(**fields: Any) -> IncidentReport:
    if IncidentReport.objects.to_make().count() >= MOST_WAITING:
        raise ActionRefused(
            gettext(
                "%(most_waiting)s reports are already waiting to be made; the pipeline page "
                "shows why."
            )
            % {"most_waiting": MOST_WAITING}
        )
    with transaction.atomic():
        report: IncidentReport = IncidentReport.objects.create(**fields)
        work_keys.wake(report.pk, fields["asked_at"])
    return report
