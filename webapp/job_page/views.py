"""One job: what it is, its checkpoints, where pressure is, what happened."""

from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render

from spark_jobs.serving import CHECKPOINT_FACT
from webapp.alerting.job_alerts import open_alerts
from webapp.analyses.registry import all_analyses
from webapp.checkpoints import querysets as facts_of
from webapp.checkpoints.badges import outcome_badge
from webapp.checkpoints.filters import JobCheckpointFilters
from webapp.checkpoints.flink_counters import counters_of
from webapp.checkpoints.line_trend import trend_of
from webapp.checkpoints.outages import outage_totals, outages
from webapp.findings.coverage import Coverage, coverage
from webapp.findings.job_findings import of_job
from webapp.findings.job_judgements import had_data
from webapp.findings.models import JobJudgement
from webapp.findings.presentation import with_known_bugs
from webapp.fleet.badges import job_badge
from webapp.fleet.filters import JobEventFilters
from webapp.fleet.freshness import late_before
from webapp.fleet.job_lookup import JobView, look_up
from webapp.fleet.models import JobException, LogEvent
from webapp.fleet.shown_attempts import shown_attempts
from webapp.lib.exports import export_response
from webapp.lib.instants import drawable, epoch_ms
from webapp.lib.keysets import page
from webapp.pressure.blame import blame
from webapp.pressure.graph import drawn
from webapp.pressure.newest_windows import newest_windows
from webapp.pressure.states import pool_states
from webapp.storage import newest_audits
from webapp.storage.replication_factor import NONE, common, factors_by_uri

CHECKPOINTS_A_PAGE = 20
EVENTS_A_PAGE = 9
EXCEPTIONS_SHOWN = 10
OUTAGES_SHOWN = 20
UNLISTED = ("declines", "late_messages", "failure_message", "exception")


