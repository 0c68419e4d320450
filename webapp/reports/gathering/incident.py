"""Gathers an incident report: rows of some jobs in a time range → two pages and an appendix."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from ingest.messages import message, plural
from webapp.alerting.models import Alert
from webapp.analyses.document import Column, Document, Table, Verdict
from webapp.findings.presentation import PresentedFinding
from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster
from webapp.reports import moments, texts
from webapp.reports.document import Part, Report
from webapp.reports.gathering import job_part, matters, pages, sources
from webapp.reports.gathering.job_figures import job_figures
from webapp.reports.moments import TONES, Moment
from webapp.reports.report_scope import JobKey, ReportScope, rows_of, with_attempts

Progress = Callable[[int, str], None]
"""Called with 0 … 100 and words."""
INCIDENT = "incident"
MOST_MOMENTS, MOST_ALERTS = 250, 200


def gather(
    scope: ReportScope,
    *,
    uid: str,
    made_at: datetime,
    made_by: str,
    title: str = "",
    from_alert: str = "",
    progress: Progress = lambda done, words: None,
) -> Report:
    """About thirty bounded queries per job. A job submitted again in this range is reported under
    each of its ids.
    """
    clusters = {
        cluster.name: cluster
        for cluster in Cluster.objects.filter(name__in={job.cluster for job in scope.jobs})
    }
    scope = with_attempts(scope, rows_of(scope.jobs))
    rows = {JobKey(row.cluster, row.job_id): row for row in rows_of(scope.jobs)}
    known = [key for key in scope.jobs if key in rows]
    progress(5, message("reading findings and alerts"))
    findings, left_out = matters.gathered(scope)
    notable = [finding for finding in findings if finding.is_notable]
    alerts = _alerts(scope)
    figures = []
    for number, key in enumerate(known):
        done = message(
            "reading job {number:number} of {jobs:number}", number=number + 1, jobs=len(known)
        )
        progress(10 + 30 * number // len(known), done)
        cluster = clusters.get(key.cluster)
        is_recording = cluster is not None and cluster.kind == ClusterKind.RECORDING
        figures.append(job_figures(rows[key], scope, made_at, is_recording=is_recording))
    jobs = pages.worst_first(figures, notable)
    names = {job.key: job.name for job in jobs}
    missing = [key for key in scope.jobs if key not in rows]
    titles = {presented.finding.title for presented in notable}
    happened = [
        *map(_finding_moment, notable),
        *(moment for alert in alerts for moment in _alert_moments(alert, titles)),
        *moments.of_jobs(names, (scope.start, scope.end)),
    ]
    incident = pages.Incident(
        scope,
        jobs,
        notable,
        alerts,
        happened,
        sources.unknowns(jobs, clusters, missing, scope, made_at),
    )
    first = pages.pages(incident)
    parts = [_timeline(happened), *map(matters.part, findings)]
    if alerts:
        parts.append(_alerts_part(alerts))
    for number, job in enumerate(jobs):
        progress(40 + 30 * number // len(jobs), message("reading {name:name}", name=job.name))
        parts += job_part.parts(job, scope, made_at)
    unknown = [*incident.unknowns, *_omission_notes(left_out, scope)]
    parts.append(sources.part(jobs, clusters, unknown, made_at))
    report = Report(
        kind=INCIDENT,
        uid=uid,
        title=title or pages.title(incident, first.verdict.sentence),
        made_at=made_at,
        made_by=made_by,
        start=scope.start,
        end=scope.end,
        pages=first,
        appendix=tuple(parts),
        from_alert=from_alert,
    )
    fit: Report = texts.fit(report)
    return fit


def _omission_notes(findings: int, scope: ReportScope) -> Iterator[str]:
    if findings:
        yield message(
            "{findings_left_out:number} less severe findings are left out.",
            findings_left_out=findings,
        )
    if len(scope.jobs) > job_part.MOST_ANALYSED:
        yield message(
            "Analyses of jobs are left out of reports of more than {most:number} jobs.",
            most=job_part.MOST_ANALYSED,
        )


def _alerts(scope: ReportScope) -> list[Alert]:
    fired = Alert.objects.overlapping(scope.start, scope.end).filter(
        scope.rows, fired_at__isnull=False
    )
    worst = fired.order_by("-severity_rank", "-starts_at", "-id")[:MOST_ALERTS]
    return sorted(worst, key=lambda row: (row.starts_at, row.pk))


def _timeline(happened: Sequence[Moment]) -> Part:
    shown = moments.most_important(happened, MOST_MOMENTS)
    count = plural(len(happened), "{count:count} moment", "{count:count} moments")
    columns = ("at", "until", "kind", "title", "detail", "job_name")
    table = replace(pages.timeline(shown, *columns), key="moments", total=len(happened))
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


def _alert_moments(alert: Alert, found_titles: Collection[str]) -> Iterator[Moment]:
    name = alert.job_name or alert.job_id
    # For a recording, Weir's own instants are those of the import, which do not matter here.
    fired = message("Alert fired: {title:text}", title=alert.title)
    tone = TONES.get(alert.severity, "done")
    if alert.title not in found_titles:
        yield Moment(alert.starts_at, "alert", tone, fired, job_name=name)
    if alert.acknowledged_at:
        acknowledged = message(
            "{acknowledged_by:name} acknowledged: {title:text}",
            acknowledged_by=alert.acknowledged_name or message("Somebody"),
            title=alert.title,
        )
        comment = alert.acknowledge_comment
        yield Moment(alert.acknowledged_at, "alert", "done", acknowledged, comment, job_name=name)
    if alert.resolved_at and alert.ends_at:
        resolved = message("Alert resolved: {title:text}", title=alert.title)
        yield Moment(alert.ends_at, "alert", "ok", resolved, job_name=name)


def _alerts_part(alerts: Iterable[Alert]) -> Part:
    rows = tuple(
        (
            alert.title,
            alert.uid,
            alert.rule,
            alert.job_name or alert.job_id or alert.cluster,
            alert.state,
            alert.starts_at,
            alert.ends_at if alert.resolved_at else None,
            alert.acknowledged_name,
            alert.acknowledged_at,
            alert.acknowledge_comment,
            alert.firings,
        )
        for alert in alerts
    )
    title = message("Alerts")
    table = Table(
        "alerts",
        title,
        (
            Column("alert", message("Alert")),
            Column("uid", message("Id"), "mono"),
            Column("rule", message("Rule"), "mono"),
            Column("job", message("Job")),
            Column("state", message("State")),
            Column("fired_at", message("Fired"), "instant"),
            Column("resolved_at", message("Resolved"), "instant"),
            Column("acknowledged_by", message("Acknowledged by")),
            Column("acknowledged_at", message("Acknowledged"), "instant"),
            Column("comment", message("Comment")),
            Column("firings", message("Firings"), "count"),
        ),
        rows,
    )
    count = plural(len(rows), "{count:count} alert fired", "{count:count} alerts fired")
    return Part("alerts", title, Document(Verdict("done", count), (table,)))
