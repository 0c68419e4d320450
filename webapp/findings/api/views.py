"""Findings over the API."""

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from webapp.findings.choices import FindingState, Severity
from webapp.findings.models import Finding
from webapp.lib.api.filtering import Parameter, time_window
from webapp.lib.api.lists import ERRORS, NOT_FOUND, ListView, listed
from webapp.lib.keysets import Key


class FindingSerializer(serializers.ModelSerializer[Finding]):
    """One finding with its evidence; see the page of its rule for what to do."""

    class Meta:
        model = Finding
        exclude = ("refold_from", "severity_rank", "to_alert")


@listed(FindingSerializer, "Findings, newest first")
class FindingViews(ListView):
    queryset = Finding.objects.all()
    serializer_class = FindingSerializer
    parameters = (
        Parameter("cluster", "cluster"),
        Parameter("job_id", "job_id"),
        Parameter("rule", "rule", description="e.g. pressure.root"),
        Parameter("state", "state", choices=FindingState.values),
        Parameter("severity", "severity", choices=Severity.values),
        Parameter("confidence", "confidence", choices=("low", "medium", "high")),
        *time_window("last_seen"),
    )
    paging_keys = (Key("last_seen", descending=True), Key("id", descending=True))
    lookup_value_regex = "[0-9]{1,18}"

    @extend_schema(summary="One finding", responses={200: FindingSerializer, **ERRORS, **NOT_FOUND})
    def retrieve(self, request: Request, pk: str) -> Response:
        return Response(self.get_serializer(get_object_or_404(self.get_queryset(), pk=pk)).data)
