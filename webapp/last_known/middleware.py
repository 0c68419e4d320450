"""Keeps what pages say, and says it again, with its age, while the database is away."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

from django.conf import settings
from django.contrib.messages import get_messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string
from django.urls import Resolver404, resolve
from django.utils.translation import get_language

from webapp.accounts.time_zones import chosen_by
from webapp.last_known import page_text
from webapp.last_known.answers import Answer, answer_name, find, keep, missed_since
from webapp.last_known.forgetting import forget_session
from webapp.last_known.kept_pages import LONGEST_ADDRESS, MOST_BYTES, NAMES, TYPES
from webapp.last_known.redis_side import is_on
from webapp.last_known.viewers import Viewer, known, session_name
from webapp.lib import shown_zone
from webapp.lib.context import theme_of
from webapp.lib.database_errors import DatabaseAway

AGAIN_AFTER_S = 60
"""One and the same answer is not kept more often."""
MOST_NOTED = 5_000
SIGN_OUTS = ("sign-out", "admin:logout")


class LastKnown:
    """Within language and time zone, around all that asks the database."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self._noted: dict[tuple[str, str], float] = {}
        self._lock = threading.Lock()

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        at = time.time()
        response = self.get_response(request)
        if not is_on():
            return response
        if isinstance(response, DatabaseAway):
            self._noted.clear()  # so that the first page that is there again says so
            return self._instead(request) or response
        if isinstance(response, HttpResponse) and _is_to_be_kept(request, response):
            self._keep(request, response, at)
        return response

    def _keep(self, request: HttpRequest, response: HttpResponse, at: float) -> None:
        session, viewer = session_name(request.session.session_key or ""), Viewer.of(request, at)
        name = answer_name(viewer, *_variant(request))
        if not self._is_due((session, name), at):
            return
        keep(session, viewer, name, Answer(response["Content-Type"], page_text.to_keep(response.content), at))

    def _is_due(self, noted: tuple[str, str], at: float) -> bool:
        with self._lock:
            if at - self._noted.get(noted, 0.0) < AGAIN_AFTER_S:
                return False
            if len(self._noted) >= MOST_NOTED:
                self._noted.clear()
            self._noted[noted] = at
            return True

    def _instead(self, request: HttpRequest) -> HttpResponse | None:
        key, now = request.COOKIES.get(settings.SESSION_COOKIE_NAME, ""), time.time()
        if request.method == "POST" and _address_of(request) in SIGN_OUTS:
            forget_session(key)  # the session's row stays for now; what was kept is not shown any more
            return None
        if not key or not _is_asked_for(request):
            return None
        session = session_name(key)
        viewer = known(session, now)
        answer = find(session, viewer, answer_name(viewer, *_variant(request)), now) if viewer else None
        return _answered(request, answer, now) if answer else None


def _is_to_be_kept(request: HttpRequest, response: HttpResponse) -> bool:
    """Messages are for one reader and one moment, and a nonce for one answer."""
    return (
        response.status_code == 200
        and _is_asked_for(request)
        and response.get("Content-Type", "").startswith(TYPES)
        and "Content-Disposition" not in response
        and len(response.content) <= MOST_BYTES
        and request.user.is_authenticated
        and not len(get_messages(request))
        and not getattr(request, "_csp_nonce", None)
    )


def _answered(request: HttpRequest, answer: Answer, now: float) -> HttpResponse:
    body = answer.body
    if answer.content_type.startswith("text/html"):
        told = {"since": _instant(missed_since(now)), "made_at": _instant(answer.asked_at), "now": _instant(now)}
        body = page_text.as_last_known(body, render_to_string("last_known/_banner.html", told), theme_of(request))
    # The last is what middleware within this one gives every other page.
    headers = {"Age": str(round(now - answer.asked_at)), "Cache-Control": "no-store", "X-Frame-Options": settings.X_FRAME_OPTIONS}
    return HttpResponse(body, content_type=answer.content_type, headers=headers)


def _is_asked_for(request: HttpRequest) -> bool:
    return request.method == "GET" and _address_of(request) in NAMES and len(request.get_full_path()) <= LONGEST_ADDRESS


def _address_of(request: HttpRequest) -> str:
    """Its name. Where the database was asked before the address was looked at, Django has not resolved it."""
    try:
        return (request.resolver_match or resolve(request.path_info)).view_name
    except Resolver404:
        return ""


def _variant(request: HttpRequest) -> tuple[str, ...]:
    """All that makes an answer to the same account another one."""
    part = request.headers.get("HX-Request", "")
    return (request.get_full_path(), part, get_language() or "", chosen_by(request), shown_zone.key())


def _instant(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
