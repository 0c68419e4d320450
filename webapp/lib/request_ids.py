"""Ids of requests: in the answer's header, on error pages, and in every log line of the request."""

import re
import secrets
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from ingest import log_lines

HEADER = "X-Request-ID"
VARIABLE = "weir.request_id"
"""Of the WSGI environment, which the access log reads."""

_ACCEPTED = re.compile(r"[A-Za-z0-9._-]{8,64}")


class RequestIds:
    """The outermost middleware. An id sent with the request counts only behind a declared proxy
    (``WEIR_BEHIND_PROXY``): otherwise anybody could imitate others' log lines.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        known = request.META[VARIABLE] = _given_id(request) or secrets.token_hex(8)
        with log_lines.request_context(known):
            response = self.get_response(request)
        response[HEADER] = known
        return response


def _given_id(request: HttpRequest) -> str:
    given = request.headers.get(HEADER, "") if settings.WEIR.behind_proxy else ""
    return given if _ACCEPTED.fullmatch(given) else ""
