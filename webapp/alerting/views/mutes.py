from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from webapp.accounts.guards import operators_only
from webapp.alerting import actions
from webapp.alerting.badges import mute_badge
from webapp.alerting.forms import MOST_REASON, SilenceForm
from webapp.alerting.models import Alert, Silence
from webapp.delivery.models import Endpoint
from webapp.lib import scopes
from webapp.lib.keysets import KeysetColumn, page
from webapp.lib.labels import matched_labels
from webapp.lib.matchers import LONGEST_TEXT, BadMatcher, match_each, parse_lines
from webapp.lib.refusals import ActionRefused, refusal_as_message
from webapp.lib.row_numbers import row_number
from webapp.lib.timeranges import absolute

PAGE_SIZE = 50
BY_END = (KeysetColumn("ends_at", descending=True), KeysetColumn("id", descending=True))
MOST_READ = 2_000
MOST_SHOWN = 8


@require_GET
def silences(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    listed = page(Silence.objects.all(), BY_END, request.GET.get("cursor", ""), PAGE_SIZE)
    rows = [(row, mute_badge(row, now)) for row in listed.rows]
    # Only viewers of the whole fleet see endpoints.
    has_endpoint = not scopes.current().is_everything or Endpoint.objects.exists()
    context = {"page": listed, "rows": rows, "has_endpoint": has_endpoint}
    return render(request, "alerting/silences.html", context)


@operators_only
@require_http_methods(["GET", "POST"])
def silence_new(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    form = SilenceForm(
        absolute(request.POST, "starts_at", "ends_at") or None,
        initial={
            "matchers": request.GET.get("matchers", "")[:LONGEST_TEXT].replace("\x00", ""),
            "hours": 2,
            "reason": request.GET.get("reason", "")[:MOST_REASON],
        },
    )
    if request.method == "POST" and form.is_valid():
        start, end = form.span(now)
        try:
            actions.silence(
                form.cleaned_data["matchers"],
                start,
                end,
                form.cleaned_data["reason"],
                request.user,
                now,
            )
        except ActionRefused as refused:
            form.add_error(None, str(refused))
        else:
            return redirect("silences")
    return render(
        request,
        "alerting/silence_form.html",
        {"form": form, **_preview(form["matchers"].value() or "")},
    )


@operators_only
@require_POST
def silence_end(request: HttpRequest, pk: int) -> HttpResponse:
    silence = get_object_or_404(Silence, pk=row_number(pk))
    with refusal_as_message(request):
        actions.end_silence(silence, request.user, timezone.now())
    return redirect("silences")


@operators_only
@require_GET
def matching(request: HttpRequest) -> HttpResponse:
    return render(request, "alerting/_matching.html", _preview(request.GET.get("matchers", "")))


def _preview(text: str) -> dict[str, Any]:
    try:
        matchers = parse_lines(text)
    except BadMatcher as error:
        return {"wrong": str(error)}
    if not matchers:
        return {}
    rows = (
        Alert.objects.open()
        .order_by("-severity_rank", "-id")
        .defer("cause", "next_step", "evidence")[:MOST_READ]
    )
    matches = match_each(matchers, [matched_labels(row) for row in rows])
    alerts = [row for row, is_match in zip(rows, matches, strict=True) if is_match]
    return {"matching": {"count": len(alerts), "first": alerts[:MOST_SHOWN]}}