def job(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    """The page; charts load themselves from :mod:`webapp.job_page.charts`."""
    view = look_up(request, cluster, job_id)
    start, end = view.time_range.from_time, view.time_range.to_time
    attempts = shown_attempts(request, view)
    facts = facts_of.of_attempts(cluster, attempts.ids, start, end)
    checkpoint_filters = JobCheckpointFilters.from_page(request.GET, facts.defer(*UNLISTED))
    checkpoints = page(
        checkpoint_filters.qs,
        checkpoint_filters.order,
        request.GET.get("checkpoints", ""),
        CHECKPOINTS_A_PAGE,
    )
    events = LogEvent.objects.filter(cluster=cluster, job_id=job_id, ts__gte=start, ts__lte=end)
    event_filters = JobEventFilters.from_page(request.GET, events)
    thrown = JobException.objects.filter(cluster=cluster, job_id=job_id, ts__gte=start, ts__lte=end)
    exceptions = list(thrown.order_by("-ts", "-id")[: EXCEPTIONS_SHOWN + 1])
    findings = of_job(cluster, job_id, start, end, is_past=view.is_past, attempts=attempts.ids)
    findings = replace(findings, in_full=with_known_bugs(findings.in_full))
    blamed = blame(view.job.graph, findings.origins)
    # The graph of a past job shows the time that its origin is about, not the calm after it.
    drawn_to = (
        max((origin.finding.last_seen for origin in findings.origins), default=end)
        if view.is_past
        else end
    )
    windows = newest_windows(cluster, job_id, start, min(drawn_to, end))
    judgement = (
        JobJudgement.objects.filter(cluster=cluster, job_id=job_id)
        .only("unknowns", "covered")
        .first()
    )
    stored = _storage(cluster, job_id)
    context: dict[str, Any] = {
        "view": view,
        "job": view.job,
        "time_range": view.time_range,
        "range_query": view.range_query,
        "analyses": all_analyses().values(),
        "attempts": attempts,
        "other_attempts": [(other, job_badge(other.state)) for other in attempts.others],
        "counts": facts_of.outcome_counts(facts),
        "outages": _outages(view),
        "counters": counters_of(view.job),
        "trend": trend_of(view.job, () if attempts.alone else attempts.others, end),
        "checkpoint_filters": checkpoint_filters,
        "checkpoints": checkpoints,
        "checkpoint_rows": [
            (fact, outcome_badge(fact.outcome), epoch_ms(fact.trigger_time))
            for fact in checkpoints.rows
        ],
        "events": page(
            event_filters.qs, event_filters.order, request.GET.get("events", ""), EVENTS_A_PAGE
        ),
        "event_filters": event_filters,
        "event_kinds": list(events.order_by("kind").values_list("kind", flat=True).distinct()),
        "exceptions": exceptions[:EXCEPTIONS_SHOWN],
        "more_exceptions": len(exceptions) > EXCEPTIONS_SHOWN,
        "findings": findings,
        "alerts": open_alerts(cluster, job_id),
        "deductions": findings.deductions(view.job.health),
        "what_if_rule": findings.in_full[0].finding.rule if findings.in_full else "pressure.root",
        "health": view.job.health_badge,
        "unknowns": judgement.unknowns if judgement else [],
        "coverage": _coverage(view, judgement),
        "lacked_all": judgement is not None and not had_data(judgement.unknowns),
        "origins": list(blamed.origins.values()),
        "graph": drawn(view.job.graph, windows, blamed),
        "graph_narrow": drawn(view.job.graph, windows, blamed, narrow=True),
        "storage": stored,
        "replicated": common(row.replicated for row in stored),
        "pool_states": pool_states(view.job.graph, windows),
        "windows": sorted(windows.values(), key=lambda window: _place(view, window.vertex_id)),
        "window_at": max((window.window_start for window in windows.values()), default=None),
    }
    return render(request, "job_page/job.html", context)


def checkpoints_export(
    request: HttpRequest, cluster: str, job_id: str, form: str
) -> HttpResponseBase:
    """All checkpoints of the range, newest first, streamed."""
    view = look_up(request, cluster, job_id)
    ids = shown_attempts(request, view).ids
    facts = facts_of.of_attempts(cluster, ids, view.time_range.from_time, view.time_range.to_time)
    columns = CHECKPOINT_FACT.column_names
    return export_response(
        form, f"weir-checkpoints-{job_id[:40]}", columns, facts_of.export_rows(facts, columns)
    )


def _coverage(view: JobView, judgement: JobJudgement | None) -> Coverage:
    """Which part of the range was judged, as far as the job lived in it.

    What is just being judged is not missing yet.
    """
    lived_from = drawable(
        view.job.start_time or view.job.first_seen_at or view.time_range.from_time
    )
    start = max(view.time_range.from_time, lived_from)
    end = min(view.time_range.to_time, view.end_of_life if view.is_past else view.now)
    settled = late_before(view.now)
    if not view.is_past and end > settled > start:
        end = settled
    return coverage(judgement.covered if judgement else (), start, end)


def _outages(view: JobView) -> dict[str, Any]:
    """The newest ones, newest first, and what all of them cost."""
    span = view.job, view.time_range.from_time, view.time_range.to_time
    totals = outage_totals(*span)
    return {**vars(totals), "shown": outages(*span)[::-1][:OUTAGES_SHOWN] if totals.count else ()}


def _storage(cluster: str, job_id: str) -> list[Any]:
    """What audits say of it, each row with the replication factor of its root."""
    rows: list[Any] = newest_audits.of_job(cluster, job_id)
    factors = factors_by_uri(row.root for row in rows)
    for row in rows:
        row.replicated = factors.get(row.root, NONE)
    return rows


def _place(view: JobView, vertex_id: str) -> int:
    """Vertices in plan order, unknown ones last."""
    vertices = [vertex.get("vertex_id") for vertex in (view.job.graph or {}).get("vertices") or ()]
    return vertices.index(vertex_id) if vertex_id in vertices else len(vertices)
