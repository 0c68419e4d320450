"""Endpoints for machines that monitor Weir and its jobs: ``/healthz``, ``/readyz``, ``/metrics``
and ``/metrics/jobs``.
"""

import sys

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from webapp.accounts.authentication import TokenAuthentication
from webapp.fleet.pipeline_status.status import status
from webapp.lib import database_errors, scopes
from webapp.lib.database_watch import why_away
from webapp.site import exposition, job_exposition

EXPOSITION = "text/plain; version=0.0.4; charset=utf-8"


@login_not_required
def healthz(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok\n", content_type="text/plain")


@login_not_required
def readyz(request: HttpRequest) -> HttpResponse:
    """200 while the database answers and the pipeline runs, else 503 with codes of the problems."""
    try:
        if why_away():
            raise DatabaseError
        with scopes.everything():  # the response only contains codes
            current = status(timezone.now())
    except DatabaseError:
        return JsonResponse({"ready": False, "problems": ["database.away"]}, status=503)
    codes = sorted({problem.code for problem in current.problems})
    if current.is_stale:
        codes.append("data.stale")
    return JsonResponse({"ready": not codes, "problems": codes}, status=503 if codes else 200)


@login_not_required
def metrics(request: HttpRequest) -> HttpResponse:
    """Metrics of Weir, for signed-in users, API tokens, or with WEIR_METRICS_PUBLIC for everybody.
    While the database is away, no user can be checked: then everybody gets only the metrics that
    say so, as from ``/readyz``.
    """
    try:
        if why_away():
            raise DatabaseError
        if refusal := _refusal(request, is_open=settings.WEIR.metrics_public):
            return refusal
        if not settings.WEIR.metrics_public:
            scopes.require_everything("What Weir says of itself")
        with scopes.everything():
            text = exposition.render(timezone.now())
    except DatabaseError:
        return _without_database()
    return HttpResponse(text, content_type=EXPOSITION)


@login_not_required
def job_metrics(request: HttpRequest) -> HttpResponse:
    """Metrics of the jobs that the viewer may see; never without a token or sign-in."""
    if refusal := _refusal(request, is_open=False):
        return refusal
    return HttpResponse(job_exposition.render(timezone.now()), content_type=EXPOSITION)


def failed(request: HttpRequest) -> HttpResponse:
    """Django's ``handler500``. If the database went away since the last poll of the watch, a
    request to ``/metrics`` fails before its view, when the session is read.
    """
    is_away = database_errors.why_away(sys.exc_info()[1])
    if is_away and request.path_info == "/metrics":
        return _without_database()
    return database_errors.failed(request)


def _without_database() -> HttpResponse:
    return HttpResponse(exposition.without_database(), content_type=EXPOSITION)


def _refusal(request: HttpRequest, is_open: bool) -> HttpResponse | None:
    if is_open or request.user.is_authenticated or _has_token(request):
        return None
    refusal = HttpResponse(
        "Give an API token: Authorization: Bearer weir_…\n", status=401, content_type="text/plain"
    )
    refusal["WWW-Authenticate"] = "Bearer"
    return refusal


def _has_token(request: HttpRequest) -> bool:
    try:
        return TokenAuthentication().authenticate(Request(request)) is not None
    except AuthenticationFailed:
        return False
