"""Gathers an incident report of some jobs in a time range: two pages and an appendix."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import cast

from ingest.messages import message, plural
from webapp.alerting.models import Alert
from webapp.analyses.document import Document, Verdict
from webapp.findings.presentation import PresentedFinding
from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster
from webapp.reports import moments, texts
from webapp.reports.document import Part, Report
from webapp.reports.gathering import job_part, matters, pages
from webapp.reports.gathering.job_figures import job_figures
from webapp.reports.gathering.unknowns import unknowns
from webapp.reports.moments import TONES, Moment
from webapp.reports.report_scope import ReportScope, rows_of, with_attempts

MOST_MOMENTS, MOST_ALERTS = 250, 200


def gather(
    scope: ReportScope,
    *,
    uid: str,
    made_at: datetime,
    made_by: str,
    from_alert: str = "",
) -> Report:
    """Reports each attempt of a job, by about thirty bounded queries."""
    clusters = {
        cluster.name: cluster
        for cluster in Cluster.objects.filter(name__in={job.cluster for job in scope.jobs})
    }
    scope = with_attempts(scope, rows_of(scope.jobs))
    rows = {row.key: row for row in rows_of(scope.jobs)}
    findings, omitted = matters.in_scope(scope)
    notable = [finding for finding in findings if finding.is_notable]
    figures = []
    for key in scope.jobs:
        if key in rows:
            cluster = clusters.get(key.cluster)
            is_recording = cluster is not None and cluster.kind == ClusterKind.RECORDING
            figures.append(job_figures(rows[key], scope, made_at, is_recording=is_recording))
    jobs = pages.worst_first(figures, notable)
    all_moments = [
        *map(_finding_moment, notable),
        *_alert_moments(scope, {presented.finding.title for presented in notable}),
        *moments.of_jobs({job.key: job.name for job in jobs}, (scope.start, scope.end)),
    ]
    missing_jobs = [key for key in scope.jobs if key not in rows]
    unknown = [
        *_omissions(omitted, scope),
        *unknowns(jobs, clusters, missing_jobs, scope, made_at),
    ]
    incident = pages.Incident(scope, jobs, notable, all_moments, unknown)
    document = pages.pages(incident)
    parts = [_timeline(all_moments), *map(matters.part, findings)]
    for job in jobs:
        parts += job_part.parts(job, scope, made_at)
    if len(unknown) > pages.MOST_LINES:
        parts.append(pages.all_unknowns(unknown))
    report = Report(
        uid=uid,
        title=pages.title(incident, document.verdict.sentence),
        made_at=made_at,
        made_by=made_by,
        start=scope.start,
        end=scope.end,
        pages=document,
        appendix=tuple(parts),
        from_alert=from_alert,
    )
    return cast("Report", texts.fit(report))


def _omissions(omitted: int, scope: ReportScope) -> Iterator[str]:
    if omitted:
        yield message(
            "{findings_left_out:number} less severe findings are left out.",
            findings_left_out=omitted,
        )
    if len(scope.jobs) > job_part.MOST_ANALYSED:
        yield message(
            "Analyses of jobs are left out of reports of more than {most:number} jobs.",
            most=job_part.MOST_ANALYSED,
        )


def _timeline(all_moments: Sequence[Moment]) -> Part:
    shown = moments.most_important(all_moments, MOST_MOMENTS)
    count = plural(len(all_moments), "{count:count} moment", "{count:count} moments")
    columns = ("at", "until", "kind", "title", "detail", "job_name")
    table = replace(pages.timeline(shown, *columns), key="moments", total=len(all_moments))
    return Part("timeline", table.title, Document(Verdict("done", count), (table,)))


def _finding_moment(presented: PresentedFinding) -> Moment:
    row = presented.finding
    return Moment(
        row.first_seen,
        row.severity,
        TONES.get(row.severity, "done"),
        message("Found: {title:text}", title=row.title),
        presented.rule_title,
        row.last_seen if row.last_seen > row.first_seen else None,
        matters.job_name(presented),
    )


def _alert_moments(scope: ReportScope, finding_titles: Collection[str]) -> Iterator[Moment]:
    fired = Alert.objects.overlapping(scope.start, scope.end).filter(
        scope.rows, fired_at__isnull=False
    )
    for alert in fired.order_by("-severity_rank", "-starts_at", "-id")[:MOST_ALERTS]:
        name = alert.job_name or alert.job_id
        if alert.title not in finding_titles:
            title = message("Alert fired: {title:text}", title=alert.title)
            tone = TONES.get(alert.severity, "done")
            yield Moment(alert.starts_at, "alert", tone, title, job_name=name)
        if alert.acknowledged_at:
            title = message(
                "{acknowledged_by:name} acknowledged: {title:text}",
                acknowledged_by=alert.acknowledged_name or message("Somebody"),
                title=alert.title,
            )
            comment = alert.acknowledge_comment
            yield Moment(alert.acknowledged_at, "alert", "done", title, comment, job_name=name)
        if alert.resolved_at and alert.ends_at:
            title = message("Alert resolved: {title:text}", title=alert.title)
            yield Moment(alert.ends_at, "alert", "ok", title, job_name=name)
