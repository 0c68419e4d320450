from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from webapp.accounts.guards import operators_only
from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster
from webapp.lib.refusals import ActionRefused
from webapp.lib.translations import gettext_lazy as _
from webapp.push.models import PushToken, issue

LIFETIMES = [("90", _("90 days")), ("365", _("a year")), ("0", _("never"))]


class TokenForm(forms.Form):
    name = forms.CharField(max_length=100, label=_("Which shipper it is for"))
    days = forms.TypedChoiceField(
        choices=LIFETIMES, coerce=int, initial="365", label=_("Expires after")
    )


@operators_only
@require_http_methods(["GET", "POST"])
@never_cache
def tokens(request: HttpRequest, cluster: str) -> HttpResponse:
    """Only the response to the form that issues a token shows its text."""
    row = get_object_or_404(Cluster, name=cluster, kind=ClusterKind.LIVE)
    form, text = TokenForm(request.POST or None), ""
    if request.method == "POST" and form.is_valid():
        try:
            _, text = issue(
                row, form.cleaned_data["name"], form.cleaned_data["days"], timezone.now()
            )
            form = TokenForm()
        except ActionRefused as refused:
            form.add_error(None, str(refused))
    context: dict[str, Any] = {
        "cluster": row,
        "form": form,
        "text": text,
        "tokens": row.push_tokens.all(),
        "root": request.build_absolute_uri("/").rstrip("/"),
    }
    return render(request, "push/tokens.html", context)


@operators_only
@require_POST
def revoke(request: HttpRequest, cluster: str, pk: int) -> HttpResponse:
    get_object_or_404(PushToken, pk=pk, cluster__name=cluster).delete()
    return redirect("push-tokens", cluster)
