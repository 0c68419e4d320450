"""One vertex of a job: what its threads do, as Flink sampled them."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from webapp.accounts.guards import operators_only
from webapp.accounts.roles import may_operate
from webapp.flame_graphs import requests as flame_graphs
from webapp.flame_graphs.presentation import flame_graph_of
from webapp.fleet.job_lookup import look_up, vertex_or_404


@require_GET
def vertex(request: HttpRequest, cluster: str, job_id: str, vertex_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    context = {
        "view": view,
        "job": view.job,
        "vertex": vertex_or_404(view.job, vertex_id),
        "flame": flame_graph_of(cluster, job_id, vertex_id, view.now),
        "may_ask": may_operate(request.user) and not view.is_past,
    }
    return render(request, "flame_graphs/vertex.html", context)


@operators_only
@require_POST
def ask(request: HttpRequest, cluster: str, job_id: str, vertex_id: str) -> HttpResponse:
    """Want a flame graph; the next collect cycle of its cluster asks for it."""
    view = look_up(request, cluster, job_id)
    vertex_or_404(view.job, vertex_id)
    if view.is_past:
        messages.error(request, gettext("This job does not run any more, so that there is nothing to sample."))
    elif flame_graphs.want(cluster, job_id, vertex_id, timezone.now(), by=request.user.get_username()):
        messages.success(
            request, gettext("Flink is asked for a flame graph with the next collect cycle; it takes some seconds to sample it.")
        )
    else:
        messages.info(request, gettext("It is being asked for, or was answered less than five minutes ago."))
    return redirect("vertex", cluster, job_id, vertex_id)
