"""Each request has an id: in the header of its answer, on pages of errors, and in every line of the
log that was written for it.
"""

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
    """Outermost. An id that comes with the request counts only where a proxy is declared
    (``WEIR_BEHIND_PROXY``): else anybody could make lines of others look like theirs.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        known = request.META[VARIABLE] = _given(request) or secrets.token_hex(8)
        with log_lines.request_context(known):
            response = self.get_response(request)
        response[HEADER] = known
        return response


def _given(request: HttpRequest) -> str:
    given = request.headers.get(HEADER, "") if settings.WEIR.behind_proxy else ""
    return given if _ACCEPTED.fullmatch(given) else ""
