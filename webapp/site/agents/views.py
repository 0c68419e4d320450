"""``/mcp``: tokens, scopes and rate limits are those of the API."""

import json
from typing import Any

from django.http import HttpResponse, HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from ingest.json_bounds import values_in
from webapp.accounts.authentication import TokenAuthentication
from webapp.accounts.permissions import check_rate
from webapp.accounts.roles import role_of
from webapp.lib.api.exceptions import BodyTooLarge, NotInstalled
from webapp.site.agents.answers import TOOLS
from webapp.site.agents.tools import Unanswerable, call

MOST_BYTES = 64 * 1024
MOST_VALUES = 2_000
MISSING_EXTRA = "This Weir was installed without the extra mcp: pip install 'weir[mcp]'."
PASSED_HEADERS = (
    "accept",
    "content-type",
    "mcp-protocol-version",
    "mcp-session-id",
    "mcp-method",
    "mcp-name",
)


class ReadsByPost(BasePermission):
    """For everybody who may read, since these POST requests write nothing."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not request.user.is_authenticated or role_of(request.user) is None:
            return False
        check_rate(request)
        return True


def answer_tool(name: object, arguments: object) -> tuple[dict[str, Any], bool]:
    try:
        return call(TOOLS, name, arguments), False
    except Unanswerable as wrong:
        return {"error": str(wrong)}, True


# No docstring: drf-spectacular would read it.
class McpView(APIView):
    authentication_classes = [TokenAuthentication]
    permission_classes = [ReadsByPost]
    parser_classes: list[Any] = []

    @extend_schema(exclude=True)
    def post(self, request: Request) -> HttpResponseBase:
        try:
            from webapp.site.agents.protocol import answer_http
        except ModuleNotFoundError as missing:
            raise NotInstalled(MISSING_EXTRA) from missing
        body = request._request.read(MOST_BYTES + 1)
        if len(body) > MOST_BYTES or values_in(body) > MOST_VALUES:
            raise BodyTooLarge("A question has 64 KiB and 2,000 values at most.")
        outcome = _answer_call(body)
        headers = {
            name: request.headers[name] for name in PASSED_HEADERS if name in request.headers
        }
        answer = answer_http(body, headers, lambda name, arguments: outcome)
        response = HttpResponse(answer.body, status=answer.status)
        for name, value in answer.headers.items():
            if name not in ("content-length", "server", "date"):
                response[name] = value
        return response


def _answer_call(body: bytes) -> tuple[dict[str, Any], bool]:
    """The answer to a tool call, which other requests do not use."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return {}, True
    if not isinstance(message, dict) or message.get("method") != "tools/call":
        return {}, True
    parameters = message.get("params")
    if not isinstance(parameters, dict):
        return {}, True
    return answer_tool(parameters.get("name"), parameters.get("arguments"))
