"""The language of pages: the chosen one, else the first of the browser's languages that Weir has,
else English. The choice is stored in a cookie and with the account. API and downloads are English.
"""

from functools import partial
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import BadRequest
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    StreamingHttpResponse,
)
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_POST

from webapp.accounts.kept_choices import redirect_back, set_cookie
from webapp.accounts.models import User
from webapp.lib.api.json_errors import PREFIX
from webapp.lib.middleware import Middleware, stream_within

ENGLISH = "en"
_FORM_OF_REPORT = "form"
"""URL parameter of downloaded reports."""


class Language(Middleware):
    """Reads no row, so it works while the database is away."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        with translation.override(translation.get_language_from_request(request)):
            response = self.get_response(request)
            language = translation.get_language() or ENGLISH
        if isinstance(response, StreamingHttpResponse):
            pieces: Any = response.streaming_content
            response.streaming_content = stream_within(
                partial(translation.override, language), pieces
            )
        if is_for_machines(request):
            return response
        response.headers.setdefault("Content-Language", language)
        patch_vary_headers(response, ("Cookie", "Accept-Language"))
        if getattr(request, "has_signed_in", False) and (
            account_language := supported(getattr(request.user, "language", ""))
        ):
            set_cookie(response, settings.LANGUAGE_COOKIE_NAME, account_language)
        return response

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, kwargs: dict[str, Any]
    ) -> None:
        if is_for_machines(request):
            translation.activate(ENGLISH)


@login_not_required
@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    language = supported(request.POST.get("language", ""))
    if not language:
        raise BadRequest(
            f"Weir has no such language. It has: {', '.join(dict(settings.LANGUAGES))}."
        )
    if request.user.is_authenticated:
        User.objects.filter(pk=request.user.pk).update(language=language)
    response = redirect_back(request)
    set_cookie(response, settings.LANGUAGE_COOKIE_NAME, language)
    return response


def supported(language: str) -> str:
    return language if language in dict(settings.LANGUAGES) else ""


def is_for_machines(request: HttpRequest) -> bool:
    """False before the URL is resolved."""
    match = request.resolver_match
    path = request.path_info
    return match is not None and (
        _FORM_OF_REPORT in match.kwargs or path.endswith(".csv") or path.startswith(PREFIX)
    )
