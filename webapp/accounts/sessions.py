"""Sessions end at a maximum age and after inactivity, which django-allauth does not offer."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import SESSION_KEY, logout
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext

from webapp.lib.middleware import Middleware

SIGNED_IN_AT, ACTIVE_AT = "signed_in_at", "active_at"
NOTED_EVERY_S = 60
"""Activity is stored this often at most: otherwise each page would write."""
PROBES = ("/healthz", "/readyz")


class Sessions(SessionMiddleware):
    """Probes have no session: they do not depend on the database."""

    def process_request(self, request: HttpRequest) -> None:
        if request.path_info in PROBES:
            request.COOKIES.pop(settings.SESSION_COOKIE_NAME, None)
        super().process_request(request)


class SessionLimits(Middleware):
    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if settings.SESSION_COOKIE_NAME in request.COOKIES and SESSION_KEY in request.session:
            self._check_ages(request, int(timezone.now().timestamp()))
        return self.get_response(request)

    def _check_ages(self, request: HttpRequest, now: int) -> None:
        """A session that began in the future, by a wrong clock, begins now."""
        session, idle_s = request.session, settings.WEIR.session_idle_s
        began, active = session.get(SIGNED_IN_AT), session.get(ACTIVE_AT)
        if began is None or active is None or max(began, active) > now + NOTED_EVERY_S:
            begin(request, now)
        elif now - began >= settings.WEIR.session_age_s:
            _end(request, gettext("Your sign-in has expired."))
        elif idle_s and now - active >= idle_s:
            _end(request, gettext("You were not active for a while."))
        elif _is_activity(request) and now - active >= min(
            NOTED_EVERY_S, (idle_s or NOTED_EVERY_S) // 2
        ):
            session[ACTIVE_AT] = now


def begin(request: HttpRequest, now: int) -> None:
    request.session[SIGNED_IN_AT] = request.session[ACTIVE_AT] = now


def begin_at_sign_in(request: Any, **_kwargs: Any) -> None:
    if request is not None and hasattr(request, "session"):
        begin(request, int(timezone.now().timestamp()))


def _is_activity(request: HttpRequest) -> bool:
    """False for a refresh by a page's script, which browsers mark over https and on loopback."""
    return request.headers.get(
        "Sec-Fetch-Mode", "navigate"
    ) == "navigate" or request.method not in ("GET", "HEAD")


def _end(request: HttpRequest, why: str) -> None:
    logout(request)
    if request.headers.get("Sec-Fetch-Mode", "navigate") == "navigate":
        messages.info(request, gettext("%(why)s Sign in again.") % {"why": why})
