from typing import Any

from csp.decorators import csp_exempt
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.translation import get_language_from_request, gettext
from django.views.decorators.http import require_GET, require_POST

from webapp.accounts.guards import operators_only
from webapp.lib.badges import UNKNOWN, Badge
from webapp.lib.keysets import page
from webapp.lib.messages.rendering import localised
from webapp.lib.refusals import ActionRefused
from webapp.lib.timeranges import absolute
from webapp.reports import orders, report_scope
from webapp.reports.choices import ReportState
from webapp.reports.filters import ReportFilters
from webapp.reports.models import IncidentReport
from webapp.reports.renderers.files import FORMS
from webapp.reports.renderers.html import context as context_of
from webapp.reports.renderers.html import verdict
from webapp.reports.stored_reports import Gone, content, document_of

REPORT_BADGES: dict[str, Badge] = {
    ReportState.QUEUED: Badge("queued", "○", "unknown"),
    ReportState.RUNNING: Badge("being made", "○", "done"),
    ReportState.DONE: Badge("made", "■", "done"),
    ReportState.FAILED: Badge("not made", "▲", "crit"),
}


def report_badge(state: str) -> Badge:
    return REPORT_BADGES.get(state, UNKNOWN)


REPORTS_A_PAGE = 25
SANDBOX = "sandbox allow-scripts allow-popups allow-modals"
"""The file has an origin of its own: its scripts cannot see cookies and pages of Weir."""


@require_GET
def reports(request: HttpRequest) -> HttpResponse:
    filters = ReportFilters.from_page(request.GET, IncidentReport.objects.listed())
    shown = page(filters.qs, filters.order, request.GET.get("cursor", ""), REPORTS_A_PAGE)
    context = {
        "page": shown,
        "rows": [(row, report_badge(row.state), verdict(row.tone)) for row in shown.rows],
        "filters": filters,
    }
    return render(request, "reports/reports.html", context)


@operators_only
def new(request: HttpRequest) -> HttpResponse:
    """POST requests a report of the jobs in the form, or of the alert or incident in the address."""
    if request.method == "POST":
        try:
            report = _request_report(request)
        except ActionRefused as error:
            messages.error(request, str(error))
        else:
            return redirect("report", report.uid)
    entered = absolute(request.POST) if request.method == "POST" else request.GET
    return render(request, "reports/new.html", {"asked": report_scope.read(entered)})


@require_GET
def report(request: HttpRequest, uid: str) -> HttpResponse:
    report = _report(uid)
    context = _state(request, report)
    document = document_of(report)
    if document is not None:
        context |= context_of(document)
        context["forms"] = [(key, form.title) for key, form in FORMS.items()]
    return render(request, "reports/report.html", context)


@require_GET
def progress(request: HttpRequest, uid: str) -> HttpResponse:
    """The part of the page that changes; at the end the page is reloaded."""
    report = _report(uid)
    response = render(request, "reports/_progress.html", _state(request, report))
    if report.state in (ReportState.DONE, ReportState.FAILED):
        response["HX-Refresh"] = "true"
    return response


@operators_only
@require_POST
def delete(request: HttpRequest, uid: str) -> HttpResponse:
    report = _report(uid)
    orders.delete(report)
    messages.success(
        request,
        gettext("The report “%(title)s” is deleted.") % {"title": report.title or report.uid},
    )
    return redirect("reports")


@csp_exempt()  # type: ignore[arg-type]  # its annotation knows no views with arguments
@require_GET
def show_file(request: HttpRequest, uid: str) -> HttpResponse:
    """Show the file in the browser, with its own policy, in a sandbox."""
    language = get_language_from_request(request)
    response = HttpResponse(
        _content(_report(uid), "html", language), content_type=FORMS["html"].content_type
    )
    response["Content-Security-Policy"] = SANDBOX
    return response


@require_GET
def download(request: HttpRequest, uid: str, form: str) -> HttpResponseBase:
    """For people, so in their language; machine-readable downloads are in English."""
    report = _report(uid)
    response = HttpResponse(
        _content(report, form, get_language_from_request(request)),
        content_type=FORMS[form].content_type,
    )
    patch_vary_headers(response, ("Cookie", "Accept-Language"))
    began, letters = f"{report.start:%Y%m%d-%H%M}", report.uid[4:12]
    name = f"weir-incident-{began}-{letters}.{form}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _request_report(request: HttpRequest) -> IncidentReport:
    now, incident, alert = timezone.now(), _uid(request, "incident"), _uid(request, "alert")
    scope = report_scope.scope_from(incident, alert, now)
    return orders.request_report(
        scope or report_scope.scope_of(absolute(request.POST), now),
        user=request.user,
        name=request.user.get_username(),
        at=now,
        from_alert=incident or alert,
    )


def _uid(request: HttpRequest, name: str) -> str:
    return (request.GET.get(name, "") or request.POST.get(name, ""))[:64].replace("\x00", "")


def _report(uid: str) -> IncidentReport:
    return get_object_or_404(IncidentReport, uid=uid)


def _content(report: IncidentReport, form: str, language: str) -> bytes:
    try:
        return content(report, form, language)
    except Gone as error:
        raise Http404(localised(str(error))) from error


def _state(request: HttpRequest, report: IncidentReport) -> dict[str, Any]:
    return {
        "report": report,
        "badge": report_badge(report.state),
        "at_work": report.state in (ReportState.QUEUED, ReportState.RUNNING),
    }
