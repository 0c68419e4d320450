"""Gathering an incident report: the rows of some jobs in a stretch of time → one document."""

from collections.abc import Callable, Iterator
from datetime import datetime

from ingest.messages import message
from webapp.checkpoints.outages import MOST_RESTARTS
from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster
from webapp.lib.quantities import count_text
from webapp.reports.document import Document
from webapp.reports.gathering import alerts, rule_findings, sources, story, summary, timeline
from webapp.reports.gathering.checkpoint_figures import MOST as MOST_CHECKPOINTS
from webapp.reports.gathering.scope import JobKey, ReportScope, rows_of, with_attempts
from webapp.reports.gathering.work_tables import MOST_JOBS as MOST_WITH_TABLES

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
    """About thirty queries a job, each bounded.

    A job that was submitted again in this time is reported under each of its ids.
    """
    clusters = {
        cluster.name: cluster
        for cluster in Cluster.objects.filter(name__in={job.cluster for job in scope.jobs})
    }
    recordings = {
        name for name, cluster in clusters.items() if cluster.kind == ClusterKind.RECORDING
    }
    jobs = {JobKey(row.cluster, row.job_id): row for row in rows_of(scope.jobs)}
    whole = with_attempts(scope, jobs.values())
    if whole != scope:
        scope, jobs = whole, {JobKey(row.cluster, row.job_id): row for row in rows_of(whole.jobs)}
    gathered = []
    for number, key in enumerate(key for key in scope.jobs if key in jobs):
        progress(
            5 + 60 * number // len(scope.jobs),
            message(
                "reading job {number:number} of {jobs:number}",
                number=number + 1,
                jobs=len(scope.jobs),
            ),
        )
        gathered.append(story.of_job(jobs[key], scope, made_at, recordings))
    progress(68, message("reading findings and alerts"))
    findings, findings_left_out = rule_findings.gathered(scope)
    alerted, alerts_left_out = alerts.gathered(scope)
    moments, moments_left_out = timeline.timeline(
        [moment for job in gathered for moment in job.moments], findings, alerted
    )
    stories = summary.worst_first([job.story for job in gathered], findings)
    first_screen = summary.summary(gathered, findings, alerted, scope)
    cut = [
        message(
            "{findings_left_out:number} less severe findings are left out.",
            findings_left_out=findings_left_out,
        )
        if findings_left_out
        else "",
        message(
            "Alerts that are left out and not counted, the least severe: {alerts_left_out:number}.",
            alerts_left_out=alerts_left_out,
        )
        if alerts_left_out
        else "",
        message(
            "{moments_left_out:number} less important moments are left out of the time line.",
            moments_left_out=moments_left_out,
        )
        if moments_left_out
        else "",
        message(
            "Placement, file system calls, recovery and what follows them are left out of "
            "reports of more than {most_with_tables:number} jobs.",
            most_with_tables=MOST_WITH_TABLES,
        )
        if len(scope.jobs) > MOST_WITH_TABLES
        else "",
        *(f"{job.story.name}: {what}" for job in gathered for what in _cut_of(job)),
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
        unknowns=sources.unknowns(
            stories, clusters, [key for key in scope.jobs if key not in jobs], scope, made_at
        ),
        cut=tuple(filter(None, cut)),
    )


def _cut_of(gathered: story.GatheredJob) -> Iterator[str]:
    """What the report has of this job only in part."""
    shown, marks = len(gathered.story.points), gathered.marks
    if gathered.events_cut:
        yield message("only the first log events of the time were looked at.")
    if gathered.checkpoints >= MOST_CHECKPOINTS and not gathered.story.checkpoints.by_hours:
        yield message(
            "sizes and the longest time without a recovery point are those of the newest "
            "{most_checkpoints:name} checkpoints.",
            most_checkpoints=count_text(MOST_CHECKPOINTS),
        )
    if gathered.checkpoints > shown:
        yield message(
            "of {checkpoints:number} checkpoints the worst {shown:number} are listed one by one.",
            checkpoints=gathered.checkpoints,
            shown=shown,
        )
    if marks.count > len(marks.marks):
        yield message(
            "charts and the time line have the newest {marks:number} of {count:name} marks, "
            "restarts among them.",
            marks=len(marks.marks),
            count=count_text(marks.count),
        )
    if len(gathered.story.outages) >= MOST_RESTARTS and marks.restart_marks > MOST_RESTARTS:
        yield message(
            "outages are the newest {most_restarts:number}; there were {restart_marks:name} "
            "restarts in this time.",
            most_restarts=MOST_RESTARTS,
            restart_marks=count_text(marks.restart_marks),
        )
