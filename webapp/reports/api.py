from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import exceptions, serializers, status
from rest_framework.decorators import action
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response

from webapp.lib.api.lists import ERRORS, NOT_FOUND, REFUSALS, ListView, listed
from webapp.lib.api.parsing import BoundedList, valid_input
from webapp.lib.scoped_rows import JobKey
from webapp.reports import orders, report_scope
from webapp.reports.filters import ReportFilters
from webapp.reports.models import IncidentReport
from webapp.reports.renderers.files import FORMS
from webapp.reports.report_scope import MOST_JOBS
from webapp.reports.stored_reports import Gone, content

_NO_NUL = r"^[^\u0000]*$"
FORM = OpenApiParameter(
    "form", OpenApiTypes.STR, OpenApiParameter.PATH, enum=list(FORMS), description="which file"
)


class ReportSerializer(serializers.ModelSerializer[IncidentReport]):
    """The request and its state; the content is in its files."""

    class Meta:
        model = IncidentReport
        fields = (
            "uid",
            "title",
            "jobs",
            "start",
            "end",
            "from_alert",
            "author_name",
            "state",
            "error",
            "tone",
            "asked_at",
            "made_at",
        )


def _optional_text(**options: Any) -> serializers.RegexField:
    return serializers.RegexField(
        _NO_NUL,
        **{"required": False, "allow_blank": True, "max_length": 64, "default": "", **options},
    )


class JobChoice(serializers.Serializer[Any]):
    cluster = serializers.RegexField(_NO_NUL, max_length=100)
    job_id = serializers.RegexField(_NO_NUL, max_length=64)


class ReportRequest(serializers.Serializer[Any]):
    """Jobs and a range, or an alert or an incident.

    Instants as ISO 8601, or relative as in now-6h.
    """

    jobs = BoundedList(child=JobChoice(), required=False, max_length=MOST_JOBS, default=list)
    alert = _optional_text(help_text="uid of an alert")
    incident = _optional_text(help_text="uid of an incident: all of its jobs")

    def get_fields(self) -> dict[str, Any]:
        # "from" is a keyword of Python.
        return {**super().get_fields(), "from": _optional_text(), "to": _optional_text()}


class IgnoreAccept(BaseContentNegotiation):
    """Sends files as they are, and errors as JSON, whatever the client accepts."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> Any:
        return renderers[0], renderers[0].media_type


@listed(ReportSerializer, "Reports, newest first")
class ReportViews(ListView):
    queryset = IncidentReport.objects.listed()
    filterset_class = ReportFilters
    lookup_field = "uid"
    lookup_value_regex = "rep_[a-z0-9]{10,36}"

    @extend_schema(summary="One report", responses={200: ReportSerializer, **ERRORS, **NOT_FOUND})
    def retrieve(self, request: Request, uid: str) -> Response:
        return Response(ReportSerializer(_report(uid)).data)

    @extend_schema(
        summary="Request a report; a worker makes it",
        request=ReportRequest,
        responses={202: ReportSerializer, **REFUSALS},
    )
    def create(self, request: Request) -> Response:
        report = _request(valid_input(ReportRequest(data=request.data)), request)
        return Response(ReportSerializer(report).data, status=status.HTTP_202_ACCEPTED)

    @extend_schema(
        summary="Delete a report and its files", responses={204: None, **ERRORS, **NOT_FOUND}
    )
    def destroy(self, request: Request, uid: str) -> Response:
        orders.delete(_report(uid))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        summary="The report as a file",
        parameters=[FORM],
        responses={
            (200, form.content_type.partition(";")[0]): OpenApiTypes.BINARY
            for form in FORMS.values()
        }
        | {**ERRORS, **NOT_FOUND},
    )
    @action(
        detail=True,
        url_path=r"files/(?P<form>html|json)",
        filter_backends=[],
        pagination_class=None,
        content_negotiation_class=IgnoreAccept,
    )
    def file(self, request: Request, uid: str, form: str) -> HttpResponse:
        try:
            body = content(_report(uid), form)
        except Gone as error:
            raise exceptions.NotFound(str(error)) from error
        return HttpResponse(
            body,
            content_type=FORMS[form].content_type,
            headers={"Content-Disposition": "attachment"},
        )


def _request(entered: dict[str, Any], request: Request) -> IncidentReport:
    now = timezone.now()
    jobs = [JobKey(job["cluster"], job["job_id"]) for job in entered["jobs"]]
    scope = report_scope.scope_from(entered["incident"], entered["alert"], now)
    scope = scope or report_scope.scope(jobs, entered["from"], entered["to"], now)
    return orders.request_report(
        scope,
        user=request.user,
        name=request.user.get_username(),
        at=now,
        from_alert=entered["incident"] or entered["alert"],
    )


def _report(uid: str) -> IncidentReport:
    return get_object_or_404(IncidentReport, uid=uid)
