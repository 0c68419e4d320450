"""Findings over the API."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from webapp.findings.filters import FindingFilters
from webapp.findings.late_sources import late_source_of
from webapp.findings.models import Finding
from webapp.flame_graphs.choices import FlameGraphState
from webapp.flame_graphs.presentation import as_plain, flame_graph_of
from webapp.lib.api.lists import ERRORS, NOT_FOUND, ListView, listed


class FindingSerializer(serializers.ModelSerializer[Finding]):
    """One finding with its evidence; see the page of its rule for what to do."""

    class Meta:
        model = Finding
        exclude = ("refold_from", "severity_rank", "to_alert")


class FlameGraphSerializer(serializers.Serializer[dict[str, Any]]):
    """What the threads of a late source do; see the page of the vertex for the picture."""

    state = serializers.CharField(allow_null=True, help_text=f"one of {', '.join(FlameGraphState.values)}; null where nobody asked")
    sentence = serializers.CharField()
    sampled_at = serializers.DateTimeField(allow_null=True)
    subtask = serializers.IntegerField(allow_null=True)
    samples = serializers.IntegerField(allow_null=True)
    method = serializers.CharField(allow_null=True)
    method_samples = serializers.IntegerField(allow_null=True)


class FindingDetailSerializer(FindingSerializer):
    """One finding, with the newest flame graph of the source where it names one that starts late."""

    flame_graph = serializers.SerializerMethodField()

    @extend_schema_field(FlameGraphSerializer(allow_null=True))
    def get_flame_graph(self, finding: Finding) -> dict[str, Any] | None:
        source = late_source_of(finding)
        if source is None:
            return None
        shown = flame_graph_of(finding.cluster, finding.job_id, source.vertex_id, timezone.now())
        return FlameGraphSerializer(as_plain(shown)).data


@listed(FindingSerializer, "Findings, newest first")
class FindingViews(ListView):
    filterset_class = FindingFilters
    lookup_value_regex = "[0-9]{1,18}"

    @extend_schema(summary="One finding", responses={200: FindingDetailSerializer, **ERRORS, **NOT_FOUND})
    def retrieve(self, request: Request, pk: str) -> Response:
        return Response(FindingDetailSerializer(get_object_or_404(self.get_queryset(), pk=pk)).data)
