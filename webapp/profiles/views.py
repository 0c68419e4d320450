from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from webapp.accounts.guards import operators_only
from webapp.fleet.job_lookup import look_up, vertex_or_404
from webapp.lib.messages.rendering import localised
from webapp.profiles.job_threads import job_threads
from webapp.profiles.thread_dump_requests import request_dumps


@operators_only
@require_POST
def ask_dumps(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    """Request dumps of one TaskManager of the job, or of the first ones that run a vertex."""
    view = look_up(request, cluster, job_id)
    chosen = {name: request.POST.get(name, "") for name in ("vertex", "taskmanager")}
    if view.is_past:
        messages.error(request, gettext("This job no longer runs, so there is nothing to dump."))
    else:
        until = min(view.time_range.to_time, view.at)
        threads = job_threads(view.job, until, view.now, chosen["vertex"], chosen["taskmanager"])
        if chosen["taskmanager"] and not threads.taskmanagers:
            raise Http404(gettext("No task of this job runs on that TaskManager."))
        if request_dumps(cluster, threads.taskmanager_ids, timezone.now()):
            messages.success(
                request, gettext("Flink is asked for a thread dump with the next collect cycle.")
            )
        else:
            text = gettext("It is being asked for, or was answered a moment ago.")
            messages.info(request, localised(threads.why) or text)
    query = urlencode({name: value for name, value in chosen.items() if value})
    return redirect(reverse("threads", args=(cluster, job_id)) + (f"?{query}" if query else ""))


@require_GET
def vertex(request: HttpRequest, cluster: str, job_id: str, vertex_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    context = {"view": view, "job": view.job, "vertex": vertex_or_404(view.job, vertex_id)}
    return render(request, "profiles/vertex.html", context)
