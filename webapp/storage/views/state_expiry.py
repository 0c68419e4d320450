"""Which keyed states of a job expire: a part of the page of its state backend, read when it is shown."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from webapp.fleet.job_lookup import look_up
from webapp.storage.state_expiry import state_expiry


@require_GET
def tables(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    return render(request, "storage/_state_expiry.html", {"found": state_expiry(look_up(request, cluster, job_id).job)})
