"""The subtasks of one vertex: a part of the job's page and of the vertex's, and a download."""

import logging
from dataclasses import asdict
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_GET

from webapp.findings.models import Finding
from webapp.findings.presentation import shown
from webapp.fleet.job_lookup import JobView, look_up, vertex_or_404
from webapp.lib.exports import export_response
from webapp.lib.list_pages import page_number
from webapp.pressure.vertex_subtasks import COLUMNS, SORTS, VertexSample, in_order, newest_sample

log = logging.getLogger(__name__)

PAGE_SIZE = 50
FINDINGS_SHOWN = 3
BUSIEST_FIRST = "busy"


@require_GET
def subtasks(request: HttpRequest, cluster: str, job_id: str, vertex_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    by = _sorting(request)
    start, end = view.time_range.from_time, view.time_range.to_time
    findings = Finding.objects.of_job(cluster, job_id).filter(
        subject_kind="vertex", subject_id=vertex_id, first_seen__lte=end, last_seen__gte=start
    )
    context: dict[str, Any] = {
        "view": view,
        "job": view.job,
        "vertex": vertex_or_404(view.job, vertex_id),
        "findings": [shown(finding) for finding in findings.worst_first()[:FINDINGS_SHOWN]],
        "by": by,
    }
    try:
        sample = _sample(view, vertex_id)
    except (
        Exception
    ):  # The lake may be any storage, with any error; the rest of the page comes from the database.
        log.exception(
            "Subtasks of vertex %s of %s on %s could not be read from the lake",
            vertex_id,
            job_id,
            cluster,
        )
        return render(request, "pressure/_subtasks.html", context | {"is_unreadable": True})
    total = len(sample.subtasks)
    number = page_number(request, "page", total, PAGE_SIZE)
    first = number * PAGE_SIZE
    context |= {
        "sampled_at": sample.at,
        "subtasks": in_order(sample.subtasks, by)[first : first + PAGE_SIZE],
        "total": total,
        "first": first + 1,
        "last": min(first + PAGE_SIZE, total),
        "number": number,
        "has_more": first + PAGE_SIZE < total,
    }
    return render(request, "pressure/_subtasks.html", context)


@require_GET
def export(
    request: HttpRequest, cluster: str, job_id: str, vertex_id: str, form: str
) -> HttpResponseBase:
    view = look_up(request, cluster, job_id)
    vertex_or_404(view.job, vertex_id)
    rows = (
        asdict(sample) for sample in in_order(_sample(view, vertex_id).subtasks, _sorting(request))
    )
    return export_response(form, f"weir-subtasks-{vertex_id}", COLUMNS, rows)


def _sample(view: JobView, vertex_id: str) -> VertexSample:
    return newest_sample(
        view.job.cluster, view.job.job_id, vertex_id, min(view.time_range.to_time, view.at)
    )


def _sorting(request: HttpRequest) -> str:
    asked = request.GET.get("sort", BUSIEST_FIRST)
    return asked if asked in SORTS else BUSIEST_FIRST
