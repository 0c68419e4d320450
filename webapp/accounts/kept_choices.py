from django.conf import settings
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import redirect

from webapp.accounts.oidc.views import own

KEPT_S = settings.LANGUAGE_COOKIE_AGE


def remember(response: HttpResponseBase, cookie: str, choice: str) -> None:
    response.set_cookie(
        cookie,
        choice,
        max_age=KEPT_S,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def back(
    request: HttpRequest, otherwise: str = settings.LOGIN_REDIRECT_URL
) -> HttpResponseRedirect:
    """To the page named ``next``, if it is one of Weir's."""
    return redirect(own(request, request.POST.get("next", "")) or otherwise)
