"""Ids of requests: in a header of the response, on error pages, and in every log line of the
request.
"""

import re
import secrets

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from ingest import log_lines
from webapp.lib.middleware import Middleware

HEADER = "X-Request-ID"
VARIABLE = "weir.request_id"
"""Variable of the WSGI environment, which the access log reads."""

_ACCEPTED = re.compile(r"[A-Za-z0-9._-]{8,64}")


class RequestIds(Middleware):
    """The sent id is only used behind a declared proxy (``WEIR_BEHIND_PROXY``): otherwise anybody
    could imitate log lines of others.
    """

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        request_id = request.META[VARIABLE] = _sent_id(request) or secrets.token_hex(8)
        with log_lines.request_context(request_id):
            response = self.get_response(request)
        response[HEADER] = request_id
        return response


def _sent_id(request: HttpRequest) -> str:
    sent = request.headers.get(HEADER, "") if settings.WEIR.behind_proxy else ""
    return sent if _ACCEPTED.fullmatch(sent) else ""
