from collections.abc import Iterable
from dataclasses import replace
from operator import attrgetter
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render

from spark_jobs.serving import CHECKPOINT_FACT
from webapp.alerting.job_alerts import open_alerts
from webapp.checkpoints import querysets as facts_of
from webapp.checkpoints.line_trend import trend_of
from webapp.findings.coverage import Coverage, coverage
from webapp.findings.job_findings import of_job
from webapp.findings.job_judgements import had_data, shown_unknowns
from webapp.findings.models import JobJudgement
from webapp.findings.presentation import with_known_bugs
from webapp.fleet.badges import job_badge
from webapp.fleet.freshness import late_before
from webapp.fleet.job_lookup import JobView, look_up
from webapp.fleet.models import JobCurrent
from webapp.fleet.shown_attempts import shown_attempts
from webapp.job_page.tabs import PageData, content
from webapp.lib.exports import export_response
from webapp.lib.instants import drawable
from webapp.pressure.models import PressureWindow


def job(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    start, end = view.time_range.from_time, view.time_range.to_time
    attempts = shown_attempts(request, view)
    findings = of_job(cluster, job_id, start, end, is_past=view.is_past, attempts=attempts.ids)
    findings = replace(findings, in_full=with_known_bugs(findings.in_full))
    judgement = (
        JobJudgement.objects.filter(cluster=cluster, job_id=job_id)
        .only("unknowns", "covered")
        .first()
    )
    alerts = open_alerts(cluster, job_id)
    finding_ids = {finding.finding.pk for finding in findings.current}
    finding_id = attrgetter("alert.finding_id")
    context: dict[str, Any] = {
        "view": view,
        "job": view.job,
        "time_range": view.time_range,
        "range_query": view.range_query,
        "attempts": attempts,
        "current_attempt": _current(view, attempts.others),
        "other_attempts": [(other, job_badge(other.state)) for other in attempts.others],
        "counts": facts_of.outcome_counts(facts_of.of_attempts(cluster, attempts.ids, start, end)),
        "trend": trend_of(view.job, () if attempts.alone else attempts.others, end),
        "findings": findings,
        "alerts": replace(
            alerts, shown=[alert for alert in alerts.shown if finding_id(alert) not in finding_ids]
        ),
        "alert_of": {finding_id(alert): alert for alert in alerts.shown},
        "deductions": findings.deductions(view.job.health),
        "health": view.job.health_badge,
        "unknowns": shown_unknowns(judgement.unknowns) if judgement else [],
        "coverage": _coverage(view, judgement),
        "lacked_all": judgement is not None and not had_data(judgement.unknowns),
        "is_measured": findings.current
        or PressureWindow.objects.filter(
            cluster=cluster, job_id=job_id, window_start__gte=start, window_start__lte=end
        ).exists(),
        **content(PageData(request, view, attempts, findings)),
    }
    return render(request, "job_page/job.html", context)


def _current(view: JobView, others: Iterable[JobCurrent]) -> JobCurrent | None:
    """The attempt that runs, beside one that ended."""
    if not view.job.is_over or view.is_recording:
        return None
    return next((other for other in others if not other.is_over), None)


def checkpoints_export(request: HttpRequest, cluster: str, job_id: str) -> HttpResponseBase:
    """All checkpoints of the range, newest first, streamed."""
    view = look_up(request, cluster, job_id)
    ids = shown_attempts(request, view).ids
    facts = facts_of.of_attempts(cluster, ids, view.time_range.from_time, view.time_range.to_time)
    columns = CHECKPOINT_FACT.column_names
    return export_response(
        f"weir-checkpoints-{job_id[:40]}", columns, facts_of.export_rows(facts, columns)
    )


def _coverage(view: JobView, judgement: JobJudgement | None) -> Coverage:
    lived_from = drawable(
        view.job.start_time or view.job.first_seen_at or view.time_range.from_time
    )
    start = max(view.time_range.from_time, lived_from)
    end = min(view.time_range.to_time, view.end_of_life if view.is_past else view.now)
    judged_until = late_before(view.now)
    if not view.is_past and end > judged_until > start:
        end = judged_until
    return coverage(judgement.covered if judgement else (), start, end)
