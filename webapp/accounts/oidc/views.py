"""Redirects to the identity provider and back. The state is in a signed cookie: abandoned sign-ins
fill no table.
"""

import secrets
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from webapp.accounts.audit import entries
from webapp.accounts.kept_choices import safe_path, set_cookie
from webapp.accounts.models import AuditEntry
from webapp.accounts.oidc import people
from webapp.accounts.oidc.configured import ProviderFails, is_configured

COOKIE, SALT, LIFETIME_S = "weir_oidc", "weir.accounts.oidc", 600
SIGN_OUT = "oidc_sign_out"
"""Session key of the URL that ends the session at the provider."""

BACKEND = "django.contrib.auth.backends.ModelBackend"
_LONGEST_COOKIE, _LONGEST_CODE = 4_000, 4_000


@login_not_required
@require_GET
@never_cache
def start(request: HttpRequest) -> HttpResponse:
    if not is_configured():
        raise Http404
    from webapp.accounts.oidc import provider  # imports Authlib, which no other page needs

    next_path = safe_path(request, request.GET.get("next", ""))
    try:
        authorization = provider.start()
    except ProviderFails as why:
        return _refused(request, str(why), next_path)
    answer = HttpResponseRedirect(authorization["url"])
    signed = signing.dumps(
        [authorization["state"], authorization["nonce"], authorization["code_verifier"], next_path],
        salt=SALT,
    )
    set_cookie(answer, COOKIE, signed, LIFETIME_S, _path())
    return answer


@login_not_required
@require_GET
@never_cache
def back(request: HttpRequest) -> HttpResponse:
    if not is_configured():
        raise Http404
    answer = _sign_in(request)
    answer.delete_cookie(COOKIE, path=_path(), samesite="Lax")
    return answer


def _sign_in(request: HttpRequest) -> HttpResponse:
    from webapp.accounts.oidc import provider

    try:
        signed = request.COOKIES.get(COOKIE, "")[:_LONGEST_COOKIE]
        state, nonce, code_verifier, next_path = signing.loads(
            signed, salt=SALT, max_age=LIFETIME_S
        )
    except (signing.BadSignature, ValueError, TypeError):
        return _refused(
            request,
            gettext("The sign-in took too long, or was begun in another browser. Try again."),
            "",
        )
    if not secrets.compare_digest(
        str(state).encode(), request.GET.get("state", "").encode(errors="replace")
    ):
        return _refused(
            request, gettext("This is not the sign-in that was begun last. Try again."), next_path
        )
    code = request.GET.get("code", "")
    if not 0 < len(code) <= _LONGEST_CODE:
        return _refused(request, gettext("The identity provider refused the sign-in."), next_path)
    try:
        identity = provider.finish(code, nonce, code_verifier)
        user = people.admit(identity.claims)
    except ProviderFails as why:
        return _refused(request, str(why), next_path)
    except people.NotAdmitted as why:
        entries.sign_in(
            request,
            why.name,
            AuditEntry.Outcome.REFUSED,
            403,
            {"by": "OpenID Connect", "why": str(why)},
        )
        return _refused(request, str(why), next_path)
    login(request, user, backend=BACKEND)
    if identity.sign_out:
        request.session[SIGN_OUT] = identity.sign_out
    return redirect(safe_path(request, next_path) or settings.LOGIN_REDIRECT_URL)


def _refused(request: HttpRequest, why: str, next_path: str) -> HttpResponse:
    messages.error(request, why)
    return redirect(
        f"{reverse('sign-in')}?{urlencode({'next': next_path})}" if next_path else "sign-in"
    )


def _path() -> str:
    return reverse("oidc-start")
