from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from webapp.accounts.guards import operators_only
from webapp.delivery import addresses, mail, orders
from webapp.delivery.badges import delivery_badge, endpoint_badge, meaning
from webapp.delivery.endpoint_entry import enter
from webapp.delivery.formats.registry import FORMATS
from webapp.delivery.forms import EndpointForm
from webapp.delivery.models import Delivery, Endpoint
from webapp.fleet.pipeline_status.status import recent_status
from webapp.lib.keysets import KeysetColumn, page
from webapp.lib.matchers import as_entered, as_lines
from webapp.lib.refusals import ActionRefused, InputRefused
from webapp.lib.row_numbers import row_number

ENDPOINTS_A_PAGE = 50
LAST_DELIVERIES = 10
BY_NAME = (KeysetColumn("name"), KeysetColumn("id"))


@require_GET
def endpoints(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    listed = page(Endpoint.objects.all(), BY_NAME, request.GET.get("cursor", ""), ENDPOINTS_A_PAGE)
    waiting = Delivery.objects.waiting_by_endpoint([row.pk for row in listed.rows])
    is_sending = recent_status().is_healthy
    context = {
        "page": listed,
        "rows": [
            (
                row,
                endpoint_badge(row, now, is_sending=is_sending),
                as_lines(as_entered(row.matchers)),
                waiting.get(row.pk, 0),
            )
            for row in listed.rows
        ],
    }
    return render(request, "delivery/endpoints.html", context)


@require_GET
def endpoint(request: HttpRequest, pk: int) -> HttpResponse:
    row, now = _endpoint(pk), timezone.now()
    last = Delivery.objects.filter(endpoint=row).defer("payload").order_by("-id")[:LAST_DELIVERIES]
    context = {
        "endpoint": row,
        "badge": endpoint_badge(row, now, is_sending=recent_status().is_healthy),
        "matchers": [str(matcher) for matcher in as_entered(row.matchers)],
        "has_secret": FORMATS[row.format].for_machines,
        "old_secret_until": row.previous_secret_until
        if row.previous_secret_until and row.previous_secret_until > now
        else None,
        "mail_missing": not mail.is_configured(),
        "rows": [
            (delivery, delivery_badge(delivery), meaning(delivery.last_error)) for delivery in last
        ],
    }
    return render(request, "delivery/endpoint.html", context)


@operators_only
@require_http_methods(["GET", "POST"])
@sensitive_post_parameters("url", "credential")
@never_cache
def add(request: HttpRequest) -> HttpResponse:
    return _form(request, Endpoint())


@operators_only
@require_http_methods(["GET", "POST"])
@sensitive_post_parameters("url", "credential")
@never_cache
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    return _form(request, _endpoint(pk))


@operators_only
@require_POST
@never_cache
def rotate(request: HttpRequest, pk: int) -> HttpResponse:
    row = _endpoint(pk)
    try:
        secret = orders.rotate(row, timezone.now())
    except ActionRefused as refused:
        messages.error(request, str(refused))
        return redirect("endpoint", pk)
    row.refresh_from_db()
    return render(request, "delivery/secret.html", {"endpoint": row, "secret": secret})


@operators_only
@require_POST
def test(request: HttpRequest, pk: int) -> HttpResponse:
    return redirect(
        "delivery",
        orders.request_test(_endpoint(pk), request.user.get_username(), timezone.now()).uid,
    )


@operators_only
@require_POST
def switch(request: HttpRequest, pk: int) -> HttpResponse:
    row = _endpoint(pk)
    if "enable" in request.POST:
        orders.enable(row)
    else:
        orders.disable_by_hand(row, request.user.get_username(), timezone.now())
    return redirect("endpoint", pk)


@operators_only
@require_http_methods(["GET", "POST"])
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    row = _endpoint(pk)
    if request.method == "POST":
        if request.POST.get("name") == row.name:
            row.delete()
            messages.success(
                request,
                gettext("%(name)s is removed, and its deliveries with it.") % {"name": row.name},
            )
            return redirect("endpoints")
        messages.error(request, gettext("Type %(name)s to remove it.") % {"name": row.name})
    return render(request, "delivery/endpoint_remove.html", {"endpoint": row})


def _form(request: HttpRequest, row: Endpoint) -> HttpResponse:
    form = EndpointForm(request.POST or None, endpoint=row)
    if request.method == "POST" and form.is_valid():
        try:
            secret = enter(row, form.entered(), addresses.policy())
        except InputRefused as error:
            form.refuse(error.fields)
        else:
            if secret:
                return render(request, "delivery/secret.html", {"endpoint": row, "secret": secret})
            messages.success(
                request,
                gettext("%(name)s is saved. Send a test to see whether it arrives.")
                % {"name": row.name},
            )
            return redirect("endpoint", row.pk)
    context = {"form": form, "endpoint": row if row.pk else None}
    return render(request, "delivery/endpoint_form.html", context)


def _endpoint(pk: int) -> Endpoint:
    return get_object_or_404(Endpoint, pk=row_number(pk))
