"""The 404 page: what was not found and where to continue; the same for missing rows and those out
of scope.
"""

import re
from dataclasses import dataclass

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import Resolver404, reverse
from django.utils.translation import gettext

from webapp.lib.translations import gettext_lazy as _

_OF_DJANGO = re.compile(r"No (\w+) matches the given query\.")
"""What ``get_object_or_404`` says, of Django and of DRF, by the class of the model."""


@dataclass(frozen=True)
class Kind:
    """``listed``: the page that lists such rows. ``names``: address parameters that identify one,
    most specific first.
    """

    words: str
    listed: str
    list_words: str
    names: tuple[str, ...] = ("uid", "pk")


KINDS = {
    "Alert": Kind(_("alert"), "alerts", _("Alerts")),
    "ApiToken": Kind(_("API token"), "account", _("Account and API tokens"), ("token", "pk")),
    "CleanupPlan": Kind(_("clean-up plan"), "cleanup-plans", _("Clean-up plans")),
    "Cluster": Kind(_("cluster"), "clusters", _("Clusters"), ("name", "cluster")),
    "Delivery": Kind(_("delivery"), "deliveries", _("Deliveries")),
    "Endpoint": Kind(_("endpoint"), "endpoints", _("Endpoints"), ("pk",)),
    "Finding": Kind(_("finding"), "findings", _("Findings")),
    "Incident": Kind(_("incident"), "incidents", _("Incidents")),
    "IncidentReport": Kind(_("report"), "reports", _("Reports")),
    "JobCurrent": Kind(_("job"), "fleet", _("Fleet"), ("job_id",)),
    "Objective": Kind(_("objective"), "objectives", _("Objectives")),
    "PipelineRun": Kind(_("run"), "pipeline", _("Pipeline")),
    "PushToken": Kind(_("push token"), "clusters", _("Clusters")),
    "RuleSetting": Kind(_("rule setting"), "alert-settings", _("Settings of alerts")),
    "Silence": Kind(_("silence"), "silences", _("Silences")),
    "StorageRoot": Kind(_("storage root"), "storage", _("Checkpoint storage")),
    "StorageStatement": Kind(_("statement"), "storage", _("Checkpoint storage")),
    "ThresholdOverride": Kind(_("threshold"), "rules", _("Rules")),
    "User": Kind(_("user"), "access-users", _("Users and roles"), ("pk",)),
}
"""Rows that addresses name, by the class of the model."""


def kind_of(error: Http404) -> Kind | None:
    """None if the error has its own words."""
    match = _OF_DJANGO.fullmatch(str(error))
    return KINDS.get(match[1]) if match else None


def sentence(error: Http404, request: HttpRequest) -> str:
    """Empty if no address fits at all."""
    if isinstance(error, Resolver404):
        return ""
    if not _OF_DJANGO.fullmatch(str(error)):
        return str(error)
    kind = kind_of(error)
    parameters = request.resolver_match.kwargs if request.resolver_match else {}
    if kind is None:
        return gettext("There is nothing at this address: it was removed, or you may not see it.")
    which = next((str(parameters[name])[:100] for name in kind.names if name in parameters), "")
    if not which:
        return gettext(
            "There is no such %(kind)s: it never existed, was removed, or you may not see it."
        ) % {"kind": kind.words}
    named = {"kind": kind.words, "which": which}
    return (
        gettext(
            "There is no %(kind)s %(which)s: it never existed, was removed, or you may not see it."
        )
        % named
    )


def page(request: HttpRequest, exception: Http404) -> HttpResponse:
    """Django's ``handler404``."""
    kind = kind_of(exception)
    elsewhere = (reverse(kind.listed), kind.list_words) if kind else ("", "")
    return render(
        request,
        "404.html",
        {"sentence": sentence(exception, request), "elsewhere": elsewhere},
        status=404,
    )
