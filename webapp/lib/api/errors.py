"""Errors of the API have the form ``{"error": {"code": …, "message": …, "fields": {"from":
["…"]}}}``; only invalid input has ``fields``.
"""

from collections.abc import Iterator
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.utils import OpenApiResponse
from rest_framework import exceptions, serializers, status
from rest_framework.response import Response
from rest_framework.views import exception_handler

from webapp.lib import not_found
from webapp.lib.refusals import ActionRefused, InputRefused


class ErrorBody(serializers.Serializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()
    fields: Any = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()), required=False
    )


class ErrorAnswer(serializers.Serializer[Any]):
    error = ErrorBody()


CONFLICT = {
    409: OpenApiResponse(ErrorAnswer, "The state of the subject, or who asks, does not allow it.")
}


class ActionConflict(exceptions.APIException):
    status_code = status.HTTP_409_CONFLICT
    default_code = "out_of_turn"


def answer(error: Exception, context: dict[str, Any]) -> Response | None:
    """The ``EXCEPTION_HANDLER`` of DRF; None for bugs. A refused action is 409, refused input 400."""
    if isinstance(error, Http404):
        error = exceptions.NotFound(not_found.sentence(error) or None)
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied(str(error) or None)
    elif isinstance(error, InputRefused):
        error = exceptions.ValidationError(
            {name: [text] for name, text in error.fields.items()} or [str(error)]
        )
    elif isinstance(error, ActionRefused):
        error = ActionConflict(str(error))
    response = exception_handler(error, context)
    if response is None or not isinstance(error, exceptions.APIException):
        return None
    response.data = {"error": _body(error)}
    return response


def plain_error(code: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


@csrf_exempt
@login_not_required
def no_such_address(request: HttpRequest, rest: str = "") -> JsonResponse:
    message = f"There is nothing at {request.path[:200]}; /api/v1/schema/ lists what there is."
    return JsonResponse(plain_error("not_found", message), status=404)


def _body(error: exceptions.APIException) -> dict[str, Any]:
    detail = error.detail
    if isinstance(detail, dict):
        fields = {name: list(_texts(texts)) for name, texts in detail.items()}
        return {
            "code": error.default_code,
            "message": "Some parameters cannot be used.",
            "fields": fields,
        }
    if isinstance(detail, list):
        return {"code": error.default_code, "message": " ".join(str(text) for text in detail)}
    return {"code": getattr(detail, "code", error.default_code), "message": str(detail)}


def _texts(detail: Any, place: str = "") -> Iterator[str]:
    """Texts of nested errors, such as ``"0.operator: …"``."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            yield from _texts(inner, f"{place}.{name}" if place else f"{name}")
    elif isinstance(detail, list):
        for inner in detail:
            yield from _texts(inner, place)
    else:
        yield f"{place}: {detail}" if place else str(detail)
