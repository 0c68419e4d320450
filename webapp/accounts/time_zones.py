"""The time zone of pages: UTC, the browser's, or a chosen one, stored in a cookie and with the
account. A script writes the browser's zone into a second cookie. API and downloads are in UTC.
"""

from datetime import UTC, tzinfo
from functools import cache
from typing import Any

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from webapp.accounts.kept_choices import redirect_back, set_cookie
from webapp.accounts.languages import is_for_machines
from webapp.accounts.models import User
from webapp.accounts.viewers import me
from webapp.lib import shown_zone, timeranges
from webapp.lib.middleware import Middleware

COOKIE, BROWSER_COOKIE = "weir_zone", "weir_browser_zone"
UTC_CHOICE, LOCAL = "UTC", "local"


class ShownZone(Middleware):
    """Reads no row; looks up the zone when a page first needs it."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        find_zone = cache(lambda: UTC if is_for_machines(request) else zone_of(request))
        with shown_zone.within(find_zone):
            response = self.get_response(request)
        if is_for_machines(request):
            return response
        patch_vary_headers(response, ("Cookie",))
        if getattr(request, "has_signed_in", False) and (
            chosen := valid_choice(getattr(request.user, "time_zone", ""))
        ):
            set_cookie(response, COOKIE, chosen)
        return response

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, kwargs: Any
    ) -> HttpResponse | None:
        """Replaces local times of a form by absolute ones, with a redirect."""
        if (
            request.method != "GET"
            or timeranges.ZONE not in request.GET
            or is_for_machines(request)
        ):
            return None
        return redirect(f"{request.path}?{timeranges.absolute(request.GET).urlencode()}")


@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    chosen = valid_choice(request.POST.get("zone", ""))
    if not chosen:
        raise BadRequest("Give UTC, local, or an IANA time zone such as Europe/Berlin.")
    User.objects.filter(pk=me(request).pk).update(time_zone=chosen)
    if chosen == LOCAL and shown_zone.named(request.COOKIES.get(BROWSER_COOKIE, "")) is None:
        messages.warning(
            request,
            _(
                "Your browser does not report its time zone. Until it does, times are in UTC; "
                "choose a time zone here instead."
            ),
        )
        response = redirect("account")
    else:
        response = redirect_back(request)
    set_cookie(response, COOKIE, chosen)
    return response


def chosen_by(request: HttpRequest) -> str:
    return valid_choice(request.COOKIES.get(COOKIE, "")) or UTC_CHOICE


def zone_of(request: HttpRequest) -> tzinfo:
    chosen = chosen_by(request)
    return (
        shown_zone.named(request.COOKIES.get(BROWSER_COOKIE, "") if chosen == LOCAL else chosen)
        or UTC
    )


def valid_choice(choice: str) -> str:
    return choice if choice == LOCAL or shown_zone.named(choice) is not None else ""


def context(request: HttpRequest) -> dict[str, Any]:
    return {
        "zone_choice": chosen_by(request),
        "zone_key": shown_zone.key,
        "zone_names": _offered_names,
    }


def _offered_names() -> list[str]:
    return [
        UTC_CHOICE,
        *sorted(
            name
            for name in shown_zone.names()
            if "/" in name and not name.startswith(("Etc/", "SystemV/", "US/"))
        ),
    ]
