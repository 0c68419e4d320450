from collections.abc import Mapping, Sequence
from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from webapp.findings.filters import FindingFilters
from webapp.findings.known_bugs import BugBeside, bugs_beside
from webapp.findings.models import Finding
from webapp.lib.api.lists import ERRORS, NOT_FOUND, ListView, listed


class BugBesideSerializer(serializers.Serializer[Any]):
    """A known bug of Flink that explains the finding."""

    issue = serializers.CharField(source="bug.issue")
    shown = serializers.ChoiceField(
        ["shows", "may_explain"], help_text="whether the finding proves it"
    )
    sentence = serializers.CharField()
    way_out = serializers.CharField(source="bug.way_out")
    releases = serializers.CharField(source="bug.releases.text", help_text="that have it")
    address = serializers.URLField(source="bug.address", help_text="of the issue")


class FindingsSerializer(serializers.ListSerializer[Finding]):
    """Reads the known bugs of a page at once."""

    def to_representation(self, data: Any) -> list[Any]:
        findings = list(data)
        child: Any = self.child
        child.beside = bugs_beside(findings)
        return super().to_representation(findings)


class FindingSerializer(serializers.ModelSerializer[Finding]):
    """One finding with its evidence, and known bugs of Flink that explain it; see the page of its
    rule for what to do.
    """

    known_bugs = serializers.SerializerMethodField()

    beside: Mapping[int, Sequence[BugBeside]] | None = None
    """Finding key → bugs."""

    class Meta:
        model = Finding
        exclude = ("refold_from", "severity_rank", "to_alert")
        list_serializer_class = FindingsSerializer

    @extend_schema_field(BugBesideSerializer(many=True))
    def get_known_bugs(self, finding: Finding) -> list[dict[str, Any]]:
        bugs = bugs_beside([finding]) if self.beside is None else self.beside
        return list(BugBesideSerializer(list(bugs.get(finding.pk, ())), many=True).data)


@listed(FindingSerializer, "Findings, newest first")
class FindingViews(ListView):
    filterset_class = FindingFilters
    lookup_value_regex = "[0-9]{1,18}"

    @extend_schema(summary="One finding", responses={200: FindingSerializer, **ERRORS, **NOT_FOUND})
    def retrieve(self, request: Request, pk: str) -> Response:
        return Response(FindingSerializer(get_object_or_404(self.get_queryset(), pk=pk)).data)
