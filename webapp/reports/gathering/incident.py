"""Gathering an incident report: the rows of some jobs in a stretch of time → one document."""

from collections.abc import Callable
from datetime import datetime

from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster
from webapp.reports.document import Document
from webapp.reports.gathering import alerts, rule_findings, sources, story, summary, timeline
from webapp.reports.gathering.scope import JobKey, ReportScope, rows_of

Progress = Callable[[int, str], None]
"""Called with 0 … 100 and words."""
INCIDENT = "incident"


def gather(
    scope: ReportScope,
    *,
    uid: str,
    made_at: datetime,
    made_by: str,
    title: str = "",
    from_alert: str = "",
    progress: Progress = lambda done, words: None,
) -> Document:
    """About a dozen queries a job, each bounded."""
    clusters = {cluster.name: cluster for cluster in Cluster.objects.filter(name__in={one.cluster for one in scope.jobs})}
    recordings = {name for name, cluster in clusters.items() if cluster.kind == ClusterKind.RECORDING}
    jobs = {JobKey(row.cluster, row.job_id): row for row in rows_of(scope.jobs)}
    gathered = []
    for number, key in enumerate(key for key in scope.jobs if key in jobs):
        progress(5 + 60 * number // len(scope.jobs), f"reading job {number + 1} of {len(scope.jobs)}")
        gathered.append(story.of_job(jobs[key], scope, made_at, recordings))
    progress(68, "reading findings and alerts")
    findings, findings_left_out = rule_findings.gathered(scope)
    alerted = alerts.gathered(scope)
    moments, moments_left_out = timeline.timeline([moment for one in gathered for moment in one.moments], findings, alerted)
    stories = summary.worst_first([one.story for one in gathered], findings)
    first_screen = summary.summary(gathered, findings, alerted, scope)
    cut = [
        f"{findings_left_out} less severe findings are left out." if findings_left_out else "",
        f"{moments_left_out} less important moments are left out of the time line." if moments_left_out else "",
        *(f"{one.story.name}: only the first log events of the time were looked at." for one in gathered if one.events_cut),
        *(_points_cut(one) for one in gathered),
    ]
    return Document(
        kind=INCIDENT,
        uid=uid,
        title=title or summary.title(stories, findings, first_screen.headline),
        made_at=made_at,
        made_by=made_by,
        start=scope.start,
        end=scope.end,
        summary=first_screen,
        from_alert=from_alert,
        stories=tuple(stories),
        timeline=moments,
        findings=findings,
        alerts=alerted,
        sources=sources.sources(stories, clusters, made_at),
        unknowns=sources.unknowns(stories, clusters, [key for key in scope.jobs if key not in jobs], scope, made_at),
        cut=tuple(filter(None, cut)),
    )


def _points_cut(gathered: story.GatheredJob) -> str:
    left_out = gathered.checkpoints - len(gathered.story.points)
    return (
        f"{gathered.story.name}: of {gathered.checkpoints} checkpoints the worst {len(gathered.story.points)} are listed one by one."
        if left_out > 0
        else ""
    )
