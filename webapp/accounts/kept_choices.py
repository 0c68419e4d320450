from django.conf import settings
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme

_LONGEST_NEXT = 1_500


def set_cookie(
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


def redirect_back(
    request: HttpRequest, otherwise: str = settings.LOGIN_REDIRECT_URL
) -> HttpResponseRedirect:
    """Redirects to the page in the field ``next`` if it is a path of Weir, else to ``otherwise``."""
    return redirect(safe_path(request, request.POST.get("next", "")) or otherwise)


def safe_path(request: HttpRequest, path: str) -> str:
    """``path`` if it is a path of Weir, else ""."""
    is_path = path.startswith("/") and len(path) <= _LONGEST_NEXT
    hosts = {request.get_host()}
    is_safe = is_path and url_has_allowed_host_and_scheme(path, hosts, request.is_secure())
    return path if is_safe else ""
