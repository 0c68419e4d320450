from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from webapp.accounts.guards import operators_only
from webapp.accounts.roles import may_operate
from webapp.fleet.job_lookup import look_up
from webapp.lib.refusals import refusal_as_message
from webapp.replication import orders
from webapp.replication.job_replication import job_replication
from webapp.replication.registration import DEFAULT_EVERY_S, LEAST_EVERY_S, MOST_EVERY_S


@require_GET
def page(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    return render(request, "replication/replication.html", _context(request, cluster, job_id))


@require_GET
def tables(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    return render(request, "replication/_tables.html", _context(request, cluster, job_id))


@operators_only
@require_POST
def ask(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    destination = request.POST.get("destination", "").strip()
    every_s = request.POST.get("every_s", "")
    if not destination or len(destination) > 1000 or not (every_s.isdecimal() and len(every_s) < 9):
        messages.error(
            request,
            gettext(
                "Name a directory as Flink reads it, and after how many seconds to look for a "
                "newer checkpoint."
            ),
        )
    else:
        with refusal_as_message(request):
            orders.ask(view.job, destination, int(every_s), request.user, timezone.now())
            messages.success(
                request, gettext("The copy is requested; a worker begins within a minute.")
            )
    return redirect("replication", cluster, job_id)


@operators_only
@require_POST
def order(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    replication = job_replication(view.job, view.now)
    if replication is None:
        raise Http404(gettext("No copy of this job was requested."))
    with refusal_as_message(request):
        messages.success(
            request,
            orders.order(
                replication.replica, request.POST.get("order", ""), request.user, timezone.now()
            ),
        )
    return redirect("replication", cluster, job_id)


def _context(request: HttpRequest, cluster: str, job_id: str) -> dict[str, object]:
    view = look_up(request, cluster, job_id)
    return {
        "view": view,
        "job": view.job,
        "found": job_replication(view.job, view.now),
        "range_query": view.range_query,
        "operates": may_operate(request.user),
        "every_s": (DEFAULT_EVERY_S, LEAST_EVERY_S, MOST_EVERY_S),
    }
