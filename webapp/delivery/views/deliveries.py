import json
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from webapp.accounts.guards import operators_only
from webapp.accounts.roles import may_operate
from webapp.delivery import orders
from webapp.delivery.badges import delivery_badge, meaning
from webapp.delivery.choices import DeliveryState
from webapp.delivery.filters import DeliveryFilters
from webapp.delivery.models import Delivery, Endpoint
from webapp.lib.keysets import page
from webapp.lib.list_pages import Control, capped_count, filter_form
from webapp.lib.refusals import refusal_as_message
from webapp.lib.row_numbers import row_number

DELIVERIES_A_PAGE = 50
MOST_ATTEMPTS = 100
WATCHED_S = 30
"""The page reloads itself only this long before and after the next attempt: each reload counts as
activity, and the session would never end.
"""
MOST_SHOWN_CHARS = 100_000


@require_GET
def deliveries(request: HttpRequest) -> HttpResponse:
    filters = DeliveryFilters.from_page(request.GET, Delivery.objects.listed())
    listed = page(filters.qs, filters.order, request.GET.get("cursor", ""), DELIVERIES_A_PAGE)
    endpoints = list(Endpoint.objects.values_list("pk", "name"))
    context = {
        "filters": filters,
        "filter_form": filter_form(
            request,
            filters,
            Control("endpoint", "Endpoint", [("", "All endpoints"), *endpoints]),
            Control("state", "State", [("", "Any state"), *DeliveryState.choices]),
        ),
        "page": listed,
        "rows": [(row, delivery_badge(row), meaning(row.last_error)) for row in listed.rows],
        "matching": capped_count(filters.qs),
        "endpoint": filters.values.get("endpoint"),
        "endpoints": endpoints,
    }
    return render(request, "delivery/deliveries.html", context)


@require_GET
def delivery(request: HttpRequest, uid: str) -> HttpResponse:
    row = _delivery(uid)
    page = render(request, "delivery/delivery.html", {**_state(request, row), **_notice(row)})
    waits_s = (row.next_attempt_at - timezone.now()).total_seconds()
    if row.state == DeliveryState.PENDING and abs(waits_s) < WATCHED_S:
        page["Refresh"] = "2"
    return page


@operators_only
@require_POST
def replay(request: HttpRequest, uid: str) -> HttpResponse:
    with refusal_as_message(request):
        orders.replay(_delivery(uid), timezone.now())
        messages.success(request, gettext("It is sent again, under the same id."))
    return redirect("delivery", uid)


@operators_only
@require_POST
def replay_dead(request: HttpRequest) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint, pk=row_number(request.POST.get("endpoint", "")))
    with refusal_as_message(request):
        count = orders.replay_dead(endpoint, timezone.now())
        messages.success(
            request,
            gettext("%(count)s deliveries are sent again.") % {"count": f"{count:,}"}
            if count
            else gettext("No delivery is dead."),
        )
    return redirect("deliveries")


def _delivery(uid: str) -> Delivery:
    return get_object_or_404(
        Delivery.objects.select_related("endpoint"), uid=uid[:64].replace("\x00", "")
    )


def _state(request: HttpRequest, row: Delivery) -> dict[str, Any]:
    attempts = list(row.tried.order_by("-id")[:MOST_ATTEMPTS])
    return {
        "delivery": row,
        "badge": delivery_badge(row),
        "attempts": [(attempt, meaning(attempt.error)) for attempt in attempts],
        "means": meaning(row.last_error),
        "may_replay": may_operate(request.user)
        and row.state in orders.ENDED
        and (row.endpoint.enabled or bool(row.mail_to)),
    }


def _notice(row: Delivery) -> dict[str, Any]:
    try:
        notice = json.loads(row.payload)
    except ValueError:
        return {"payload": row.payload[:MOST_SHOWN_CHARS], "alerts": ()}
    payload = json.dumps(notice, indent=2, ensure_ascii=False)
    return {
        "payload": payload[:MOST_SHOWN_CHARS],
        "alerts": notice.get("alerts", ())[:20],
        "notice": notice,
    }
