"""The page of the pipeline: problems first, then due work, runs and skipped inputs."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone

from webapp.fleet.models import SourceReading
from webapp.fleet.pipeline_status.status import status
from webapp.fleet.unrecognised import unknown_causes, unread_lines
from webapp.lib.keysets import page
from webapp.work.filters import RunFilters, SkipFilters
from webapp.work.models import (
    DueWork,
    Manifest,
    PipelineAlarm,
    PipelineRun,
    SkippedInput,
    run_badge,
)

RUNS_A_PAGE = 15
SKIPS_A_PAGE = 10
RESTARTS_SHOWN, RESTARTS_SHOWN_FOR = 3, timedelta(days=7)
RANGE_PARAMETERS = ("from", "to")
"""These parameters narrow the skipped inputs, not the runs."""


def pipeline(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    run_parameters = {
        name: str(value) for name, value in request.GET.items() if name not in RANGE_PARAMETERS
    }
    filters = RunFilters.from_page(run_parameters, PipelineRun.objects.defer("log_tail"))
    skip_filters = SkipFilters.from_page(request.GET, SkippedInput.objects.all())
    shown_runs = page(filters.qs, filters.order, request.GET.get("runs", ""), RUNS_A_PAGE)
    skips = page(skip_filters.qs, skip_filters.order, request.GET.get("skips", ""), SKIPS_A_PAGE)
    pipeline_status = status(now)
    alarms = list(PipelineAlarm.objects.filter(cleared_at__isnull=True))
    recorded = {(alarm.code, alarm.subject) for alarm in alarms}
    context: dict[str, Any] = {
        "status": pipeline_status,
        "alarms": alarms,
        "unrecorded": [
            problem
            for problem in pipeline_status.problems
            if (problem.code, problem.subject) not in recorded
        ],
        "restarts": Manifest.objects.filter(
            restarted__isnull=False, loaded_at__gte=now - RESTARTS_SHOWN_FOR
        )[:RESTARTS_SHOWN],
        "work": DueWork.objects.all(),
        "sources": SourceReading.objects.all() if settings.WEIR.sources else (),
        "runs": shown_runs,
        "run_rows": [(run, run_badge(run.state)) for run in shown_runs.rows],
        "filters": filters,
        "skip_filters": skip_filters,
        "kind": filters.values.get("kind"),
        "kinds": PipelineRun.objects.order_by("kind").values_list("kind", flat=True).distinct(),
        "skips": skips,
        "unread": unread_lines(now, skip_filters.values.get("cluster")),
        "unknown_causes": unknown_causes(now, skip_filters.values.get("cluster")),
        "cluster": skip_filters.values.get("cluster"),
    }
    return render(request, "pipeline/pipeline.html", context)


def run(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(PipelineRun, pk=pk)
    return render(request, "pipeline/run.html", {"run": row, "badge": run_badge(row.state)})
