from django.conf import settings
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme

_LONGEST_NEXT = 1_500


def remember(
    response: HttpResponseBase,
    cookie: str,
    text: str,
    max_age_s: int = settings.LANGUAGE_COOKIE_AGE,
    path: str = "/",
) -> None:
    response.set_cookie(
        cookie,
        text,
        max_age=max_age_s,
        path=path,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def back(
    request: HttpRequest, otherwise: str = settings.LOGIN_REDIRECT_URL
) -> HttpResponseRedirect:
    """To the page named ``next``, if it is one of Weir's."""
    return redirect(own(request, request.POST.get("next", "")) or otherwise)


def own(request: HttpRequest, after: str) -> str:
    """``after`` if it is a path of Weir, else ""."""
    is_own = after.startswith("/") and len(after) <= _LONGEST_NEXT
    hosts = {request.get_host()}
    safe = is_own and url_has_allowed_host_and_scheme(after, hosts, request.is_secure())
    return after if safe else ""
