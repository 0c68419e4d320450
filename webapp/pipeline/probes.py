"""Doors for machines that watch Weir itself: ``/healthz``, ``/readyz``, ``/metrics``."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse


@login_not_required
def healthz(request: HttpRequest) -> HttpResponse:
    """The process answers."""
    return HttpResponse("ok\n", content_type="text/plain")


@login_not_required
def readyz(request: HttpRequest) -> HttpResponse:
    return JsonResponse({"ready": True})


def metrics(request: HttpRequest) -> HttpResponse:
    return HttpResponse("", content_type="text/plain")
