from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from ingest.uris import is_below
from spark_jobs.storage_words import STATEMENTS
from webapp.accounts.guards import operators_only
from webapp.lib.refusals import InputRefused
from webapp.lib.translations import gettext_lazy as _
from webapp.storage.models import JobStorage, StorageRoot, StorageStatement
from webapp.storage.newest_audits import latest_audits
from webapp.storage.statements import StatedSubject, state, take_back

MOST_TEXT = 4_000


class StatementForm(forms.Form):
    reason = forms.CharField(
        label=_("Reason"), widget=forms.Textarea(attrs={"rows": 3}), max_length=2000
    )


@operators_only
@require_http_methods(["GET", "POST"])
def make(request: HttpRequest) -> HttpResponse:
    parameters = request.POST if request.method == "POST" else request.GET
    stated = StatedSubject(
        *(
            parameters.get(name, "")[:MOST_TEXT].replace("\x00", "")
            for name in StatedSubject._fields
        )
    )
    if stated.kind not in STATEMENTS or not (stated.subject or stated.job_id):
        raise Http404(gettext("There is no such statement."))
    form = StatementForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            # operators only: signed in
            statement = state(
                stated,
                form.cleaned_data["reason"],
                request.user.get_username(),
                request.user,  # type: ignore[arg-type]
            )
        except InputRefused as refused:
            form.add_error(None, str(refused))
        else:
            messages.success(
                request,
                gettext(
                    "Your statement is recorded with your name. It counts from the next audit on."
                ),
            )
            return redirect(_page_of(statement))
    context: dict[str, Any] = {
        "form": form,
        "stated": stated,
        "stated_fields": stated._asdict().items(),
        "means": STATEMENTS[stated.kind],
        "job": JobStorage.objects.filter(
            audit__in=latest_audits(), directory=stated.subject
        ).first(),
    }
    return render(request, "storage/statement.html", context)


@operators_only
@require_POST
def end(request: HttpRequest, pk: int) -> HttpResponse:
    statement = get_object_or_404(StorageStatement, pk=pk)
    take_back(statement, request.user.get_username())
    messages.success(
        request, gettext("The statement is taken back: no plan is based on it any more.")
    )
    return redirect(_page_of(statement))


def _page_of(statement: StorageStatement) -> str:
    for uri in StorageRoot.objects.values_list("uri", flat=True):
        if statement.subject and is_below(statement.subject, uri):
            return reverse("storage-root", query={"uri": uri}, fragment="doubts")
    return reverse("storage")
