"""Lists whose address carries a cursor that no page of theirs made start again at their first page."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect

from webapp.lib.keysets import BadCursor


class FirstPageInstead:
    """Middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponseBase | None:
        return redirect(request.path) if isinstance(error, BadCursor) else None
