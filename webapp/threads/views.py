"""The page of what the threads of a job's TaskManagers do."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from webapp.accounts.guards import operators_only
from webapp.accounts.roles import may_operate
from webapp.fleet.job_lookup import JobView, look_up
from webapp.threads.job_threads import JobThreads, job_threads
from webapp.threads.requests import want

SHOWN, MOST_ASKED = 40, 20


@require_GET
def page(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    return render(request, "threads/threads.html", _context(request, cluster, job_id))


@require_GET
def tables(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    return render(request, "threads/_tables.html", _context(request, cluster, job_id))


@operators_only
@require_POST
def ask(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    """Want dumps: of one TaskManager that runs tasks of the job, or of the first of those that run a vertex."""
    view = look_up(request, cluster, job_id)
    vertex_id, wanted = request.POST.get("vertex", ""), request.POST.get("taskmanager", "")
    if view.is_past:
        messages.error(request, gettext("This job does not run any more, so that there is nothing to dump."))
    else:
        found = _threads(view, vertex_id)
        of = [one.taskmanager_id for one in found.taskmanagers if wanted in ("", one.taskmanager_id)]
        if wanted and not of:
            raise Http404(gettext("No task of this job runs on that TaskManager."))
        asked = sum(want(cluster, one, timezone.now(), by=request.user.get_username()) for one in of[:MOST_ASKED])
        if asked:
            messages.success(request, gettext("Flink is asked for a thread dump with the next collect cycle."))
        else:
            messages.info(request, found.why or gettext("It is being asked for, or was answered a moment ago."))
    query = f"?{urlencode({'vertex': vertex_id})}" if vertex_id else ""
    return redirect(reverse("threads", args=(cluster, job_id)) + query)


def _threads(view: JobView, vertex_id: str) -> JobThreads:
    return job_threads(view.job, min(view.time_range.to_time, view.at), view.now, vertex_id)


def _context(request: HttpRequest, cluster: str, job_id: str) -> dict[str, object]:
    view = look_up(request, cluster, job_id)
    vertices = {one.get("vertex_id"): str(one.get("name") or one.get("vertex_id")) for one in (view.job.graph or {}).get("vertices") or ()}
    vertex_id = request.GET.get("vertex", "")
    if vertex_id and vertex_id not in vertices:
        raise Http404(gettext("The plan of this job has no vertex %(vertex_id)s.") % {"vertex_id": vertex_id[:64]})
    found = _threads(view, vertex_id)
    return {
        "view": view,
        "job": view.job,
        "range_query": view.range_query,
        "vertices": vertices.items(),
        "vertex_id": vertex_id,
        "vertex_name": vertices.get(vertex_id, ""),
        "found": found,
        "taskmanagers": found.taskmanagers[:SHOWN],
        "tasks_of": {one.taskmanager_id: sum(map(len, one.tasks.values())) for one in found.taskmanagers[:SHOWN]},
        "may_ask": may_operate(request.user) and not view.is_past,
    }
