"""Makes all errors below /api/ JSON, also those from Django outside the API: wrong host, missing
CSRF token, bugs.
"""

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse

from ingest import log_lines
from webapp.lib.api.errors import plain_error
from webapp.lib.middleware import Middleware

PREFIX = "/api/"
_ERRORS = {
    400: ("bad_request", "The request cannot be understood."),
    403: (
        "permission_denied",
        (
            "Not allowed. A browser sends its CSRF token in the header X-CSRFToken, anything else "
            "an API token."
        ),
    ),
    404: ("not_found", "There is nothing at this address; /api/v1/schema/ lists what there is."),
    405: (
        "method_not_allowed",
        "This address does not know the method; the header Allow names those it knows.",
    ),
    409: ("out_of_turn", "Somebody else changed or removed this at the same time; read it again."),
    413: ("too_large", "The request is too large."),
}
_BUG = ("error", "Weir failed to answer; its log has the reason.")


class JsonBelowApi(Middleware):
    """The outermost middleware: it sees every answer."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        is_error = request.path_info.startswith(PREFIX) and response.status_code >= 400
        content_type = response.headers.get("Content-Type", "").partition(";")[0]
        return _as_json(response) if is_error and content_type != "application/json" else response


def _as_json(response: HttpResponseBase) -> HttpResponse:
    is_bug = response.status_code >= 500
    default = _BUG if is_bug else ("error", response.reason_phrase)
    body = plain_error(*_ERRORS.get(response.status_code, default))
    if is_bug:
        body["error"]["request_id"] = log_lines.request_id()
    answer = JsonResponse(body, status=response.status_code)
    for name, value in response.headers.items():
        if name not in ("Content-Type", "Content-Length", "Content-Security-Policy"):
            answer.headers[name] = value
    answer.cookies = response.cookies
    return answer
