"""What the pipeline does: problems first, then due work, runs, heartbeats, and what was passed over."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.utils import timezone

from webapp.freshness.status import status
from webapp.lib.exports import export_response
from webapp.lib.keysets import KeysetColumn, page
from webapp.lib.timeranges import of_request
from webapp.work.badges import run_badge
from webapp.work.models import DueWork, Heartbeat, Manifest, PipelineAlarm, PipelineRun, SkippedInput

RUNS_A_PAGE = 25
SKIPS_A_PAGE = 20
CLEARED_SHOWN = 5
RESTARTS_SHOWN, RESTARTS_SHOWN_FOR = 3, timedelta(days=7)
NEWEST_RUNS_FIRST = (KeysetColumn("started_at", descending=True), KeysetColumn("id", descending=True))
NEWEST_SKIPS_FIRST = (KeysetColumn("observed_at", descending=True), KeysetColumn("id", descending=True))
SKIP_COLUMNS = ("cluster", "observed_at", "source", "subject", "reason", "detail")


def pipeline(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    runs = PipelineRun.objects.defer("log_tail")
    kind = request.GET.get("kind", "")
    if kind:
        runs = runs.filter(kind=kind[:32].replace("\x00", ""))
    shown_runs = page(runs, NEWEST_RUNS_FIRST, request.GET.get("runs", ""), RUNS_A_PAGE)
    skips = page(_skips(request, now), NEWEST_SKIPS_FIRST, request.GET.get("skips", ""), SKIPS_A_PAGE)
    found, alarms = status(now), list(PipelineAlarm.objects.filter(cleared_at__isnull=True))
    recorded = {(alarm.code, alarm.subject) for alarm in alarms}
    context: dict[str, Any] = {
        "status": found,
        "alarms": alarms,
        "unrecorded": [one for one in found.problems if (one.code, one.subject) not in recorded],
        "cleared": PipelineAlarm.objects.filter(cleared_at__isnull=False).order_by("-cleared_at")[:CLEARED_SHOWN],
        "restarts": Manifest.objects.filter(restarted__isnull=False, loaded_at__gte=now - RESTARTS_SHOWN_FOR)[:RESTARTS_SHOWN],
        "work": [(row, row.is_held(now)) for row in DueWork.objects.all()],
        "heartbeats": Heartbeat.objects.order_by("name"),
        "runs": shown_runs,
        "run_rows": [(run, run_badge(run.state)) for run in shown_runs.rows],
        "kind": kind,
        "kinds": ("collect", "spark", "rollups", "storage", "import", "maintenance"),
        "skips": skips,
        "cluster": request.GET.get("cluster", ""),
    }
    return render(request, "pipeline/pipeline.html", context)


def run(request: HttpRequest, pk: int) -> HttpResponse:
    """One run with the end of its log."""
    found = get_object_or_404(PipelineRun, pk=pk)
    return render(request, "pipeline/run.html", {"run": found, "badge": run_badge(found.state), "manifests": found.manifests.all()})


def skipped_export(request: HttpRequest, form: str) -> HttpResponseBase:
    return export_response(form, "weir-skipped-inputs", SKIP_COLUMNS, _skip_rows(request))


def _skips(request: HttpRequest, now: datetime) -> Any:
    """Of the page's time range where one is chosen, and of one cluster where one is."""
    skips = SkippedInput.objects.all()
    span = of_request(request, now)
    if span.chosen:
        skips = skips.filter(observed_at__gte=span.from_time, observed_at__lte=span.to_time)
    cluster = request.GET.get("cluster", "").replace("\x00", "")
    return skips.filter(cluster=cluster[:100]) if cluster else skips


def _skip_rows(request: HttpRequest) -> Iterator[dict[str, Any]]:
    yield from _skips(request, timezone.now()).order_by("-observed_at", "-id").values(*SKIP_COLUMNS).iterator(chunk_size=1_000)
